//! A value that the tests of a rule may be unable to compare.

use tollgate_model::transaction::FieldAccess;

use crate::registry::RuleSet;

/// The location of a value that some test cannot compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SuspectValue {
    /// A field of the set.
    Field(u32),
    /// The field of a time part of the set.
    Time(u32),
}

impl SuspectValue {
    pub(super) fn field(self, rule_set: &RuleSet) -> Option<&FieldAccess> {
        match self {
            Self::Field(number) => rule_set.fields.get(number as usize),
            Self::Time(number) => rule_set.times.get(number as usize).map(|question| &question.field),
        }
    }
}
