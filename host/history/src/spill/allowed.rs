//! How much memory may be counted, so that the process does not take more than the limit allows.
//!
//! The allocator leaves gaps between allocations. While series grow and spill, the gaps are larger than what is counted
//! for them. The process then takes more than the limit, although what is counted does not. When that happens, less may
//! be counted, step by step, and what is spilled leaves gaps for what comes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls of [`AllowedBytes::look`] for each look at the process.
const CALLS_PER_LOOK: usize = 4_096;
/// The limit divided by this is a step by which less, or more, may be counted.
const STEP_SHARE: usize = 64;
/// The limit divided by this is what the process may take beyond the limit before less may be counted.
const BEYOND_SHARE: usize = 10;
/// The least that may be counted is the limit divided by this.
const LEAST_SHARE: usize = 2;

#[derive(Debug)]
pub(super) struct AllowedBytes {
    limit_bytes: usize,
    allowed_bytes: AtomicUsize,
    process: OnceLock<ProcessMemory>,
    n_calls: AtomicUsize,
}

/// The resident memory of the process.
#[derive(Debug)]
struct ProcessMemory {
    /// Returns it in bytes; `None` if the system does not tell.
    resident: fn() -> Option<usize>,
    /// Resident memory of the process without a history, in bytes.
    empty_bytes: usize,
}

impl AllowedBytes {
    pub(super) const fn of(limit_bytes: usize) -> Self {
        Self {
            limit_bytes,
            allowed_bytes: AtomicUsize::new(limit_bytes),
            process: OnceLock::new(),
            n_calls: AtomicUsize::new(0),
        }
    }

    /// Looks at the process from now on; what it takes now does not count.
    pub(super) fn watch(&self, resident: fn() -> Option<usize>) {
        if let Some(empty_bytes) = resident() {
            // Only the first call has an effect.
            self.process.set(ProcessMemory { resident, empty_bytes }).ok();
        }
    }

    /// Returns how many bytes may be counted.
    pub(super) fn get(&self) -> usize {
        self.allowed_bytes.load(Ordering::Relaxed)
    }

    /// Looks at the process at every so many calls. `counted_bytes` is what is counted now.
    pub(super) fn look(&self, counted_bytes: usize) {
        if !self.n_calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(CALLS_PER_LOOK) {
            return;
        }
        let Some(process) = self.process.get() else { return };
        if let Some(resident) = (process.resident)() {
            self.correct(resident.saturating_sub(process.empty_bytes), counted_bytes);
        }
    }

    fn correct(&self, taken_bytes: usize, counted_bytes: usize) {
        let (limit, allowed) = (self.limit_bytes, self.get());
        let step = limit / STEP_SHARE;
        let corrected = if taken_bytes > limit + limit / BEYOND_SHARE {
            allowed.min(counted_bytes).saturating_sub(step).max(limit / LEAST_SHARE)
        } else if taken_bytes < limit {
            limit.min(allowed + step)
        } else {
            allowed
        };
        self.allowed_bytes.store(corrected, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 6_400;
    const STEP: usize = LIMIT / STEP_SHARE;

    #[test]
    fn less_may_be_counted_while_the_process_takes_more_than_the_limit() {
        let allowed = AllowedBytes::of(LIMIT);
        // Memory of the process beyond an empty one, counted memory, and the memory that may be counted afterwards.
        for (taken, counted, expected) in [
            (LIMIT, LIMIT, LIMIT),
            (LIMIT * 12 / 10, LIMIT, LIMIT - STEP),
            (LIMIT * 12 / 10, LIMIT - 5 * STEP, LIMIT - 6 * STEP),
            (LIMIT * 105 / 100, LIMIT, LIMIT - 6 * STEP),
            (LIMIT * 2, 0, LIMIT / 2),
            (LIMIT * 9 / 10, LIMIT / 2, LIMIT / 2 + STEP),
        ] {
            allowed.correct(taken, counted);
            assert_eq!(allowed.get(), expected, "{taken} {counted}");
        }
        (0..64).for_each(|_| allowed.correct(0, 0));
        assert_eq!(allowed.get(), LIMIT);
    }

    #[test]
    fn a_system_that_tells_nothing_changes_nothing() {
        let allowed = AllowedBytes::of(LIMIT);
        allowed.look(LIMIT);
        allowed.watch(|| None);
        allowed.look(LIMIT);
        assert_eq!(allowed.get(), LIMIT);
    }
}
