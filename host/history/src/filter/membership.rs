//! Lists on the right of `in`.

use tollgate_guest_abi::Comparison;
use tollgate_model::value_set::ValueSet;

use crate::filter::FilterContext;
use crate::filter::operand::{ComparedBy, OperandValue, compare};
use crate::lookup_budget::LookupBudget;

/// A list with its names resolved to slots of the filter context.
#[derive(Debug)]
pub(super) enum ResolvedList {
    /// Literals and values of the current transaction, as written in the script.
    Items { literals: Box<ValueSet>, currents: Vec<usize> },
    /// The elements of an array of the current transaction, or a single value of it.
    Current(usize),
    /// A named list.
    Named(usize),
}

impl ResolvedList {
    /// Returns the number of values compared one by one.
    pub(super) fn weight(&self) -> u64 {
        match self {
            ResolvedList::Items { currents, .. } => currents.len() as u64,
            ResolvedList::Current(_) | ResolvedList::Named(_) => 0,
        }
    }

    /// Pays for the texts of the current transaction that a value is compared with one by one.
    pub(super) fn pay(&self, scene: &FilterContext<'_>, budget: &LookupBudget<'_>) {
        if let ResolvedList::Items { currents, .. } = self {
            for slot in currents {
                budget.spend_on_text(scene.current(*slot).as_text().map_or(0, str::len));
            }
        }
    }

    /// Returns whether an element equals the value; `None` when the value or the list is missing.
    pub(super) fn contains(
        &self,
        value: OperandValue<'_>,
        scene: &FilterContext<'_>,
        by: ComparedBy<'_>,
    ) -> Option<bool> {
        if value.is_missing() {
            return None;
        }
        match self {
            ResolvedList::Items { literals, currents } => {
                let equals = |slot: &usize| {
                    let current = OperandValue::Value(scene.current(*slot));
                    compare(value, Comparison::Equal, current, by)
                };
                Some(value.is_in(literals, by) || currents.iter().any(equals))
            }
            ResolvedList::Current(slot) => Some(value.is_in(scene.array(*slot)?, by)),
            ResolvedList::Named(slot) => {
                let list = scene.list(*slot)?;
                Some(match value {
                    OperandValue::Value(value) => match by.transaction {
                        Some(transaction) => list.contains_in(transaction, value, by.semantics),
                        None => list.contains(value, by.semantics),
                    },
                    OperandValue::Number(number) => list.contains_number(number),
                })
            }
        }
    }
}
