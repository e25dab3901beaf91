//! The mark that an attempt to free memory failed, so that not every transaction pays for another attempt.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Time after which a mark expires: what could not leave memory then may be able to now.
const VALID_FOR: Duration = Duration::from_secs(1);

/// The memory use below which no attempt is made, and since when.
#[derive(Debug)]
pub(super) struct AttemptInVain {
    below_bytes: AtomicUsize,
    /// Milliseconds since `epoch` at which the mark expires.
    until_ms: AtomicU64,
    epoch: Instant,
}

impl AttemptInVain {
    pub(super) fn none() -> Self {
        Self { below_bytes: AtomicUsize::new(0), until_ms: AtomicU64::new(0), epoch: Instant::now() }
    }

    /// Makes no attempt below this memory use for a while.
    pub(super) fn mark(&self, below_bytes: usize) {
        self.mark_at(below_bytes, self.epoch.elapsed());
    }

    pub(super) fn clear(&self) {
        self.below_bytes.store(0, Ordering::Relaxed);
    }

    /// Returns whether an attempt with this memory use would fail as the last one did.
    pub(super) fn covers(&self, resident_bytes: usize) -> bool {
        resident_bytes < self.below_bytes.load(Ordering::Relaxed) && self.is_valid_at(self.epoch.elapsed())
    }

    fn mark_at(&self, below_bytes: usize, now: Duration) {
        self.until_ms.store(millis(now.saturating_add(VALID_FOR)), Ordering::Relaxed);
        self.below_bytes.store(below_bytes, Ordering::Relaxed);
    }

    fn is_valid_at(&self, now: Duration) -> bool {
        millis(now) < self.until_ms.load(Ordering::Relaxed)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_holds_below_its_memory_use_for_a_second() {
        let attempt = AttemptInVain::none();
        assert!(!attempt.covers(0));
        attempt.mark(1_000);
        assert!(attempt.covers(999) && !attempt.covers(1_000));
        attempt.mark_at(1_000, Duration::from_millis(500));
        for (now_ms, is_valid) in [(500, true), (1_499, true), (1_500, false), (9_000, false)] {
            assert_eq!(attempt.is_valid_at(Duration::from_millis(now_ms)), is_valid, "{now_ms}");
        }
        attempt.clear();
        assert!(!attempt.covers(999));
    }
}
