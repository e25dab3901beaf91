//! The state of a ledger's events, for `/readyz` and the log.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, SecondsFormat, Utc};
use parking_lot::Mutex;

use tollgate_telemetry::config::LedgerKind;

const SAY_EVERY: Duration = Duration::from_secs(1);

/// The last event and the last refusal of a ledger. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LedgerEvents {
    kind: LedgerKind,
    state: Arc<Mutex<EventState>>,
}

#[derive(Debug, Default)]
struct EventState {
    last_event: Option<DateTime<Utc>>,
    last_refusal: Option<(DateTime<Utc>, String)>,
    n_unsaid: u64,
    first_unsaid: String,
    said: Option<Instant>,
    /// The number of dead letters, and the reason of the last.
    dead_letters: (u64, String),
    /// Whether events of the generic kind look like those of Blnk.
    looks_like_blnk: bool,
    /// Whether the table of a generic ledger is that of Blnk.
    reads_table_of_blnk: bool,
}

impl LedgerEvents {
    /// Creates the state before the first event.
    #[must_use]
    pub(crate) fn new(kind: LedgerKind) -> Self {
        Self { kind, state: Arc::default() }
    }

    /// Records that an event was taken.
    pub fn record_accepted(&self, now: DateTime<Utc>) {
        self.state.lock().last_event = Some(now);
    }

    /// Records that an event was refused for this reason. Log lines are rate-limited; each shows a count and the first
    /// reason.
    pub fn record_refused(&self, now: DateTime<Utc>, why: &str) {
        let mut state = self.state.lock();
        state.last_refusal = Some((now, why.to_owned()));
        if state.n_unsaid == 0 {
            why.clone_into(&mut state.first_unsaid);
        }
        state.n_unsaid += 1;
        state.log_pending();
    }

    /// Records the number of dead letters and the reason of the last.
    pub(crate) fn dead_letters(&self, n_letters: u64, reason: String) {
        self.state.lock().dead_letters = (n_letters, reason);
    }

    /// Records that an event of the generic kind looks like one of Blnk.
    pub fn looks_like_blnk(&self) {
        let mut state = self.state.lock();
        if !state.looks_like_blnk {
            state.looks_like_blnk = true;
            tracing::warn!("events of the ledger look like those of Blnk: set LEDGER_KIND=blnk");
        }
    }

    /// Records that the configured table of a generic ledger is that of Blnk.
    pub fn reads_table_of_blnk(&self) {
        self.state.lock().reads_table_of_blnk = true;
        tracing::warn!(
            "LEDGER_TABLE names a table of Blnk, whose entries would count as payments: set LEDGER_KIND=blnk"
        );
    }

    /// Logs pending refusals if the interval has passed.
    pub(crate) fn log_pending(&self) {
        self.state.lock().log_pending();
    }
}

impl EventState {
    fn log_pending(&mut self) {
        let is_time = self.said.is_none_or(|said| said.elapsed() >= SAY_EVERY);
        if self.n_unsaid > 0 && is_time {
            tracing::warn!(count = self.n_unsaid, first = %self.first_unsaid, "events of the ledger were refused");
            self.n_unsaid = 0;
            self.said = Some(Instant::now());
        }
    }
}

/// The status shown by `/readyz`; empty for a generic ledger that has sent no event.
impl fmt::Display for LedgerEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        let (n_dead, reason) = &state.dead_letters;
        let is_silent = state.last_event.is_none()
            && state.last_refusal.is_none()
            && *n_dead == 0
            && !state.reads_table_of_blnk;
        if self.kind == LedgerKind::Generic && is_silent {
            return Ok(());
        }
        let written = |time: &DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Millis, true);
        f.write_str(self.kind.as_str())?;
        match &state.last_event {
            Some(time) => write!(f, "; last event {}", written(time))?,
            None => f.write_str("; no event yet")?,
        }
        if let Some((time, why)) = &state.last_refusal {
            write!(f, "; last refusal {}: {why}", written(time))?;
        }
        match n_dead {
            0 => {}
            1 => write!(f, "; 1 dead letter ({reason}), see GET /ledger/dead-letters")?,
            n => write!(f, "; {n} dead letters, the last one {reason}, see GET /ledger/dead-letters")?,
        }
        if state.looks_like_blnk {
            f.write_str("; events look like those of Blnk: set LEDGER_KIND=blnk")?;
        }
        if state.reads_table_of_blnk {
            f.write_str("; LEDGER_TABLE names a table of Blnk: set LEDGER_KIND=blnk")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_that_reported_nothing_is_not_mentioned_unless_it_was_named() {
        assert_eq!(LedgerEvents::new(LedgerKind::Generic).to_string(), "");
        assert_eq!(LedgerEvents::new(LedgerKind::Blnk).to_string(), "blnk; no event yet");
    }

    #[test]
    fn the_last_event_and_the_last_refusal_are_shown() {
        let ledger_events = LedgerEvents::new(LedgerKind::Generic);
        ledger_events.record_accepted(DateTime::UNIX_EPOCH);
        ledger_events.record_refused(DateTime::UNIX_EPOCH, "missing_field: `amount` is required");
        assert!(!ledger_events.to_string().contains("dead letter"));
        ledger_events.dead_letters(1, "not_held".to_owned());
        assert!(
            ledger_events.to_string().ends_with("; 1 dead letter (not_held), see GET /ledger/dead-letters")
        );
        ledger_events.dead_letters(0, String::new());
        ledger_events.looks_like_blnk();
        assert_eq!(
            ledger_events.to_string(),
            "generic; last event 1970-01-01T00:00:00.000Z; last refusal 1970-01-01T00:00:00.000Z: missing_field: `amount` is \
             required; events look like those of Blnk: set LEDGER_KIND=blnk"
        );
    }
}
