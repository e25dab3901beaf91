//! The filter that selects past transactions, bound to native code.
//!
//! ```text
//!  Condition ──bind, once──▶ Filter ──holds(row, context), per row──▶ yes or no
//!                              ▲ slots
//!  current transaction ──FilterContext, once per query
//! ```
//!
//! Binding compiles patterns, resolves zones, hashes lists, and assigns slots to values of the current transaction.
//! Those values are read once per query, not once per row. The semantics are those of rules (section "Values and
//! comparison" of the language), with one addition. When the current transaction lacks a value that the filter names,
//! the filter matches nothing.

mod bind;
mod context;
mod membership;
mod operand;

use tollgate_guest_abi::{Comparison, Semantics};
use tollgate_model::calendar::UnknownZone;
use tollgate_model::pattern::{CompiledPattern, PatternError};

use crate::row::Row;

pub(super) use bind::Binder;
pub(super) use context::{ContextDemand, FilterContext, NOTHING};

use membership::ResolvedList;
use operand::{ResolvedOperand, compare};

/// The reason a condition is not a valid filter.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FilterError {
    /// A pattern is invalid.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A time zone is unknown.
    #[error(transparent)]
    Zone(#[from] UnknownZone),
    /// The condition queries the history; a filter may only test single transactions.
    #[error("a filter cannot hold an aggregate or a previous transaction")]
    Nested,
}

/// Tests that must all hold for a selected row.
#[derive(Debug)]
pub(super) struct Filter {
    tests: Vec<FilterTest>,
    semantics: Semantics,
}

#[derive(Debug)]
enum FilterTest {
    All(Vec<FilterTest>),
    Any(Vec<FilterTest>),
    Not(Box<FilterTest>),
    Compare { left: ResolvedOperand, operator: Comparison, right: ResolvedOperand },
    In { value: ResolvedOperand, list: ResolvedList, negated: bool },
    Matches { value: ResolvedOperand, pattern: CompiledPattern, negated: bool },
}

impl Filter {
    /// Returns whether the filter selects every row.
    pub(super) const fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// Returns the cost of testing one row, relative to reading one amount.
    pub(super) fn weight(&self) -> u64 {
        self.tests.iter().map(FilterTest::weight).sum::<u64>().max(1)
    }

    pub(super) fn holds(&self, row: Row<'_>, scene: &FilterContext<'_>) -> bool {
        self.tests.iter().all(|test| test.holds(row, scene, self.semantics))
    }
}

/// Cost of searching a text of a row with a small pattern.
const SEARCH_WEIGHT: u64 = 256;

impl FilterTest {
    fn weight(&self) -> u64 {
        match self {
            FilterTest::All(tests) | FilterTest::Any(tests) => {
                1 + tests.iter().map(FilterTest::weight).sum::<u64>()
            }
            FilterTest::Not(test) => 1 + test.weight(),
            FilterTest::Compare { left, right, .. } => left.weight() + right.weight(),
            FilterTest::In { value, list, .. } => 2 + value.weight() + list.weight(),
            FilterTest::Matches { value, pattern, .. } => {
                value.weight() + SEARCH_WEIGHT * pattern.weight() as u64
            }
        }
    }

    fn holds(&self, row: Row<'_>, scene: &FilterContext<'_>, semantics: Semantics) -> bool {
        match self {
            FilterTest::All(tests) => tests.iter().all(|test| test.holds(row, scene, semantics)),
            FilterTest::Any(tests) => tests.iter().any(|test| test.holds(row, scene, semantics)),
            FilterTest::Not(test) => !test.holds(row, scene, semantics),
            FilterTest::Compare { left, operator, right } => {
                let (left, right) = (left.read(row, scene, semantics), right.read(row, scene, semantics));
                compare(left, *operator, right, semantics)
            }
            FilterTest::In { value, list, negated } => {
                let value = value.read(row, scene, semantics);
                list.contains(value, scene, semantics).is_some_and(|found| found != *negated)
            }
            FilterTest::Matches { value, pattern, negated } => {
                value.read(row, scene, semantics).search(pattern).is_some_and(|found| found != *negated)
            }
        }
    }
}

#[cfg(test)]
mod tests;
