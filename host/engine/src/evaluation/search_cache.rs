//! The last result of each search, since many rules repeat the same searches.

use tollgate_guest_abi::imports::test;
use tollgate_model::assessment::RuleFailure;

#[derive(Debug)]
pub(super) struct SearchCache {
    pub(super) patterns: LastSearch,
    pub(super) lists: LastSearch,
}

/// The last searched field and its result, for each pattern or each list of a set.
#[derive(Debug)]
pub(super) struct LastSearch {
    found: Vec<SearchResult>,
    /// Number of transactions started, to tell results of earlier transactions apart.
    n_begun: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct SearchResult {
    /// The transaction, as counted by `n_begun`; 0 for none.
    begun: u64,
    field: u32,
    answer: i32,
}

impl SearchCache {
    /// Creates an empty cache for this number of patterns and lists.
    pub(super) fn new(n_patterns: usize, n_lists: usize) -> Self {
        Self { patterns: LastSearch::new(n_patterns), lists: LastSearch::new(n_lists) }
    }

    /// Invalidates all results for the next transaction.
    pub(super) fn begin(&mut self) {
        self.patterns.n_begun += 1;
        self.lists.n_begun += 1;
    }
}

impl LastSearch {
    fn new(n: usize) -> Self {
        Self { found: vec![SearchResult::default(); n], n_begun: 0 }
    }

    #[inline]
    pub(super) fn answer(&self, number: usize, field: u32) -> Option<i32> {
        let found = self.found.get(number)?;
        (found.begun == self.n_begun && found.field == field).then_some(found.answer)
    }

    #[inline]
    pub(super) fn note(&mut self, number: usize, field: u32, answer: i32) -> Result<i32, RuleFailure> {
        let found = self.found.get_mut(number).ok_or(RuleFailure::Internal)?;
        *found = SearchResult { begun: self.n_begun, field, answer };
        Ok(answer)
    }
}

/// Encodes a result; `None` means that the value or the list is missing.
pub(super) const fn answer(holds: Option<bool>) -> i32 {
    match holds {
        None => test::MISSING,
        Some(false) => test::NO,
        Some(true) => test::YES,
    }
}
