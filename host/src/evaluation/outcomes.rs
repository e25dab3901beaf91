//! What the rules of a set said of one transaction.

use crate::assessment::Outcome;

/// What the rules of a set said. Most of a thousand did not match: only the others are written down.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcomes {
    n_rules: usize,
    /// By place in the set.
    told: Vec<(u32, Outcome)>,
}

impl Outcomes {
    /// Of so many rules, none of which matched yet.
    pub(super) const fn none_of(n_rules: usize) -> Self {
        Self { n_rules, told: Vec::new() }
    }

    /// Of so many rules, all of which failed.
    pub(super) fn all(n_rules: usize, outcome: &Outcome) -> Self {
        let told = (0..).take(n_rules).map(|place| (place, outcome.clone())).collect();
        Self { n_rules, told }
    }

    /// Notes what the rule at a place said.
    pub(super) fn note(&mut self, place: u32, outcome: Outcome) {
        if outcome != Outcome::NotMatched {
            self.told.push((place, outcome));
        }
    }

    /// In the order of the set, after everybody was asked.
    pub(super) fn in_order(mut self) -> Self {
        self.told.sort_unstable_by_key(|(place, _)| *place);
        self
    }

    /// The rules that matched, or failed, by place in the set.
    pub fn told(&self) -> impl Iterator<Item = (usize, &Outcome)> {
        self.told.iter().map(|(place, outcome)| (*place as usize, outcome))
    }

    /// What the rule at a place said.
    #[must_use]
    pub fn of(&self, place: usize) -> &Outcome {
        let found = self.told.binary_search_by_key(&place, |(place, _)| *place as usize);
        found.ok().and_then(|found| self.told.get(found)).map_or(&Outcome::NotMatched, |(_, outcome)| outcome)
    }

    /// One outcome per rule, in the order of the set.
    #[must_use]
    pub fn of_each(&self) -> Vec<Outcome> {
        (0..self.n_rules).map(|place| self.of(place).clone()).collect()
    }
}
