//! The condition that selects past transactions, bound to native code.
//!
//! ```text
//!  Condition ──bind, once──▶ Filter ──holds(row, scene), per row──▶ yes or no
//!                              ▲ slots
//!  transaction under evaluation ──Scene, once per question
//! ```
//!
//! Binding compiles patterns, looks zones up, hashes lists, and numbers everything that comes from the transaction under
//! evaluation, so that it is read once per question and not once per row. The semantics are those of rules (section
//! "Values and comparison" of the language), with one addition: a value of the transaction under evaluation that a
//! filter names and that is missing makes the whole filter match nothing.

mod bind;
mod membership;
mod operand;
mod scene;

use tollgate_guest_abi::{Comparison, Semantics};
use tollgate_model::calendar::UnknownZone;
use tollgate_model::pattern::{Pattern, PatternError};

use crate::row::Row;

pub(super) use bind::Binder;
pub(super) use scene::{Demand, NOTHING, Scene};

use membership::List;
use operand::{Operand, compare};

/// Why a condition is no filter.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FilterError {
    /// A pattern was refused.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A time zone is unknown.
    #[error(transparent)]
    Zone(#[from] UnknownZone),
    /// A filter looks at single transactions; it cannot ask the history itself.
    #[error("a filter cannot hold an aggregate or a previous transaction")]
    Nested,
}

/// Tests that all hold of the rows it selects.
#[derive(Debug)]
pub(super) struct Filter {
    tests: Vec<Test>,
    semantics: Semantics,
}

#[derive(Debug)]
enum Test {
    All(Vec<Test>),
    Any(Vec<Test>),
    Not(Box<Test>),
    Compare { left: Operand, operator: Comparison, right: Operand },
    In { value: Operand, list: List, negated: bool },
    Matches { value: Operand, pattern: Pattern, negated: bool },
}

impl Filter {
    /// Whether it selects every row.
    pub(super) const fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// How many times as dear as a look at an amount it is to test a row.
    pub(super) fn weight(&self) -> u64 {
        self.tests.iter().map(Test::weight).sum::<u64>().max(1)
    }

    /// Whether it selects this row, in this scene.
    pub(super) fn holds(&self, row: Row<'_>, scene: &Scene<'_>) -> bool {
        self.tests.iter().all(|test| test.holds(row, scene, self.semantics))
    }
}

/// What a search in a text of a row counts as, with a small pattern.
const SEARCH_WEIGHT: u64 = 256;

impl Test {
    fn weight(&self) -> u64 {
        match self {
            Test::All(tests) | Test::Any(tests) => 1 + tests.iter().map(Test::weight).sum::<u64>(),
            Test::Not(test) => 1 + test.weight(),
            Test::Compare { left, right, .. } => left.weight() + right.weight(),
            Test::In { value, list, .. } => 2 + value.weight() + list.weight(),
            Test::Matches { value, pattern, .. } => value.weight() + SEARCH_WEIGHT * pattern.weight() as u64,
        }
    }

    fn holds(&self, row: Row<'_>, scene: &Scene<'_>, semantics: Semantics) -> bool {
        match self {
            Test::All(tests) => tests.iter().all(|test| test.holds(row, scene, semantics)),
            Test::Any(tests) => tests.iter().any(|test| test.holds(row, scene, semantics)),
            Test::Not(test) => !test.holds(row, scene, semantics),
            Test::Compare { left, operator, right } => {
                let (left, right) = (left.read(row, scene, semantics), right.read(row, scene, semantics));
                compare(left, *operator, right, semantics)
            }
            Test::In { value, list, negated } => {
                let value = value.read(row, scene, semantics);
                list.contains(value, scene, semantics).is_some_and(|found| found != *negated)
            }
            Test::Matches { value, pattern, negated } => {
                value.read(row, scene, semantics).search(pattern).is_some_and(|found| found != *negated)
            }
        }
    }
}

#[cfg(test)]
mod tests;
