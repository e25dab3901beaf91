//! The progress of reading the ledger, for `/readyz`, the metrics and the log.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, SecondsFormat};
use parking_lot::Mutex;

use crate::sync::{ErrorChain, LedgerSyncError};
use tollgate_pipeline::monitor::{FeedReport, MonitorError};
use tollgate_telemetry::metrics::Metrics;
use tollgate_telemetry::readiness::ReadinessCheck;

const SAY_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct SyncProgress {
    metrics: Arc<Metrics>,
    first_reading: Option<ReadinessCheck>,
    state: Mutex<SyncState>,
}

/// A handle that displays the state in a short phrase. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LedgerStatus(Arc<SyncProgress>);

#[derive(Debug, Default)]
struct SyncState {
    is_connected: bool,
    /// Whether the last attempt reached the end of the ledger at least once.
    has_passed: bool,
    last_error: Option<String>,
    /// The last error with advice for the operator. It stays until the ledger is read to its end, because later errors,
    /// such as a lost connection, say less.
    advice: Option<String>,
    /// Minutes by which new rows are ahead of the ledger's clock, if that suggests another time zone.
    minutes_ahead: Option<i64>,
    blind: Option<&'static str>,
    /// The statement that adds a missing index to the database.
    lacks: Option<String>,
    first: FirstPass,
    /// In microseconds since 1970 UTC.
    mark: Option<i64>,
}

/// The first pass of a run, which may take long.
#[derive(Debug, Default)]
enum FirstPass {
    #[default]
    Ahead,
    UnderWay(FirstPassProgress),
    Over,
}

#[derive(Debug)]
struct FirstPassProgress {
    started: Instant,
    said: Instant,
    n_rows: u64,
    /// Number of rows at the start of the pass; `None` if counting took too long.
    n_all: Option<u64>,
}

impl SyncProgress {
    pub(super) fn new(metrics: &Arc<Metrics>, first_reading: Option<ReadinessCheck>) -> Self {
        metrics.ledger_connected(false);
        if let Some(check) = &first_reading {
            check.failing(
                "the ledger was not read to its end since the start (LEDGER_WAIT_FOR_FIRST_READING)",
            );
        }
        Self { metrics: Arc::clone(metrics), first_reading, state: Mutex::default() }
    }

    pub(super) fn connecting(&self) {
        self.state.lock().has_passed = false;
    }

    pub(super) fn connected(&self, blind: Option<&'static str>, lacks: Option<&str>) {
        let mut state = self.state.lock();
        state.is_connected = true;
        if state.advice.is_none() && state.last_error.take().is_some() {
            tracing::info!("the ledger is read again");
        }
        if let (None, Some(why)) = (state.blind, blind) {
            tracing::warn!(
                why,
                "transactions in progress in the ledger's database cannot be seen: rows committed later than LEDGER_SYNC_OVERLAP are missed"
            );
        }
        state.blind = blind;
        if let (None, Some(advice)) = (&state.lacks, lacks) {
            tracing::warn!(advice, "the ledger can be read, but not well");
        }
        state.lacks = lacks.map(str::to_owned);
        self.metrics.ledger_connected(true);
    }

    /// Returns whether the current or last attempt has reached the end of the ledger.
    pub(super) fn has_passed(&self) -> bool {
        self.state.lock().has_passed
    }

    /// Records that an attempt failed. Logs an error only if it differs from the previous one.
    pub(super) fn failed(&self, error: &LedgerSyncError) {
        let mut state = self.state.lock();
        state.is_connected = false;
        self.metrics.ledger_connected(false);
        // The history is being restored or the service stops; neither is an error of the ledger.
        if matches!(error, LedgerSyncError::Stopping | LedgerSyncError::Monitor(MonitorError::Starting)) {
            return;
        }
        self.metrics.ledger_pass(false);
        let helps = match error {
            LedgerSyncError::Ledger(error) => error.is_for_the_operator(),
            error => matches!(error, LedgerSyncError::TooManyDead),
        };
        let error = ErrorChain(error).to_string();
        if state.last_error.as_ref() != Some(&error) {
            tracing::error!(error, "the ledger cannot be read; requests are not affected");
        }
        if helps {
            state.advice = Some(error.clone());
        }
        state.last_error = Some(error);
    }

    /// Records how far new rows without a time zone are ahead of the ledger's clock.
    pub(super) fn lies_ahead(&self, minutes: Option<i64>) {
        let mut state = self.state.lock();
        if let Some(minutes) = minutes.filter(|_| minutes != state.minutes_ahead) {
            tracing::warn!(
                minutes,
                "rows of the ledger lie ahead of its clock: their times have no time zone and are read as UTC; read a view that \
                 converts them (created_at AT TIME ZONE 'the zone they are in')"
            );
        }
        state.minutes_ahead = minutes;
    }

    pub(super) fn is_first_pass(&self) -> bool {
        !matches!(self.state.lock().first, FirstPass::Over)
    }

    /// Records that the first pass of this run starts, or starts again.
    pub(super) fn begins(&self, n_all: Option<u64>) {
        let now = Instant::now();
        tracing::info!(rows = n_all, "reading the ledger");
        let load = FirstPassProgress { started: now, said: now, n_rows: 0, n_all };
        self.metrics.ledger_remaining(load.remaining().unwrap_or(0));
        self.state.lock().first = FirstPass::UnderWay(load);
    }

    /// Records a page: the number of rows, the report on them, the number of dead letters, and the mark.
    pub(super) fn took(&self, n_rows: usize, report: FeedReport, n_dead: usize, mark: Option<i64>) {
        let n_known = n_rows - (report.n_taken + report.n_updated + report.n_differing + n_dead).min(n_rows);
        let n_dead = n_dead + report.n_differing;
        for (result, n) in
            [("taken", report.n_taken), ("updated", report.n_updated), ("known", n_known), ("dead", n_dead)]
        {
            self.metrics.ledger_rows(result, n as u64);
        }
        let mut state = self.state.lock();
        state.mark = mark;
        self.metrics.ledger_mark(mark.unwrap_or(0));
        if let FirstPass::UnderWay(load) = &mut state.first {
            load.n_rows += n_rows as u64;
            self.metrics.ledger_remaining(load.remaining().unwrap_or(0));
            if load.said.elapsed() >= SAY_EVERY {
                load.said = Instant::now();
                tracing::info!(
                    rows = load.n_rows,
                    rows_per_second = load.rate(),
                    remaining = load.remaining(),
                    "reading the ledger"
                );
            }
        }
    }

    pub(super) fn passed(&self, mark: Option<i64>) {
        self.metrics.ledger_pass(true);
        let mut state = self.state.lock();
        (state.mark, state.has_passed) = (mark, true);
        if state.advice.take().is_some() && state.last_error.take().is_some() {
            tracing::info!("the ledger is read again");
        }
        if let Some(check) = self.first_reading.as_ref().filter(|_| !matches!(state.first, FirstPass::Over)) {
            check.ok();
        }
        if let FirstPass::UnderWay(load) = std::mem::replace(&mut state.first, FirstPass::Over) {
            self.metrics.ledger_remaining(0);
            tracing::info!(
                rows = load.n_rows,
                rows_per_second = load.rate(),
                duration_ms = load.started.elapsed().as_millis(),
                "the ledger was read to its end and is followed from now on"
            );
        }
    }
}

impl FirstPassProgress {
    fn rate(&self) -> u64 {
        let milliseconds = self.started.elapsed().as_millis().max(1);
        u64::try_from(u128::from(self.n_rows) * 1_000 / milliseconds).unwrap_or(u64::MAX)
    }

    fn remaining(&self) -> Option<u64> {
        self.n_all.map(|all| all.saturating_sub(self.n_rows))
    }
}

/// Formats minutes as hours, with `.5` for half an hour.
fn hours(minutes: i64) -> String {
    let half = if minutes % 60 == 0 { "" } else { ".5" };
    format!("{}{half}", minutes / 60)
}

impl LedgerStatus {
    pub(super) fn new(shown: &Arc<SyncProgress>) -> Self {
        Self(Arc::clone(shown))
    }
}

/// The status shown by `/readyz`.
impl fmt::Display for LedgerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.state.lock();
        let error = state.last_error.as_ref().filter(|_| !state.is_connected || state.advice.is_some());
        if let Some(error) = error {
            match state.advice.as_ref().filter(|advice| *advice != error) {
                Some(advice) => write!(f, "not read: {advice}; then: {error}")?,
                None => write!(f, "not read: {error}")?,
            }
            return match state.mark.and_then(DateTime::from_timestamp_micros) {
                Some(mark) => write!(f, "; read up to {}", mark.to_rfc3339_opts(SecondsFormat::Millis, true)),
                None => Ok(()),
            };
        }
        match &state.first {
            FirstPass::Ahead => f.write_str("connecting"),
            FirstPass::UnderWay(load) => {
                write!(f, "reading: {} rows, {} a second", load.n_rows, load.rate())?;
                load.remaining().map_or(Ok(()), |remaining| write!(f, ", {remaining} to go"))
            }
            FirstPass::Over => match state.minutes_ahead {
                None => match &state.lacks {
                    None => f.write_str("ok"),
                    Some(lacks) => write!(f, "ok, but {lacks}"),
                },
                Some(minutes) => write!(
                    f,
                    "ok, but new rows lie {} h ahead of the ledger's clock: `created_at` has no time zone and is read as UTC; read a \
                     view that converts it",
                    hours(minutes)
                ),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::LedgerError;

    #[test]
    fn an_error_that_helps_is_not_replaced_by_a_later_one_and_is_gone_when_the_ledger_was_read() {
        let shown = Arc::new(SyncProgress::new(&Arc::new(Metrics::new()), None));
        let said = || LedgerStatus::new(&shown).to_string();
        let helpful = || LedgerSyncError::Ledger(LedgerError::Unusable("set this".to_owned()));
        let later = || LedgerSyncError::Ledger(LedgerError::Silent(Duration::from_secs(1)));
        shown.failed(&helpful());
        assert_eq!(said(), "not read: set this");
        shown.failed(&later());
        assert_eq!(said(), "not read: set this; then: the ledger's database did not answer within 1s");
        shown.connected(None, None);
        assert!(said().starts_with("not read: set this"));
        shown.failed(&helpful());
        assert_eq!(said(), "not read: set this");
        shown.begins(None);
        shown.passed(None);
        assert_eq!(said(), "ok");
        shown.failed(&later());
        assert_eq!(said(), "not read: the ledger's database did not answer within 1s");
        shown.connected(None, None);
        assert_eq!(said(), "ok");
    }

    #[test]
    fn rows_of_another_time_zone_are_reported_until_new_ones_are_not() {
        let shown = Arc::new(SyncProgress::new(&Arc::new(Metrics::new()), None));
        shown.begins(None);
        shown.passed(None);
        for (minutes, hours) in [(120, "2 h"), (330, "5.5 h")] {
            shown.lies_ahead(Some(minutes));
            assert!(LedgerStatus::new(&shown).to_string().contains(&format!("lie {hours} ahead")));
        }
        shown.lies_ahead(None);
        assert_eq!(LedgerStatus::new(&shown).to_string(), "ok");
    }
}
