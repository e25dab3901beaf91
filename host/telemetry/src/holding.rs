//! Reasons to hold new transactions for review: those that apply now, and those of the rule set in force.
//!
//! ```text
//!  a check fails ──▶ wanted ──intake: the next version, durable──▶ in force ──▶ every verdict is at least `review`
//!                      └──────── a new transaction waits while the two differ ────────┘
//! ```
//!
//! The reasons are part of the version, so that a verdict follows from the stored data. A transaction that finds other
//! reasons than those of the version waits for the next one.

mod clock_fall;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout;
use tollgate_model::hold::{HoldReason, HoldReasons, Holds};

use crate::config::WhenNotReady;
use crate::readiness::ReadinessChecks;
use clock_fall::ClockFall;

/// Longest wait of a transaction for a version with the present reasons.
const PATIENCE: Duration = Duration::from_secs(1);

/// The reasons to hold new transactions. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PaymentHolds {
    shared: Arc<SharedHolds>,
}

#[derive(Debug)]
struct SharedHolds {
    checks: ReadinessChecks,
    when_not_ready: WhenNotReady,
    in_force: watch::Sender<HoldReasons>,
    /// The last fall of the clock that was followed, while it may matter.
    clock_fall: Mutex<Option<ClockFall>>,
    /// Whether transactions are held because of it.
    is_clock_held: watch::Sender<bool>,
    /// The longest window of the rules in force, in microseconds.
    longest_window: AtomicU64,
}

/// The properties of a set of rules that decide about holds.
#[derive(Debug, Clone, Copy)]
pub struct HoldBasis {
    /// Whether there are fewer rules than required.
    pub is_short: bool,
    /// The longest window of the rules.
    pub longest_window: Duration,
}

/// The rule set could not take over the present reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsettledHolds;

impl PaymentHolds {
    /// Creates the state; no reason is in force.
    #[must_use]
    pub fn new(checks: &ReadinessChecks, when_not_ready: WhenNotReady) -> Self {
        let shared = SharedHolds {
            checks: checks.clone(),
            when_not_ready,
            in_force: watch::Sender::default(),
            clock_fall: Mutex::default(),
            is_clock_held: watch::Sender::default(),
            longest_window: AtomicU64::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Returns the reasons that apply now.
    pub fn wanted(&self) -> HoldReasons {
        let failing = match self.shared.when_not_ready {
            WhenNotReady::Approve => HoldReasons::NONE,
            WhenNotReady::Review | WhenNotReady::Refuse => *self.shared.checks.failing().borrow(),
        };
        if self.is_held_for_clock() { failing.with(HoldReason::Clock) } else { failing }
    }

    /// Returns whether transactions are held because the clock was followed back.
    pub fn is_held_for_clock(&self) -> bool {
        *self.shared.is_clock_held.borrow()
    }

    /// Notes that the clock was set back far, to `now`, and is about to be followed.
    pub fn clock_fell(&self, now: DateTime<Utc>) {
        *self.shared.clock_fall.lock() = Some(ClockFall::at(now));
        self.refresh_clock();
    }

    /// Continues the holds of the last version of an earlier run.
    pub fn resume(&self, stored: &Holds) {
        if let Some(fell) = stored.clock_fell {
            *self.shared.clock_fall.lock() = Some(ClockFall::at(fell));
        }
    }

    /// Ends the hold because of the clock when its time is over, and begins it when longer windows come into force.
    pub fn refresh_clock(&self) {
        let longest = Duration::from_micros(self.shared.longest_window.load(Ordering::Relaxed));
        let is_held = self.clock_fall_within(longest).is_some();
        self.shared.is_clock_held.send_if_modified(|held| std::mem::replace(held, is_held) != is_held);
    }

    /// Returns the time of the last fall if it is no longer ago than this window.
    fn clock_fall_within(&self, window: Duration) -> Option<DateTime<Utc>> {
        self.shared.clock_fall.lock().as_ref().and_then(|fall| fall.within(window))
    }

    /// Returns what a version with the present reasons stores. `was_short` says whether the version in force has fewer
    /// rules than required.
    pub fn of_version(&self, basis: HoldBasis, was_short: bool) -> Holds {
        let wanted = self.wanted();
        let reasons = match (self.shared.when_not_ready, basis.is_short, was_short) {
            (WhenNotReady::Approve, ..) => wanted,
            (_, true, _) => wanted.with(HoldReason::Rules),
            (_, false, true) => wanted.without(HoldReason::Rules),
            (_, false, false) => wanted,
        };
        match self.clock_fall_within(basis.longest_window) {
            Some(fell) => Holds { reasons: reasons.with(HoldReason::Clock), clock_fell: Some(fell) },
            None => Holds { reasons: reasons.without(HoldReason::Clock), clock_fell: None },
        }
    }

    /// Notes the reasons of the version that is in force now, and the longest window of its rules.
    pub fn came_into_force(&self, reasons: HoldReasons, longest_window: Duration) {
        let micros = u64::try_from(longest_window.as_micros()).unwrap_or(u64::MAX);
        self.shared.longest_window.store(micros, Ordering::Relaxed);
        self.shared.in_force.send_replace(reasons);
        self.refresh_clock();
    }

    /// Returns whether the version in force has the present reasons.
    pub fn are_settled(&self) -> bool {
        *self.shared.in_force.borrow() == self.wanted()
    }

    /// Returns the names of the failing checks because of which injects are refused; `None` if they are not.
    pub fn refusal(&self) -> Option<String> {
        if self.shared.when_not_ready != WhenNotReady::Refuse {
            return None;
        }
        let failing = *self.shared.checks.failing().borrow();
        let names: Vec<String> = failing.iter().map(|reason| format!("`{}`", reason.check())).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Waits until the version in force has the present reasons.
    ///
    /// # Errors
    /// If it does not get them in time and lacks one of them.
    pub async fn settle(&self) -> Result<(), UnsettledHolds> {
        if self.are_settled() {
            return Ok(());
        }
        let settled = async {
            let mut changes = self.changes();
            while !self.are_settled() {
                changes.next().await;
            }
        };
        match timeout(PATIENCE, settled).await {
            Ok(()) => Ok(()),
            Err(_) if self.wanted().is_within(*self.shared.in_force.borrow()) => Ok(()),
            Err(_) => Err(UnsettledHolds),
        }
    }

    /// Returns notices of every change from now on.
    pub fn changes(&self) -> HoldChanges {
        HoldChanges {
            failing: self.shared.checks.failing().subscribe(),
            clock: self.shared.is_clock_held.subscribe(),
            in_force: self.shared.in_force.subscribe(),
        }
    }
}

/// Notices of changed reasons.
pub struct HoldChanges {
    failing: watch::Receiver<HoldReasons>,
    clock: watch::Receiver<bool>,
    in_force: watch::Receiver<HoldReasons>,
}

impl HoldChanges {
    /// Waits for the next change.
    pub async fn next(&mut self) {
        // The senders live as long as the reasons.
        tokio::select! {
            _ = self.failing.changed() => {}
            _ = self.clock.changed() => {}
            _ = self.in_force.changed() => {}
        }
    }
}
