//! A fall of the clock that was followed: for a while, windows of time miss transactions with later stamps.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

/// Longest time for which transactions are held after a fall.
const HELD_MAX: Duration = Duration::from_secs(26 * 3600);

#[derive(Debug)]
pub(super) struct ClockFall {
    /// What the clock showed after the fall.
    fell: DateTime<Utc>,
    since: Instant,
    /// The time between the fall and `since`, in an earlier run.
    before: Duration,
}

impl ClockFall {
    /// Creates a fall that happens now.
    pub(super) fn at(fell: DateTime<Utc>) -> Self {
        Self { fell, since: Instant::now(), before: Duration::ZERO }
    }

    /// Creates a fall of an earlier run. A clock that fell again since then gives no time, so the hold begins anew.
    pub(super) fn resumed(fell: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        Self { fell, since: Instant::now(), before: (now - fell).to_std().unwrap_or_default() }
    }

    /// Returns what the clock showed after the fall if that is no longer ago than this window, of at most 26 hours.
    pub(super) fn within(&self, window: Duration) -> Option<DateTime<Utc>> {
        let elapsed = self.before.saturating_add(self.since.elapsed());
        (elapsed < window.min(HELD_MAX)).then_some(self.fell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(elapsed_hours: i64, window_hours: u64, is_held: bool) {
        let fell = DateTime::UNIX_EPOCH;
        let fall = ClockFall::resumed(fell, fell + chrono::TimeDelta::hours(elapsed_hours));
        let window = Duration::from_secs(window_hours * 3600);
        assert_eq!(
            fall.within(window).is_some(),
            is_held,
            "{elapsed_hours} h after it, {window_hours} h long"
        );
    }

    #[test]
    fn a_fall_matters_for_the_longest_window_and_at_most_26_hours() {
        check(0, 0, false);
        check(0, 1, true);
        check(2, 1, false);
        check(25, 1_000, true);
        check(27, 1_000, false);
        // The clock fell again.
        check(-5, 1, true);
    }
}
