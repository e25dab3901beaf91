//! How many transactions a question looks at by themselves, and how many it may.
//!
//! What a question costs is mostly what figures tell, whatever lies in its window. A filter that compares transactions with
//! the one under evaluation, or a value without figures, has to look at them one by one, and how many there are is not in
//! the hands of whoever asks. What is counted is what is shown, however it lies in memory or in the file: so the count is
//! the same whenever the same is asked.

use std::cell::Cell;

/// The shares of effort that a look at a row is divided into: `distinct`, which looks at each value of a chunk once, takes one.
pub(super) const SHARES_PER_ROW: u64 = 8;
/// Chunks beyond those that the rows would be in, because an edge of a window may show nothing of one.
const CHUNKS_TO_SPARE: u64 = 64;

/// The answer to a question, and how many transactions it took to look at, each as many times as its filter has parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostedAnswer<T> {
    /// The answer.
    pub value: T,
    /// How many rows.
    pub rows: u64,
}

/// What one question may still look at.
#[derive(Debug)]
pub(super) struct LookupBudget {
    shares_max: u64,
    shares_per_row: u64,
    taken: Cell<u64>,
}

impl LookupBudget {
    pub(super) const fn new(rows_max: u64, shares_per_row: u64) -> Self {
        Self { shares_max: rows_max.saturating_mul(SHARES_PER_ROW), shares_per_row, taken: Cell::new(0) }
    }

    /// The question is asked again, from the start.
    pub(super) fn begin(&self) {
        self.taken.set(0);
    }

    /// Looks at so many rows; whether it may.
    #[inline]
    pub(super) fn take(&self, n_rows: u64) -> bool {
        let taken = self.taken.get().saturating_add(n_rows.saturating_mul(self.shares_per_row));
        self.taken.set(taken);
        taken <= self.shares_max
    }

    /// Whether so many chunks, each of which shows something, may be taken along.
    pub(super) const fn has_room_for(&self, n_chunks: usize) -> bool {
        let shares = (n_chunks as u64).saturating_sub(CHUNKS_TO_SPARE).saturating_mul(self.shares_per_row);
        shares <= self.shares_max
    }

    /// Counts what cannot be taken along any more.
    pub(super) fn give_up(&self) {
        self.taken.set(u64::MAX);
    }

    pub(super) const fn is_over(&self) -> bool {
        self.taken.get() > self.shares_max
    }

    /// How many rows were looked at, rounded up.
    pub(super) const fn rows(&self) -> u64 {
        self.taken.get().div_ceil(SHARES_PER_ROW)
    }
}
