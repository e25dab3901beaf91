//! Readiness check `clock`: whether the clock is behind the last payment, and what the service does meanwhile.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::{MissedTickBehavior, interval};
use tollgate_model::clock::Clock as _;

use crate::monitor::arrivals::FALL_WAITED_FOR_MAX;
use crate::monitor::{Monitor, MonitorError, TransactionPipeline};
use tollgate_telemetry::readiness::ReadinessCheck;

/// Interval between looks.
const PAUSE: Duration = Duration::from_secs(1);
/// Lag that is not reported: clocks are corrected by small steps all the time.
const LAG_UNREPORTED_MAX: TimeDelta = TimeDelta::seconds(1);

/// The state that was reported last.
#[derive(Default)]
struct LagReport {
    /// The reason, which stays the same while the clock is behind.
    waiting: Option<String>,
}

impl Monitor {
    /// Returns the time with which the next transaction would be stamped. It is ahead of a clock that was set back.
    pub fn now(&self) -> DateTime<Utc> {
        self.pipeline.arrivals.now()
    }

    /// Looks at the clock now, and then every second.
    pub async fn watch_clock(self, check: ReadinessCheck) {
        let mut report = LagReport::default();
        let mut pauses = interval(PAUSE);
        pauses.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            pauses.tick().await;
            self.pipeline.look_at_clock(&check, &mut report).await;
        }
    }
}

impl TransactionPipeline {
    /// Returns whether the clock was set back too far to be waited for.
    pub(super) fn has_clock_fallen(&self) -> bool {
        self.arrivals.lag() > FALL_WAITED_FOR_MAX
    }

    /// Follows a clock that was set back far, once a version with that reason to hold transactions is in force. Until
    /// then, arrival times go on by the monotonic clock.
    pub(super) async fn follow_clock(&self) -> Result<(), MonitorError> {
        if !self.has_clock_fallen() {
            return Ok(());
        }
        self.deps.holds.clock_fell(self.deps.clock.now());
        self.deps.holds.settle().await.map_err(|_| MonitorError::Unavailable)?;
        self.arrivals.follow();
        Ok(())
    }

    async fn look_at_clock(&self, check: &ReadinessCheck, report: &mut LagReport) {
        if self.follow_clock().await.is_err() {
            tracing::error!(
                "the clock was set back far, and the version that holds payments could not be stored"
            );
        }
        self.deps.holds.refresh_clock();
        let lag = self.arrivals.lag();
        if lag <= LAG_UNREPORTED_MAX {
            report.waiting = None;
        } else if report.waiting.is_none() {
            report.waiting = Some(format!(
                "the clock is {} s behind the last payment; arrival times go on by the monotonic clock until it has caught up",
                lag.num_seconds()
            ));
        }
        match (&report.waiting, self.deps.holds.is_held_for_clock()) {
            (Some(waiting), _) => check.degraded(waiting.as_str()),
            (None, true) => check.degraded(
                "the clock was set back by more than 26 hours; payments are held for review for the longest window of the rules",
            ),
            (None, false) => check.ok(),
        }
    }
}
