//! The delivery loop: takes due alerts out of the store, sends them, and records the outcomes.
//!
//! It holds a bounded number of alerts and writes outcomes to the store in batches. An alert that was delivered but not
//! yet recorded is delivered again after a crash, with the same id.

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
use tollgate_telemetry::logs::ErrorChain;
use tollgate_telemetry::metrics::Metrics;

/// Concurrent deliveries.
const PARALLEL_MAX: usize = 16;
/// New alerts taken out of the store at once.
const BATCH_MAX: usize = 128;
/// Unrecorded outcomes that force a write; no more alerts are taken until it succeeds.
const SETTLED_MAX: usize = 512;
/// How long outcomes are collected before they are written: each write makes transactions wait for the disk.
const SETTLE_EVERY: Duration = Duration::from_secs(1);
/// Maximum interval between two queries of the store.
const LOOK_EVERY: Duration = Duration::from_secs(30);
const COUNT_EVERY: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_secs(1);
/// A clock that falls back by more than this was set back, not slewed.
const FALL_BACK_MIN: Duration = Duration::from_secs(1);
/// How long deliveries begun before the clock fell back may record a due time by the old clock.
const WRITTEN_WITHIN: Duration = Duration::from_secs(5);
/// How long deliveries under way may take to end once the service stops.
const DRAIN: Duration = Duration::from_secs(2);
const DEAD_LETTERS_KEPT: TimeDelta = TimeDelta::days(30);
const DELETE_EVERY: Duration = Duration::from_secs(60 * 60);

/// The dependencies of a [`DeliveryLoop`].
pub(super) struct DeliveryDeps {
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) post: Post,
    pub(super) endpoints: Arc<Endpoints>,
    /// `None`: alerts are not signed.
    pub(super) keys: Option<SigningKeys>,
    pub(super) retries: Retries,
    pub(super) arrived: Arc<Notify>,
}

pub(super) struct DeliveryLoop {
    deps: Arc<DeliveryDeps>,
    /// Taken out of the store, delivery not yet started.
    ready: VecDeque<DueAlert>,
    /// Every alert taken out of the store whose outcome is not yet recorded.
    busy: HashSet<Sequence>,
    under_way: JoinSet<(Sequence, AlertOutcome)>,
    settled: Vec<(Sequence, AlertOutcome)>,
    look_at: Instant,
    settle_at: Option<Instant>,
    count_at: Instant,
    delete_at: Instant,
    /// When the clock was last read, and its value in microseconds since 1970 UTC.
    clock_read: Option<(Instant, i64)>,
    /// When to check next for waits computed by a clock that was ahead.
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
            delete_at: now,
            clock_read: None,
            // The clock may have been ahead in an earlier run.
            shorten_at: Some(now),
        }
    }

    /// Delivers until `stop` is dropped.
    pub(super) async fn run(mut self, mut stop: oneshot::Receiver<()>) {
        loop {
            if let Err(error) = self.work().await {
                tracing::error!(error = %ErrorChain(&error), "the alert outbox is temporarily unavailable");
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

    /// When to wake up if no event arrives before.
    fn wake_at(&self) -> Instant {
        // While alerts are ready, the loop waits for a delivery to end.
        let look_at = if self.ready.is_empty() { self.look_at } else { Instant::now() + LOOK_EVERY };
        self.settle_at.map_or(look_at, |settle_at| settle_at.min(look_at))
    }

    /// Does all work that does not wait for a webhook.
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

    async fn look(&mut self) -> Result<(), StoreError> {
        let store = &self.deps.store;
        let now = self.deps.clock.now().timestamp_micros();
        // Busy alerts are still due in the store.
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

    /// Updates the metrics and removes expired dead letters, at intervals because counting is slow for many alerts.
    /// Returns whether any due time changed.
    async fn count(&mut self, now: i64) -> Result<bool, StoreError> {
        if self.count_at > Instant::now() {
            return Ok(false);
        }
        let n_shortened = self.shorten_waits(now).await?;
        let counts = self.deps.store.alert_counts().await?;
        self.deps.metrics.alerts_kept(counts.n_pending, counts.n_dead);
        let count_at = Instant::now() + if counts.n_pending == 0 { LOOK_EVERY } else { COUNT_EVERY };
        self.count_at = self.shorten_at.map_or(count_at, |shorten_at| shorten_at.min(count_at));
        if self.delete_at <= Instant::now() {
            self.delete_at = Instant::now() + DELETE_EVERY;
            let before = self.deps.clock.now() - DEAD_LETTERS_KEPT;
            let n_deleted = self.deps.store.forget_dead_letters(before.timestamp_micros()).await?;
            if n_deleted > 0 {
                tracing::warn!(
                    n_forgotten = n_deleted,
                    "dead letters were removed: they were older than 30 days"
                );
            }
        }
        Ok(n_shortened > 0)
    }

    /// Shortens waits that were computed by a clock that has since fallen back. Returns how many.
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
            tracing::warn!(n_shortened, "the clock was set back: waiting times of alerts were shortened");
        }
        Ok(n_shortened)
    }

    fn note(&mut self, ended: Option<(Sequence, AlertOutcome)>) {
        let Some((sequence, outcome)) = ended else {
            // The alert is unknown here: it is delivered again after the next start.
            tracing::error!("a delivery task failed; its alert is sent again after the next start");
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
        // Alerts that failed have a new due time.
        (self.look_at, self.count_at) = (Instant::now(), Instant::now());
        Ok(())
    }

    /// Waits up to [`DRAIN`] for deliveries under way, and records the outcomes.
    async fn finish(mut self) {
        let rest = async {
            while let Some(ended) = self.under_way.join_next().await {
                self.settled.extend(ended.ok());
            }
        };
        // A delivery that does not end in time is repeated after the next start.
        timeout(DRAIN, rest).await.ok();
        if let Err(error) = self.deps.store.settle_alerts(&self.settled).await {
            let n_alerts = self.settled.len();
            tracing::error!(error = %ErrorChain(&error), n_alerts, "outcomes of deliveries could not be stored; delivered alerts will be sent again");
        }
    }
}

impl DeliveryDeps {
    /// Makes one attempt: tries each webhook in turn until one accepts the alert.
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
                    "an alert became a dead letter: no webhook accepted it"
                );
                AlertOutcome::Dead(now.timestamp_micros(), reason)
            }
        }
    }

    /// Returns the headers of the Standard Webhooks specification.
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
