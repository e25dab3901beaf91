//! Texts that rules compare with, numbered.

use ahash::RandomState;
use hashbrown::HashTable;

use tollgate_model::transaction::is_same_text;

/// Texts of rules, numbered from 0. Every text field of a transaction is looked up here.
#[derive(Debug)]
pub struct Symbols {
    table: HashTable<(Box<str>, u32)>,
    /// Randomly keyed, so that collisions cannot be crafted.
    hasher: RandomState,
}

impl Default for Symbols {
    fn default() -> Self {
        Self { table: HashTable::new(), hasher: RandomState::new() }
    }
}

impl Symbols {
    /// Returns the symbol of a text; `None` when no rule compares with it.
    #[must_use]
    #[inline]
    pub fn get(&self, text: &str) -> Option<u32> {
        let found = self.table.find(self.hasher.hash_one(text), |(known, _)| is_same_text(known, text));
        found.map(|(_, number)| *number)
    }

    /// The number of texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are no texts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Returns the symbol of a text; a new text gets the next one.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        self.get(text).unwrap_or_else(|| {
            // The number of texts stays far below `u32::MAX`, since rules and their needs are limited.
            let next = u32::try_from(self.len()).unwrap_or(u32::MAX);
            let hash = |text: &str| self.hasher.hash_one(text);
            self.table.insert_unique(hash(text), (text.into(), next), |(known, _)| hash(known));
            next
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number_and_no_other_text_has_it() {
        let mut symbols = Symbols::default();
        let texts: Vec<String> = (0..200).map(|n| format!("{n}{}", "x".repeat(n % 40))).collect();
        for _ in 0..2 {
            for (text, expected) in texts.iter().zip(0..) {
                assert_eq!(symbols.number(text), expected, "{text}");
            }
        }
        assert_eq!(symbols.len(), texts.len());
        for (text, expected) in texts.iter().zip(0..) {
            assert_eq!(symbols.get(text), Some(expected));
            assert_eq!(symbols.get(&format!("{text}y")), None);
        }
    }
}
