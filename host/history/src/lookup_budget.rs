//! The budget for rows that a query reads one by one.
//!
//! Most queries are answered from precomputed sums, however many transactions their windows contain. A filter that
//! compares transactions with the current one, or a value without precomputed sums, needs single rows. The author of a
//! rule does not control how many there are. The budget counts the rows in range, whether in memory or in the spill
//! file, so equal queries have equal cost.

use std::cell::Cell;

/// Budget shares of one row. A `distinct` that reads each value of a chunk once takes a single share per row.
pub(super) const SHARES_PER_ROW: u64 = 8;
/// Chunks allowed beyond the row limit, because a chunk at an edge of the window may have no visible row.
const CHUNKS_TO_SPARE: u64 = 64;

/// An answer and its cost: the rows read, each counted once for every part of the filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostedAnswer<T> {
    /// The answer.
    pub value: T,
    /// Number of rows.
    pub rows: u64,
}

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

    /// Resets the budget before the query starts over.
    pub(super) fn begin(&self) {
        self.taken.set(0);
    }

    /// Takes rows from the budget and returns whether it suffices.
    #[inline]
    pub(super) fn take(&self, n_rows: u64) -> bool {
        let taken = self.taken.get().saturating_add(n_rows.saturating_mul(self.shares_per_row));
        self.taken.set(taken);
        taken <= self.shares_max
    }

    /// Returns whether this many chunks, each with a visible row, may be collected.
    pub(super) const fn has_room_for(&self, n_chunks: usize) -> bool {
        let shares = (n_chunks as u64).saturating_sub(CHUNKS_TO_SPARE).saturating_mul(self.shares_per_row);
        shares <= self.shares_max
    }

    /// Marks the budget as exceeded.
    pub(super) fn give_up(&self) {
        self.taken.set(u64::MAX);
    }

    pub(super) const fn is_over(&self) -> bool {
        self.taken.get() > self.shares_max
    }

    /// Returns the number of rows read, rounded up.
    pub(super) const fn rows(&self) -> u64 {
        self.taken.get().div_ceil(SHARES_PER_ROW)
    }
}
