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

use tollgate_guest_abi::{Comparison, Semantics, prices};
use tollgate_model::calendar::UnknownZone;
use tollgate_model::pattern::{CompiledPattern, PatternError};

use crate::lookup_budget::LookupBudget;
use crate::row::Row;

pub(super) use bind::Binder;
pub(super) use context::{ContextDemand, FilterContext, NOTHING};

use membership::ResolvedList;
use operand::{ComparedBy, OperandValue, ResolvedOperand, compare};

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

    /// Returns the price of testing one row, in fuel. The bytes of texts are paid for as they are read.
    pub(super) fn price(&self) -> u64 {
        self.tests.iter().map(FilterTest::price).sum()
    }

    /// Returns the cost of testing one row before there were prices, relative to reading one amount.
    pub(super) fn weight(&self) -> u64 {
        self.tests.iter().map(FilterTest::weight).sum::<u64>().max(1)
    }

    /// Returns whether a row is selected. A query passes its budget, which pays for the texts that are read; `false`
    /// may then mean that it does not suffice.
    pub(super) fn holds(
        &self,
        row: Row<'_>,
        scene: &FilterContext<'_>,
        budget: Option<&LookupBudget<'_>>,
    ) -> bool {
        let testing = Testing { row, scene, semantics: self.semantics, budget };
        self.tests.iter().all(|test| test.holds(testing))
    }
}

/// Cost of searching a text of a row with a small pattern, before there were prices.
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

    fn price(&self) -> u64 {
        match self {
            FilterTest::All(tests) | FilterTest::Any(tests) => {
                prices::ROW_TEST + tests.iter().map(FilterTest::price).sum::<u64>()
            }
            FilterTest::Not(test) => test.price(),
            FilterTest::Compare { left, right, .. } => prices::ROW_TEST + left.price() + right.price(),
            FilterTest::In { value, list, .. } => (2 + list.weight()) * prices::ROW_TEST + value.price(),
            FilterTest::Matches { value, .. } => prices::SEARCH + value.price(),
        }
    }

    fn holds(&self, testing: Testing<'_>) -> bool {
        let scene = testing.scene;
        match self {
            FilterTest::All(tests) => tests.iter().all(|test| test.holds(testing)),
            FilterTest::Any(tests) => tests.iter().any(|test| test.holds(testing)),
            FilterTest::Not(test) => !test.holds(testing),
            FilterTest::Compare { left, operator, right } => {
                let (left, right) = (testing.read(left), testing.read(right));
                compare(left, *operator, right, testing.by())
            }
            FilterTest::In { value, list, negated } => {
                let value = testing.read(value);
                if let Some(budget) = testing.budget {
                    list.pay(scene, budget);
                }
                list.contains(value, scene, testing.by()).is_some_and(|found| found != *negated)
            }
            FilterTest::Matches { value, pattern, negated } => {
                let value = testing.read(value);
                testing.pays_for(pattern, &value)
                    && value.search(pattern).is_some_and(|found| found != *negated)
            }
        }
    }
}

/// Inputs of the test of one row, and who pays for it.
#[derive(Clone, Copy)]
struct Testing<'t> {
    row: Row<'t>,
    scene: &'t FilterContext<'t>,
    semantics: Semantics,
    budget: Option<&'t LookupBudget<'t>>,
}

impl<'t> Testing<'t> {
    #[inline]
    fn read(&self, operand: &'t ResolvedOperand) -> OperandValue<'t> {
        operand.read(self.row, self.scene, self.by(), self.budget)
    }

    /// Returns how values are compared.
    #[inline]
    fn by(&self) -> ComparedBy<'t> {
        let transaction = self.row.fresh().or_else(|| self.scene.transaction());
        ComparedBy { semantics: self.semantics, transaction }
    }

    fn pays_for(&self, pattern: &CompiledPattern, value: &OperandValue<'_>) -> bool {
        self.budget.is_none_or(|budget| budget.spend(value.price_of_search(pattern)))
    }
}

#[cfg(test)]
mod tests;
