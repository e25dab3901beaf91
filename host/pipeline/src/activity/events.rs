//! Verdicts, rates and changes of the rules as they happen, for clients that follow the service.
//!
//! ```text
//!  counters of the metrics ─┐
//!  stored verdicts ─────────┼──every quarter of a second, while somebody listens──▶ Event ──▶ every listener
//!  version of the rules ────┘
//! ```
//!
//! All listeners share the same events, so one more costs little. A listener that falls behind is told so.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::broadcast;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tollgate_engine::registry::Registry;
use tollgate_model::clock::Clock;
use tollgate_model::sequence::Sequence;
use tollgate_store::{Store, StoreError};

use crate::activity::VerdictRow;
use tollgate_telemetry::latency::quantile;
use tollgate_telemetry::logs::ErrorChain;
use tollgate_telemetry::metrics::{Metrics, ServiceTotals};

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(250);
/// Longest time without an event for listeners of rates.
const QUIET_MAX: Duration = Duration::from_secs(5);
/// Verdicts in one event.
const ROWS_MAX: usize = 50;
/// Events that a listener may be behind.
const BEHIND_MAX: usize = 64;

/// Sends events to its listeners.
#[derive(Debug)]
pub struct Events {
    /// `None` once the service stops.
    sender: Mutex<Option<broadcast::Sender<Event>>>,
}

/// The dependencies of [`Events`].
#[derive(Debug)]
pub(crate) struct EventDeps {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Something that happened.
#[derive(Debug, Clone)]
pub struct Event {
    /// Its kind.
    pub topic: Topic,
    /// Number of the last record that is durable.
    pub sequence: Sequence,
    /// JSON.
    pub data: Arc<str>,
}

/// The subject of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Rates.
    Ticks,
    /// Verdicts.
    Verdicts,
    /// Changes of rules and lists.
    Rules,
}

#[derive(Serialize)]
struct Tick {
    at: String,
    sequence: u64,
    counts: VerdictCounts,
    p50_us: Option<u64>,
    p99_us: Option<u64>,
    in_flight: i64,
}

#[derive(Serialize)]
struct VerdictCounts {
    approve: u64,
    alert: u64,
    review: u64,
    block: u64,
}

#[derive(Serialize)]
struct NewVerdicts {
    verdicts: Vec<VerdictRow>,
    n_more: u64,
}

#[derive(Serialize)]
struct NewRules {
    rule_set_version: u64,
}

impl Topic {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Ticks, Self::Verdicts, Self::Rules];

    /// Returns the word by which a client asks for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ticks => "ticks",
            Self::Verdicts => "verdicts",
            Self::Rules => "rules",
        }
    }

    /// Returns the name of its events.
    pub const fn event(self) -> &'static str {
        match self {
            Self::Ticks => "tick",
            Self::Verdicts => "verdicts",
            Self::Rules => "rules",
        }
    }
}

impl Events {
    /// Starts to look. Must be called within a tokio runtime.
    pub(crate) fn start(deps: EventDeps) -> Arc<Self> {
        let (sender, _) = broadcast::channel(BEHIND_MAX);
        let events = Arc::new(Self { sender: Mutex::new(Some(sender)) });
        tokio::spawn(Observer::new(deps).run(Arc::downgrade(&events)));
        events
    }

    /// Returns the events from now on; `None` if the service stops.
    pub fn listen(&self) -> Option<broadcast::Receiver<Event>> {
        self.sender.lock().as_ref().map(broadcast::Sender::subscribe)
    }

    /// Ends the events of all listeners.
    pub fn close(&self) {
        self.sender.lock().take();
    }

    fn is_closed(&self) -> bool {
        self.sender.lock().is_none()
    }

    fn has_listeners(&self) -> bool {
        self.sender.lock().as_ref().is_some_and(|sender| sender.receiver_count() > 0)
    }

    fn send(&self, event: Event) {
        if let Some(sender) = &*self.sender.lock() {
            // Nobody may listen any more.
            sender.send(event).ok();
        }
    }
}

/// The counters and versions at the last look.
#[derive(Debug)]
struct Seen {
    totals: ServiceTotals,
    verdicts: VerdictCursor,
    rule_set_version: u64,
    reported_at: Instant,
}

/// Up to where listeners know the verdicts.
#[derive(Debug, Default)]
struct VerdictCursor {
    /// `None` after a time without listeners.
    through: Option<Sequence>,
    /// Verdicts that they know and that are not counted yet. A verdict is counted just after it is stored.
    n_uncounted: u64,
}

impl VerdictCursor {
    /// Returns the number after which verdicts are new, if so many are counted and the last record has number `through`.
    fn after(&self, n_counted: u64, through: Sequence) -> Sequence {
        self.through.unwrap_or(Sequence(through.0.saturating_sub(n_counted)))
    }

    /// Notes that so many verdicts up to `through` are told of. Returns how many of those that are counted are left out.
    fn reported(&mut self, n_reported: u64, n_counted: u64, through: Sequence) -> u64 {
        self.through = Some(through);
        let n_new = n_counted.saturating_sub(self.n_uncounted);
        self.n_uncounted = (self.n_uncounted + n_reported).saturating_sub(n_counted);
        n_new.saturating_sub(n_reported)
    }

    /// Notes that no verdict is counted. The next one may be stored already, so the position stays.
    fn nothing_counted(&mut self, through: Sequence) {
        self.through.get_or_insert(through);
        self.n_uncounted = 0;
    }
}

#[derive(Debug)]
struct Observer {
    deps: EventDeps,
    /// `None` before the first look.
    seen: Option<Seen>,
    has_failed: bool,
}

impl Observer {
    const fn new(deps: EventDeps) -> Self {
        Self { deps, seen: None, has_failed: false }
    }

    /// Looks until the events are closed or dropped.
    async fn run(mut self, events: std::sync::Weak<Events>) {
        let mut pauses = interval(PAUSE);
        pauses.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            pauses.tick().await;
            let Some(events) = events.upgrade() else { return };
            if events.is_closed() {
                return;
            }
            if !events.has_listeners() {
                self.pass_over();
                continue;
            }
            match self.look().await {
                _ if events.is_closed() => return,
                Ok(found) => {
                    self.has_failed = false;
                    found.into_iter().for_each(|event| events.send(event));
                }
                // The first failure in a row tells enough.
                Err(_) if self.has_failed => {}
                Err(error) => {
                    self.has_failed = true;
                    tracing::warn!(error = %ErrorChain(&error), "events cannot be told");
                }
            }
        }
    }

    /// Notes how things stand while nobody listens, so that a new listener misses nothing.
    fn pass_over(&mut self) {
        let EventDeps { metrics, registry, .. } = &self.deps;
        metrics.take_flagged();
        let (totals, rule_set_version) = (metrics.totals(), registry.current().version);
        let verdicts = VerdictCursor::default();
        self.seen = Some(Seen { totals, verdicts, rule_set_version, reported_at: Instant::now() });
    }

    async fn look(&mut self) -> Result<Vec<Event>, StoreError> {
        let EventDeps { metrics, registry, store, clock } = &self.deps;
        // In this order, a verdict that is counted is stored.
        let (totals, flagged) = (metrics.totals(), metrics.take_flagged());
        let through = store.last_sequence().await?;
        let rule_set_version = registry.current().version;
        let Some(seen) = &mut self.seen else {
            self.pass_over();
            return Ok(Vec::new());
        };
        let mut events = Vec::new();
        let counts = counts_between(&seen.totals, &totals);
        let n_judged = counts.approve + counts.alert + counts.review + counts.block;
        if n_judged > 0 || seen.reported_at.elapsed() >= QUIET_MAX {
            let tick = tick(clock.now(), through, counts, &seen.totals, &totals);
            events.push(event(Topic::Ticks, through, &tick));
            seen.reported_at = Instant::now();
        }
        if n_judged > 0 {
            let numbers = numbers_of(&flagged, seen.verdicts.after(n_judged, through), through);
            let verdicts = rows_of(store, &numbers).await?;
            let n_more = seen.verdicts.reported(verdicts.len() as u64, n_judged, through);
            events.push(event(Topic::Verdicts, through, &NewVerdicts { verdicts, n_more }));
        } else {
            seen.verdicts.nothing_counted(through);
        }
        if rule_set_version != seen.rule_set_version {
            events.push(event(Topic::Rules, through, &NewRules { rule_set_version }));
        }
        (seen.totals, seen.rule_set_version) = (totals, rule_set_version);
        Ok(events)
    }
}

/// Returns the transactions to tell of: the latest that were not approved, and the latest others in what is left.
fn numbers_of(flagged: &[Sequence], after: Sequence, through: Sequence) -> Vec<Sequence> {
    let flagged: BTreeSet<Sequence> = flagged.iter().rev().take(ROWS_MAX).copied().collect();
    let latest = (after.0 + 1..=through.0).rev().take(ROWS_MAX).map(Sequence);
    let others = latest.filter(|number| !flagged.contains(number)).take(ROWS_MAX - flagged.len());
    flagged.iter().copied().chain(others).collect()
}

async fn rows_of(store: &Store, numbers: &[Sequence]) -> Result<Vec<VerdictRow>, StoreError> {
    let records = store.verdicts_of(numbers).await?;
    // A text that is not ours would have failed when it was written.
    Ok(records.iter().filter_map(|record| VerdictRow::from_record(record).ok()).collect())
}

fn counts_between(before: &ServiceTotals, after: &ServiceTotals) -> VerdictCounts {
    let grown = |word: &str| {
        let of = |totals: &ServiceTotals| {
            totals.verdicts.iter().find(|(known, _)| *known == word).map_or(0, |(_, n)| *n)
        };
        of(after).saturating_sub(of(before))
    };
    VerdictCounts {
        approve: grown("approve"),
        alert: grown("alert"),
        review: grown("review"),
        block: grown("block"),
    }
}

fn tick(
    now: DateTime<Utc>,
    through: Sequence,
    counts: VerdictCounts,
    before: &ServiceTotals,
    after: &ServiceTotals,
) -> Tick {
    let times = before.times.iter().zip(&after.times).map(|(before, after)| after.saturating_sub(*before));
    let times = times.enumerate();
    Tick {
        at: now.to_rfc3339_opts(SecondsFormat::Millis, true),
        sequence: through.0,
        counts,
        p50_us: quantile(times.clone(), 500),
        p99_us: quantile(times, 990),
        in_flight: after.n_in_flight,
    }
}

fn event(topic: Topic, sequence: Sequence, data: &impl Serialize) -> Event {
    // Numbers and texts alone: this cannot fail.
    Event { topic, sequence, data: serde_json::to_string(data).unwrap_or_default().into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at a service: how many verdicts were counted since the look before, the number of the last record, and the numbers
    /// of the verdicts that are stored. `expected` has the verdicts that each look tells of, and how many it leaves out.
    #[track_caller]
    fn check(looks: &[(u64, u64, &[u64])], expected: &[(&[u64], u64)]) {
        let mut position = VerdictCursor { through: Some(Sequence(10)), n_uncounted: 0 };
        for ((n_counted, through, stored), expected) in looks.iter().zip(expected) {
            let through = Sequence(*through);
            if *n_counted == 0 {
                position.nothing_counted(through);
                assert_eq!((&[][..], 0), *expected);
                continue;
            }
            let after = position.after(*n_counted, through).0;
            let reported: Vec<u64> = stored.iter().copied().filter(|number| *number > after).collect();
            let n_more = position.reported(reported.len() as u64, *n_counted, through);
            assert_eq!((&*reported, n_more), *expected);
        }
    }

    #[test]
    fn a_verdict_is_shown_once_also_if_it_is_counted_after_a_look_at_the_store() {
        check(&[(1, 12, &[11])], &[(&[11], 0)]);
        check(&[(0, 12, &[11]), (1, 12, &[11])], &[(&[], 0), (&[11], 0)]);
        check(&[(1, 14, &[11, 13]), (1, 14, &[11, 13])], &[(&[11, 13], 0), (&[], 0)]);
        check(&[(1, 12, &[11]), (0, 12, &[11]), (1, 14, &[11, 13])], &[(&[11], 0), (&[], 0), (&[13], 0)]);
        check(&[(3, 13, &[12, 13])], &[(&[12, 13], 1)]);
    }
}
