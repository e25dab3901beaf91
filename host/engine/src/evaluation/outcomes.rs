//! The outcomes of a rule set for one transaction.

use smallvec::SmallVec;

use tollgate_model::assessment::RuleOutcome;

const WORD: usize = 64;
/// Words stored inline; more are stored on the heap, since moving many is slower.
const WORDS_INLINE: usize = 4;

/// The outcomes of a rule set. Most are plain matches or none, which take one bit each.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleOutcomes {
    n_rules: usize,
    /// Bit `n` of word `w` is the match of rule `64 w + n`; a few words need no allocation.
    matched: SmallVec<[u64; WORDS_INLINE]>,
    /// Rules that failed or matched with a statement, by index; sorted once finished.
    others: Vec<(u32, RuleOutcome)>,
}

impl RuleOutcomes {
    /// Outcomes of `n_rules` rules, none of which matched yet.
    pub(super) fn none_of(n_rules: usize) -> Self {
        let n_words = n_rules.div_ceil(WORD);
        let matched = if n_words <= WORDS_INLINE {
            SmallVec::from_buf_and_len([0; WORDS_INLINE], n_words)
        } else {
            vec![0; n_words].into()
        };
        Self { n_rules, matched, others: Vec::new() }
    }

    /// The same outcome for all of `n_rules` rules.
    pub(super) fn all(n_rules: usize, outcome: &RuleOutcome) -> Self {
        let mut outcomes = Self::none_of(n_rules);
        (0..).take(n_rules).for_each(|rule_index| outcomes.note(rule_index, outcome.clone()));
        outcomes
    }

    /// Records the outcome of the rule at an index; called at most once per rule.
    pub(super) fn note(&mut self, rule_index: u32, outcome: RuleOutcome) {
        match outcome {
            RuleOutcome::NotMatched => {}
            RuleOutcome::Matched => self.note_matches(1, &[rule_index]),
            outcome @ (RuleOutcome::MatchedSaying(_) | RuleOutcome::Failed(_)) => {
                self.others.push((rule_index, outcome))
            }
        }
    }

    /// Records plain matches: bit `n` is the match of the rule at `rule_indices[n]`.
    pub(super) fn note_matches(&mut self, mut bits: u64, rule_indices: &[u32]) {
        let words = self.matched.as_mut_slice();
        while bits != 0 {
            if let Some(&rule_index) = rule_indices.get(bits.trailing_zeros() as usize)
                && let Some(word) = words.get_mut(rule_index as usize / WORD)
            {
                *word |= 1 << (rule_index as usize % WORD);
            }
            bits &= bits - 1;
        }
    }

    /// Removes the outcomes of these rules, so that they can be recorded again.
    pub(super) fn take_back(&mut self, rule_indices: &[u32]) {
        let mut sorted = rule_indices.to_vec();
        sorted.sort_unstable();
        for &rule_index in rule_indices {
            if let Some(word) = self.matched.get_mut(rule_index as usize / WORD) {
                *word &= !(1 << (rule_index as usize % WORD));
            }
        }
        self.others.retain(|(rule_index, _)| sorted.binary_search(rule_index).is_err());
    }

    /// Completes the outcomes after all rules have run.
    pub(super) fn finish(&mut self) {
        self.others.sort_unstable_by_key(|(rule_index, _)| *rule_index);
    }

    /// Rules that matched or failed, by index in the set, in no particular order.
    pub fn noted(&self) -> impl Iterator<Item = (usize, &RuleOutcome)> {
        let words = self.matched.iter().enumerate();
        let matched = words.flat_map(|(word, &bits)| {
            let bits = std::iter::successors(Some(bits), |bits| Some(bits & bits.wrapping_sub(1)));
            bits.take_while(|&bits| bits != 0).map(move |bits| word * WORD + bits.trailing_zeros() as usize)
        });
        let others = self.others.iter().map(|(rule_index, outcome)| (*rule_index as usize, outcome));
        matched.map(|rule_index| (rule_index, &RuleOutcome::Matched)).chain(others)
    }

    /// The outcome of the rule at an index.
    #[must_use]
    pub fn outcome_of(&self, rule_index: usize) -> &RuleOutcome {
        let found = self.others.binary_search_by_key(&rule_index, |(other, _)| *other as usize);
        let of_others = found.ok().and_then(|found| self.others.get(found));
        let is_matched =
            self.matched.get(rule_index / WORD).is_some_and(|bits| bits >> (rule_index % WORD) & 1 == 1);
        match of_others {
            Some((_, outcome)) => outcome,
            None if is_matched => &RuleOutcome::Matched,
            None => &RuleOutcome::NotMatched,
        }
    }

    /// One outcome per rule, in the order of the set.
    #[must_use]
    pub fn of_each(&self) -> Vec<RuleOutcome> {
        (0..self.n_rules).map(|rule_index| self.outcome_of(rule_index).clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_model::assessment::RuleFailure;

    #[test]
    fn the_outcomes_are_exactly_those_that_were_noted() {
        const FAILED: RuleOutcome = RuleOutcome::Failed(RuleFailure::Fuel);
        let mut outcomes = RuleOutcomes::none_of(130);
        for rule_index in [0, 63, 64, 127, 129] {
            outcomes.note(rule_index, RuleOutcome::Matched);
        }
        for rule_index in [128, 5, 90] {
            outcomes.note(rule_index, FAILED);
        }
        outcomes.note(6, RuleOutcome::NotMatched);
        // An index out of range.
        outcomes.note(1_000, RuleOutcome::Matched);
        outcomes.finish();
        let mut noted: Vec<(usize, RuleOutcome)> =
            outcomes.noted().map(|(rule_index, outcome)| (rule_index, outcome.clone())).collect();
        noted.sort_by_key(|(rule_index, _)| *rule_index);
        let expected: Vec<(usize, RuleOutcome)> = [0, 5, 63, 64, 90, 127, 128, 129]
            .map(|rule_index| {
                (rule_index, if [5, 90, 128].contains(&rule_index) { FAILED } else { RuleOutcome::Matched })
            })
            .into();
        assert_eq!(noted, expected);
        let each = outcomes.of_each();
        assert_eq!(each.len(), 130);
        for (rule_index, outcome) in each.iter().enumerate() {
            let of_noted = expected.iter().find(|(noted, _)| *noted == rule_index);
            assert_eq!(
                outcome,
                of_noted.map_or(&RuleOutcome::NotMatched, |(_, outcome)| outcome),
                "{rule_index}"
            );
        }
        assert_eq!(RuleOutcomes::all(3, &FAILED).of_each(), [FAILED, FAILED, FAILED]);
    }
}
