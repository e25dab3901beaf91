//! The budget of a lookup that reads single transactions.
//!
//! Most queries are answered from precomputed sums, however many transactions their windows contain. A filter that
//! compares transactions with the current one, or a value without precomputed sums, needs single rows. The author of a
//! rule does not control how many there are. The budget counts the rows in range and what is done with each, whether in
//! memory or in the spill file, so equal queries have equal cost.

use std::cell::Cell;
use std::time::{Duration, Instant};

use tollgate_guest_abi::{Semantics, prices};

/// Budget shares of one unit of fuel. Before there were prices, a `distinct` that reads each value of a chunk once took
/// a single share per row.
pub(super) const SHARES_PER_UNIT: u64 = 8;
/// Chunks allowed beyond the row limit, because a chunk at an edge of the window may have no visible row.
const CHUNKS_TO_SPARE: u64 = 64;
/// Time for all lookups of one transaction. Prices bound the work; this bounds what they do not measure, such as reads
/// of the spill file.
const TIME_MAX: Duration = Duration::from_millis(250);

/// An answer and its cost in fuel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostedAnswer<T> {
    /// The answer.
    pub value: T,
    /// Cost of the single transactions that were read; 0 when precomputed sums sufficed.
    pub fuel: u64,
}

/// The end of the time for the lookups of one transaction. It is set when the first of them reads a transaction.
#[derive(Debug)]
pub struct LookupDeadline {
    end: Cell<Option<Instant>>,
    time_max: Duration,
}

impl Default for LookupDeadline {
    fn default() -> Self {
        Self { end: Cell::new(None), time_max: TIME_MAX }
    }
}

/// The limits of one lookup.
#[derive(Debug, Clone, Copy)]
pub struct LookupLimits<'d> {
    /// The most that reading single transactions may cost, in fuel.
    pub fuel_max: u64,
    /// The semantics of the rule set, which determine the prices.
    pub semantics: Semantics,
    /// The end of the time.
    pub deadline: &'d LookupDeadline,
}

/// Prices of the rows of one query, in shares.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowPrices {
    pub(super) before_v4: u64,
    pub(super) since_v4: u64,
}

#[derive(Debug)]
pub(super) struct LookupBudget<'d> {
    shares_max: u64,
    shares_per_row: u64,
    /// Whether everything has a price; before, only rows had.
    has_prices: bool,
    /// Taken before the query reads the history.
    at_start: Cell<u64>,
    taken: Cell<u64>,
    deadline: &'d LookupDeadline,
}

impl LookupDeadline {
    /// Returns a deadline that never passes, for lookups for which no transaction waits.
    #[must_use]
    pub const fn never() -> Self {
        Self { end: Cell::new(None), time_max: Duration::MAX }
    }

    /// Resets the time, for the next transaction.
    pub fn reset(&self) {
        self.end.set(None);
    }

    fn is_past(&self) -> bool {
        let now = Instant::now();
        match self.end.get() {
            Some(end) => now > end,
            None => {
                self.end.set(now.checked_add(self.time_max));
                false
            }
        }
    }
}

impl<'d> LookupLimits<'d> {
    /// Returns limits that no lookup reaches, except the deadline.
    #[must_use]
    pub const fn none(deadline: &'d LookupDeadline) -> Self {
        Self { fuel_max: u64::MAX, semantics: Semantics::CURRENT, deadline }
    }
}

impl<'d> LookupBudget<'d> {
    pub(super) const fn new(limits: LookupLimits<'d>, prices: RowPrices) -> Self {
        let LookupLimits { fuel_max, semantics, deadline } = limits;
        let has_prices = semantics.has_prices();
        Self {
            shares_max: fuel_max.saturating_mul(SHARES_PER_UNIT),
            shares_per_row: if has_prices { prices.since_v4 } else { prices.before_v4 },
            has_prices,
            at_start: Cell::new(0),
            taken: Cell::new(0),
            deadline,
        }
    }

    /// Resets the budget before the query starts over.
    pub(super) fn begin(&self) {
        self.taken.set(self.at_start.get());
    }

    pub(super) const fn has_prices(&self) -> bool {
        self.has_prices
    }

    /// Takes the price of reading the current transaction, in fuel.
    pub(super) fn charge_at_start(&self, fuel: u64) {
        self.at_start.set(fuel.saturating_mul(SHARES_PER_UNIT));
        self.begin();
    }

    /// As [`LookupBudget::begin`], for a query that reads single rows.
    pub(super) fn begin_rows(&self) {
        self.begin();
        self.spend(prices::ROWS);
    }

    /// Takes rows from the budget and returns whether it suffices.
    #[inline]
    pub(super) fn take(&self, n_rows: u64) -> bool {
        self.take_shares(n_rows.saturating_mul(self.shares_per_row))
    }

    /// Takes a price from the budget, in fuel, and returns whether it suffices. Before there were prices, nothing but
    /// rows was paid for.
    #[inline]
    pub(super) fn spend(&self, fuel: u64) -> bool {
        self.take_shares(if self.has_prices { fuel.saturating_mul(SHARES_PER_UNIT) } else { 0 })
    }

    /// Takes the price of the bytes of a text of a row, beyond those that the price of the row covers.
    #[inline]
    pub(super) fn spend_on_text(&self, n_bytes: usize) -> bool {
        match n_bytes.checked_sub(prices::ROW_TEXT_BYTES) {
            None | Some(0) => !self.is_over(),
            Some(more) => self.spend(more as u64),
        }
    }

    #[inline]
    fn take_shares(&self, n_shares: u64) -> bool {
        let taken = self.taken.get().saturating_add(n_shares);
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

    /// Returns whether the time has passed in which the lookups of the transaction must end.
    pub(super) fn is_late(&self) -> bool {
        self.deadline.is_past()
    }

    /// Returns what was taken so far, to be [restored](Self::restore).
    pub(super) const fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Forgets what was taken since then.
    pub(super) fn restore(&self, taken: u64) {
        self.taken.set(taken);
    }

    /// Returns the cost in fuel, rounded up.
    pub(super) const fn fuel(&self) -> u64 {
        self.taken.get().div_ceil(SHARES_PER_UNIT)
    }
}
