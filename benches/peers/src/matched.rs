//! A set of matching rules.

/// A bit set of rules by index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Matched {
    words: Vec<u64>,
}

impl Matched {
    /// Returns the empty set over this many rules.
    pub(crate) fn none_of(n_rules: usize) -> Self {
        Self { words: vec![0; n_rules.div_ceil(64)] }
    }

    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Adds the rule at this index if it matched.
    pub(crate) fn note(&mut self, rule_index: usize, is_match: bool) {
        if let Some(word) = self.words.get_mut(rule_index / 64) {
            *word |= u64::from(is_match) << (rule_index % 64);
        }
    }

    /// Returns the words of the set: bit `n` of word `w` is rule `64 w + n`.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    pub(crate) fn contains(&self, rule_index: usize) -> bool {
        self.words.get(rule_index / 64).is_some_and(|word| word >> (rule_index % 64) & 1 == 1)
    }

    /// Returns the first rule that only one of the two sets contains.
    pub(crate) fn first_difference(&self, other: &Self) -> Option<usize> {
        (0..64 * self.words.len()).find(|&rule_index| self.contains(rule_index) != other.contains(rule_index))
    }
}
