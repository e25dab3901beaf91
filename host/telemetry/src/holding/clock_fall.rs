//! A fall of the clock that was followed: for a while, windows of time miss transactions with later stamps.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

/// Longest time for which transactions are held after a fall.
const HELD_MAX: Duration = Duration::from_secs(26 * 3600);

#[derive(Debug)]
pub(super) struct ClockFall {
    /// The time that the clock showed after the fall.
    fell: DateTime<Utc>,
    /// When the hold began in this run.
    since: Instant,
}

impl ClockFall {
    /// Creates a fall that happens now, or continues that of an earlier run. Its hold then begins anew: a wall clock that was
    /// put right since the fall does not tell how long ago it was.
    pub(super) fn at(fell: DateTime<Utc>) -> Self {
        Self { fell, since: Instant::now() }
    }

    /// Returns what the clock showed after the fall if that is no longer ago than this window, of at most 26 hours.
    pub(super) fn within(&self, window: Duration) -> Option<DateTime<Utc>> {
        is_held(self.since.elapsed(), window).then_some(self.fell)
    }
}

fn is_held(elapsed: Duration, window: Duration) -> bool {
    elapsed < window.min(HELD_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(elapsed_hours: u64, window_hours: u64, expected: bool) {
        let [elapsed, window] = [elapsed_hours, window_hours].map(|hours| Duration::from_secs(hours * 3600));
        assert_eq!(is_held(elapsed, window), expected, "{elapsed_hours} h after it, {window_hours} h long");
    }

    #[test]
    fn a_fall_matters_for_the_longest_window_and_at_most_26_hours() {
        check(0, 0, false);
        check(0, 1, true);
        check(2, 1, false);
        check(25, 1_000, true);
        check(27, 1_000, false);
    }
}
