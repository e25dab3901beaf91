//! Slots of a module, resolved to the tables of a rule set.

use std::sync::Arc;

use crate::registry::BoundModule;

/// Index in the tables of a rule set for each slot of a module.
#[derive(Debug)]
pub struct SlotBindings {
    /// The module.
    pub bound: Arc<BoundModule>,
    /// Field slot to [`RuleSet::fields`](crate::registry::RuleSet::fields).
    pub fields: Vec<u32>,
    /// Texts the module compares with.
    pub texts: SymbolTexts,
    /// Pattern slot to an index among the patterns of the set.
    pub patterns: Vec<u32>,
    /// List slot to an index among the lists of the set.
    pub lists: Vec<u32>,
    /// Aggregate slot to [`RuleSet::aggregates`](crate::registry::RuleSet::aggregates).
    pub aggregates: Vec<u32>,
    /// Previous-transaction slot to [`RuleSet::previous`](crate::registry::RuleSet::previous).
    pub previous: Vec<u32>,
    /// Time slot to [`RuleSet::times`](crate::registry::RuleSet::times).
    pub times: Vec<u32>,
}

/// Maps [`RuleSet::symbols`](crate::registry::RuleSet::symbols) to text slots; a text with several slots maps to the
/// first.
#[derive(Debug)]
pub enum SymbolTexts {
    /// Symbols with their slots, sorted by symbol.
    Sorted(Box<[(u32, i32)]>),
    /// The slot of each symbol; -1 without one.
    Table(Box<[i32]>),
}

impl SymbolTexts {
    /// Table entries allowed per text of the module: a table is fast but mostly empty.
    const ENTRIES_PER_TEXT_MAX: usize = 16;

    /// Maps these symbols, in a set with `n_symbols` symbols.
    pub(super) fn new(symbols: &[u32], n_symbols: usize) -> Self {
        if n_symbols > symbols.len() * Self::ENTRIES_PER_TEXT_MAX {
            let mut sorted: Vec<(u32, i32)> = symbols.iter().copied().zip(0..).collect();
            sorted.sort_unstable();
            sorted.dedup_by_key(|(symbol, _)| *symbol);
            return SymbolTexts::Sorted(sorted.into());
        }
        let mut table = vec![-1; n_symbols].into_boxed_slice();
        for (slot, &symbol) in (0..).zip(symbols) {
            if let Some(entry) = table.get_mut(symbol as usize).filter(|entry| **entry < 0) {
                *entry = slot;
            }
        }
        SymbolTexts::Table(table)
    }

    /// Returns the slot of a text; -1 if the module does not compare with it.
    #[must_use]
    pub fn slot_of(&self, symbol: u32) -> i32 {
        let found = match self {
            SymbolTexts::Sorted(sorted) => {
                let index = sorted.binary_search_by_key(&symbol, |(known, _)| *known).ok();
                index.and_then(|index| sorted.get(index)).map(|(_, slot)| *slot)
            }
            SymbolTexts::Table(table) => table.get(symbol as usize).copied(),
        };
        found.unwrap_or(-1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(symbols: &[u32], n_symbols: usize) {
        let texts = SymbolTexts::new(symbols, n_symbols);
        for symbol in 0..u32::try_from(n_symbols).unwrap() + 2 {
            let first = symbols.iter().position(|&known| known == symbol);
            let expected = first.map_or(-1, |slot| i32::try_from(slot).unwrap());
            assert_eq!(texts.slot_of(symbol), expected, "{symbol} in {texts:?}");
        }
    }

    #[test]
    fn a_text_is_found_at_its_first_slot_and_nothing_else_is() {
        check(&[], 0);
        check(&[], 50);
        check(&[3], 4);
        check(&[7, 3, 9, 3], 12);
        check(&[7, 3, 9, 3], 1_000);
    }
}
