//! A module with its slots resolved to the tables of a rule set.

use std::sync::Arc;

use crate::registry::Bound;

/// What a module's slots stand for among all that a rule set asks about.
#[derive(Debug)]
pub struct Asker {
    /// The module.
    pub bound: Arc<Bound>,
    /// Field slot to [`RuleSet::fields`](crate::registry::RuleSet::fields).
    pub fields: Vec<u32>,
    /// Texts the module compares with.
    pub texts: Texts,
    /// Pattern slot to a number among the set's patterns.
    pub patterns: Vec<u32>,
    /// List slot to a number among the set's lists.
    pub lists: Vec<u32>,
    /// Aggregate slot to [`RuleSet::aggregates`](crate::registry::RuleSet::aggregates).
    pub aggregates: Vec<u32>,
    /// Previous-transaction slot to [`RuleSet::previous`](crate::registry::RuleSet::previous).
    pub previous: Vec<u32>,
    /// Time slot to [`RuleSet::times`](crate::registry::RuleSet::times).
    pub times: Vec<u32>,
}

/// From numbers of [`RuleSet::symbols`](crate::registry::RuleSet::symbols) to text slots.
#[derive(Debug)]
pub enum Texts {
    /// The number behind each slot, to be looked through.
    Few(Vec<u32>),
    /// The slot of each number, -1 when the module has none for it.
    Many(Box<[i32]>),
}

impl Texts {
    /// Up to so many are looked through as quickly as found in a table.
    const FEW_MAX: usize = 8;

    /// Texts with these numbers in a set of so many.
    pub(super) fn of(symbols: Vec<u32>, n_symbols: usize) -> Self {
        if symbols.len() <= Self::FEW_MAX {
            return Texts::Few(symbols);
        }
        let mut slots = vec![-1; n_symbols].into_boxed_slice();
        for (slot, symbol) in (0..).zip(symbols) {
            if let Some(place) = slots.get_mut(symbol as usize) {
                *place = slot;
            }
        }
        Texts::Many(slots)
    }

    /// The slot of a text, -1 when the module does not compare with it.
    #[must_use]
    pub fn slot_of(&self, symbol: u32) -> i32 {
        match self {
            Texts::Few(symbols) => {
                let place = symbols.iter().position(|&known| known == symbol);
                place.and_then(|place| i32::try_from(place).ok()).unwrap_or(-1)
            }
            Texts::Many(slots) => slots.get(symbol as usize).copied().unwrap_or(-1),
        }
    }
}
