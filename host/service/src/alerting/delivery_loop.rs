//! The courier: takes alerts that are due out of the store, and writes down what became of them.
//!
//! It holds few alerts at a time, however many there are, and writes to the store now and then, not for each: what was
//! delivered and not yet written down is delivered again after a crash, under the same id.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tollgate_links::outbound::Post;
use tollgate_links::signature::SigningKeys;
use tollgate_model::clock::Clock;
use tollgate_model::sequence::Sequence;
use tollgate_store::{AlertOutcome, DueAlert, Store, StoreError};

use crate::alerting::endpoints::Endpoints;
use crate::alerting::retries::Retries;
use crate::telemetry::logs::ErrorChain;
use crate::telemetry::metrics::Metrics;

/// Deliveries at once.
const PARALLEL_MAX: usize = 16;
/// Alerts taken out of the store at once.
const BATCH_MAX: usize = 128;
/// Outcomes that are written down at once; no more is begun while so many wait for it.
const SETTLED_MAX: usize = 512;
/// Outcomes wait so long for others: each writing costs the transactions a wait for the disk.
const SETTLE_EVERY: Duration = Duration::from_secs(1);
/// However far away the next alert is due, the store is asked this often.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// While alerts are on their way, they are counted this often.
const COUNT_EVERY: Duration = Duration::from_secs(2);
/// After the store failed.
const PAUSE: Duration = Duration::from_secs(1);
/// A clock that is back by more than this has fallen, and not been set right bit by bit.
const FALL_BACK_MIN: Duration = Duration::from_secs(1);
/// When it fell, what was under way is written down by the clock as it was, until so long after.
const WRITTEN_WITHIN: Duration = Duration::from_secs(5);
/// How long deliveries under way may take to end once the service stops.
const DRAIN: Duration = Duration::from_secs(2);
/// So long dead letters are kept.
const DEAD_LETTERS_KEPT: TimeDelta = TimeDelta::days(30);
/// How often those that are older are removed.
const FORGET_EVERY: Duration = Duration::from_secs(60 * 60);

/// What a courier works with.
pub(super) struct DeliveryDeps {
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) post: Post,
    pub(super) endpoints: Arc<Endpoints>,
    /// `None`: nothing is signed.
    pub(super) keys: Option<SigningKeys>,
    pub(super) retries: Retries,
    pub(super) arrived: Arc<Notify>,
}

/// The one who delivers.
pub(super) struct DeliveryLoop {
    deps: Arc<DeliveryDeps>,
    /// Taken out of the store, and not yet begun.
    ready: VecDeque<DueAlert>,
    /// Everything between its way out of the store and the writing of its outcome.
    busy: HashSet<Sequence>,
    under_way: JoinSet<(Sequence, AlertOutcome)>,
    settled: Vec<(Sequence, AlertOutcome)>,
    /// When the store is asked next.
    look_at: Instant,
    settle_at: Option<Instant>,
    count_at: Instant,
    forget_at: Instant,
    /// When the clock was read, and what it showed, in microseconds since 1970 UTC.
    clock_read: Option<(Instant, i64)>,
    /// When waits are looked at next, lest they are by a clock that was ahead.
    shorten_at: Option<Instant>,
}

impl DeliveryLoop {
    pub(super) fn new(deps: DeliveryDeps) -> Self {
        let now = Instant::now();
        Self {
            deps: Arc::new(deps),
            ready: VecDeque::new(),
            busy: HashSet::new(),
            under_way: JoinSet::new(),
            settled: Vec::new(),
            look_at: now,
            settle_at: None,
            count_at: now,
            forget_at: now,
            clock_read: None,
            // Nobody knows what the clock was in an earlier run.
            shorten_at: Some(now),
        }
    }

    /// Delivers until `stop` is dropped.
    pub(super) async fn run(mut self, mut stop: oneshot::Receiver<()>) {
        loop {
            if let Err(error) = self.work().await {
                tracing::error!(error = %ErrorChain(&error), "the outbox of alerts cannot be used at the moment");
                let later = Instant::now() + PAUSE;
                self.look_at = later;
                self.settle_at = self.settle_at.map(|_| later);
            }
            let deps = Arc::clone(&self.deps);
            let wake_at = self.wake_at();
            tokio::select! {
                _ = &mut stop => break,
                Some(ended) = self.under_way.join_next() => self.note(ended.ok()),
                () = deps.arrived.notified() => self.look_at = Instant::now(),
                () = sleep_until(wake_at) => {}
            }
        }
        self.finish().await;
    }

    /// When there is something to do, whatever happens until then.
    fn wake_at(&self) -> Instant {
        // While some are ready, the end of those under way comes first.
        let look_at = if self.ready.is_empty() { self.look_at } else { Instant::now() + LOOK_EVERY };
        self.settle_at.map_or(look_at, |settle_at| settle_at.min(look_at))
    }

    /// Everything that can be done without waiting for a webhook.
    async fn work(&mut self) -> Result<(), StoreError> {
        let now = Instant::now();
        let is_time = self.settle_at.is_some_and(|settle_at| settle_at <= now);
        if is_time || self.settled.len() >= SETTLED_MAX {
            self.settle().await?;
        }
        if self.ready.is_empty() && self.look_at <= now && self.settled.len() < SETTLED_MAX {
            self.look().await?;
        }
        while self.under_way.len() < PARALLEL_MAX
            && let Some(alert) = self.ready.pop_front()
        {
            let deps = Arc::clone(&self.deps);
            self.under_way.spawn(async move { (alert.record.sequence, deps.attempt(&alert).await) });
        }
        Ok(())
    }

    /// Takes what is due out of the store.
    async fn look(&mut self) -> Result<(), StoreError> {
        let store = &self.deps.store;
        let now = self.deps.clock.now().timestamp_micros();
        // What is busy still stands there as due.
        let limit = self.busy.len() + BATCH_MAX;
        let due = store.due_alerts(now, limit).await?;
        let has_more = due.len() == limit;
        for alert in due {
            if self.busy.insert(alert.record.sequence) {
                self.ready.push_back(alert);
            }
        }
        let next = store.next_due_alert(now).await?;
        let wait = next.map_or(LOOK_EVERY, |next| {
            Duration::from_micros(next.abs_diff(now)).clamp(Duration::from_millis(1), LOOK_EVERY)
        });
        let is_full = has_more || !self.ready.is_empty();
        let is_changed = self.count(now).await?;
        let look_at = Instant::now() + if is_full || is_changed { Duration::ZERO } else { wait };
        self.look_at = look_at.min(self.count_at);
        Ok(())
    }

    /// Now and then: it takes longer the more there are. Whether some are due at another time than before.
    async fn count(&mut self, now: i64) -> Result<bool, StoreError> {
        if self.count_at > Instant::now() {
            return Ok(false);
        }
        let n_shortened = self.shorten_waits(now).await?;
        let counts = self.deps.store.alert_counts().await?;
        self.deps.metrics.alerts_kept(counts.n_pending, counts.n_dead);
        let count_at = Instant::now() + if counts.n_pending == 0 { LOOK_EVERY } else { COUNT_EVERY };
        self.count_at = self.shorten_at.map_or(count_at, |shorten_at| shorten_at.min(count_at));
        if self.forget_at <= Instant::now() {
            self.forget_at = Instant::now() + FORGET_EVERY;
            let before = self.deps.clock.now() - DEAD_LETTERS_KEPT;
            let n_forgotten = self.deps.store.forget_dead_letters(before.timestamp_micros()).await?;
            if n_forgotten > 0 {
                tracing::warn!(n_forgotten, "dead letters were removed: they were older than 30 days");
            }
        }
        Ok(n_shortened > 0)
    }

    /// No alert waits for a clock that fell back to be again where it was; how many would have.
    async fn shorten_waits(&mut self, now: i64) -> Result<u64, StoreError> {
        let has_fallen = self.clock_read.is_some_and(|(at, then)| {
            let passed = at.elapsed().saturating_sub(FALL_BACK_MIN).as_micros();
            now.saturating_sub(then) < i64::try_from(passed).unwrap_or(i64::MAX)
        });
        let is_time = self.shorten_at.is_some_and(|at| at <= Instant::now());
        if !has_fallen && !is_time {
            self.clock_read = Some((Instant::now(), now));
            return Ok(0);
        }
        let waits = self.deps.retries.longest_micros();
        let n_shortened = self.deps.store.shorten_waits(now, &waits).await?;
        self.clock_read = Some((Instant::now(), now));
        self.shorten_at = has_fallen.then(|| Instant::now() + WRITTEN_WITHIN);
        if n_shortened > 0 {
            tracing::warn!(n_shortened, "the clock fell back: alerts do not wait until it is where it was");
        }
        Ok(n_shortened)
    }

    fn note(&mut self, ended: Option<(Sequence, AlertOutcome)>) {
        let Some((sequence, outcome)) = ended else {
            // Which one it was is not known: all are looked for again after the next start.
            tracing::error!("a delivery of an alert broke off");
            return;
        };
        self.settled.push((sequence, outcome));
        self.settle_at.get_or_insert(Instant::now() + SETTLE_EVERY);
    }

    async fn settle(&mut self) -> Result<(), StoreError> {
        self.deps.store.settle_alerts(&self.settled).await?;
        for (sequence, _) in self.settled.drain(..) {
            self.busy.remove(&sequence);
        }
        self.settle_at = None;
        // What failed is due at another time now.
        (self.look_at, self.count_at) = (Instant::now(), Instant::now());
        Ok(())
    }

    /// Waits a little for what is under way, and writes down what became of it.
    async fn finish(mut self) {
        let rest = async {
            while let Some(ended) = self.under_way.join_next().await {
                self.settled.extend(ended.ok());
            }
        };
        // What does not end in time is delivered again.
        timeout(DRAIN, rest).await.ok();
        if let Err(error) = self.deps.store.settle_alerts(&self.settled).await {
            let n_alerts = self.settled.len();
            tracing::error!(error = %ErrorChain(&error), n_alerts, "alerts that arrived will be sent again");
        }
    }
}

impl DeliveryDeps {
    /// One attempt: each webhook in turn, until one takes it.
    async fn attempt(&self, alert: &DueAlert) -> AlertOutcome {
        let record = &alert.record;
        let mut reason = "no webhook is left: each answered 410".to_owned();
        let endpoints = self.endpoints.in_turn();
        let is_hopeless = endpoints.is_empty();
        for endpoint in endpoints {
            let headers = self.headers(alert, self.clock.now());
            let outcome = self.post.send(&endpoint.address, &headers, &record.payload).await;
            self.endpoints.note(endpoint, &outcome);
            match outcome {
                Ok(()) => {
                    self.metrics.alert_attempted("delivered");
                    return AlertOutcome::Delivered;
                }
                Err(error) => reason = error.to_string(),
            }
        }
        let now = self.clock.now();
        match self.retries.after(alert.n_attempts + 1) {
            Some(wait) if !is_hopeless => {
                self.metrics.alert_attempted("failed");
                let due = now + TimeDelta::from_std(wait).unwrap_or_default();
                AlertOutcome::Later(due.timestamp_micros(), reason)
            }
            _ => {
                self.metrics.alert_attempted("dead");
                tracing::error!(
                    alert.id = %record.id,
                    transaction.id = %record.transaction_id,
                    attempts = alert.n_attempts + 1,
                    reason,
                    "an alert is a dead letter: no webhook took it"
                );
                AlertOutcome::Dead(now.timestamp_micros(), reason)
            }
        }
    }

    /// As Standard Webhooks have them.
    fn headers(&self, alert: &DueAlert, now: DateTime<Utc>) -> Vec<(&'static str, String)> {
        let (id, seconds) = (alert.record.id.as_str(), now.timestamp());
        let mut headers = vec![("webhook-id", id.to_owned()), ("webhook-timestamp", seconds.to_string())];
        if let Some(keys) = &self.keys {
            let signature = keys.sign(id, seconds, alert.record.payload.as_bytes());
            headers.push(("webhook-signature", signature));
        }
        headers
    }
}
