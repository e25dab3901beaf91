//! Generates whole scripts.

use super::dice::Dice;
use super::spelling::{gap, keyword};

/// Maximum number of history lookups per rule: enough to share, below the limit of the language.
const LOOKUPS_MAX: usize = 6;

/// Generates one script.
pub(super) struct Author<'d> {
    pub(super) dice: &'d mut Dice,
    /// Number of history lookups still allowed.
    pub(super) lookups_left: usize,
    /// Whether a filter is being generated. Filters read past transactions and contain no lookups.
    pub(super) in_filter: bool,
}

impl<'d> Author<'d> {
    pub(super) fn new(dice: &'d mut Dice) -> Self {
        Self { dice, lookups_left: LOOKUPS_MAX, in_filter: false }
    }

    /// Generates the script of a rule with a number in its name.
    pub(super) fn script(mut self, n: usize) -> String {
        let mut parts = vec![format!("{} Generated_{n} {{", keyword(self.dice, "rule"))];
        let description =
            self.dice.chance(50).then(|| "description \"made by chance: \\\"so it is\\\"\"".to_owned());
        let when = format!("{} {}", keyword(self.dice, "when"), self.condition(3));
        if self.dice.chance(50) {
            parts.extend(description);
            parts.push(when);
        } else {
            parts.push(when);
            parts.extend(description);
        }
        parts.push(self.then());
        parts.push("}".to_owned());
        let gap = gap(self.dice);
        parts.join(gap)
    }

    fn then(&mut self) -> String {
        let verdict = self.dice.pick(["allow", "block", "review", "approve", "deny", "alert"]);
        let mut clauses = vec![format!("{} {}", keyword(self.dice, "then"), keyword(self.dice, verdict))];
        if self.dice.chance(70) {
            clauses.push(format!("score {}", self.dice.pick(["0", "1", "0.5", "0.75", "1.0", "00.25"])));
        }
        if self.dice.chance(70) {
            let reason = "reason \"by chance\"".to_owned();
            let index = 1 + self.dice.below(clauses.len());
            clauses.insert(index, reason);
        }
        clauses.join(" ")
    }
}
