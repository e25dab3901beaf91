//! Where `in` looks.

use tollgate_guest_abi::{Comparison, Semantics};
use tollgate_model::value_set::ValueSet;

use crate::filter::Scene;
use crate::filter::operand::{Reading, compare};

/// A list with its names resolved. Slots are those of the scene.
#[derive(Debug)]
pub(super) enum List {
    /// Written in the script: literals, and values of the transaction under evaluation.
    Items { literals: Box<ValueSet>, currents: Vec<usize> },
    /// The elements of an array of the transaction under evaluation, or a single value of it.
    Current(usize),
    /// A named list.
    Named(usize),
}

impl List {
    /// How many values it compares with, one after the other.
    pub(super) fn weight(&self) -> u64 {
        match self {
            List::Items { currents, .. } => currents.len() as u64,
            List::Current(_) | List::Named(_) => 0,
        }
    }

    /// Whether some element equals the value; `None` when the value or the list is missing.
    pub(super) fn contains(
        &self,
        value: Reading<'_>,
        scene: &Scene<'_>,
        semantics: Semantics,
    ) -> Option<bool> {
        if value.is_missing() {
            return None;
        }
        match self {
            List::Items { literals, currents } => {
                let equals = |slot: &usize| {
                    let current = Reading::Value(scene.current(*slot));
                    compare(value, Comparison::Equal, current, semantics)
                };
                Some(value.is_in(literals, semantics) || currents.iter().any(equals))
            }
            List::Current(slot) => Some(value.is_in(scene.array(*slot)?, semantics)),
            List::Named(slot) => {
                let list = scene.list(*slot)?;
                Some(match value {
                    Reading::Value(value) => list.contains(value, semantics),
                    Reading::Number(number) => list.contains_number(number),
                })
            }
        }
    }
}
