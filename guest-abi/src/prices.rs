//! Prices of the host's work for a rule, in units of fuel, since [`Semantics::V4`](crate::Semantics::V4).
//!
//! One unit is at most two nanoseconds on the reference machine; the benchmark `prices` measures every price, and fails
//! when one is too low. A price depends on the transaction, the rule and the transactions that a lookup reads. It does
//! not depend on the machine, on caches, on other rules or on where the history is kept. Each price is charged before
//! the work is done. The prices of calls are in the [import table](crate::imports::IMPORTS).

/// Each byte of a text that a pattern is searched in, if the automaton of the pattern is small.
pub const SEARCHED_BYTE: u64 = 2;
/// Each byte of a text that a pattern is searched in, for each KiB of the compiled pattern, if its automaton is large.
/// Applies also to a pattern with a word boundary, if the text is not ASCII.
pub const SEARCHED_BYTE_PER_KIB: u64 = 60;
/// Each search of a pattern, besides the bytes.
pub const SEARCH: u64 = 300;
/// Each lookup that reads single transactions.
pub const ROWS: u64 = 4_000;
/// Each past transaction that a lookup reads.
pub const ROW: u64 = 30;
/// Each field of a past transaction that a filter reads, except the amount, and each that `distinct` counts.
pub const ROW_FIELD: u64 = 40;
/// Each comparison, membership test and operation of a filter, for each past transaction.
pub const ROW_TEST: u64 = 25;
/// Each part of a date-time that a filter reads, for each past transaction.
pub const ROW_TIME: u64 = 120;
/// Each byte of a text of a past transaction beyond this many.
pub const ROW_TEXT_BYTES: usize = 64;
/// Each different value that `distinct` counts, besides its bytes.
pub const DISTINCT_VALUE: u64 = 250;
/// Each element of an array of the transaction that a lookup searches.
pub const ELEMENT: u64 = 60;
/// Each key of the history that equals the one sought, after the first few: numbers, and texts that are numbers.
pub const EQUAL_KEY: u64 = 300;
/// Each run of a module with a memory, a table or a mutable global, which has an instance of its own. Since
/// [`Semantics::V5`](crate::Semantics::V5).
pub const INSTANCE: u64 = 4_000;
/// Each page of 64 KiB of the memory of such an instance, which is cleared for the next run. Since
/// [`Semantics::V5`](crate::Semantics::V5).
pub const MEMORY_PAGE: u64 = 1_000;

/// Returns the price of an instance whose memory has so many pages of 64 KiB.
#[must_use]
pub const fn instance(n_pages: u64) -> u64 {
    INSTANCE.saturating_add(n_pages.saturating_mul(MEMORY_PAGE))
}
