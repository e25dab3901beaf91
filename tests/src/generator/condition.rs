//! Generates conditions and tests.

use super::script::Author;
use super::spelling::{gap, keyword, quoted};
use super::words;

impl Author<'_> {
    /// Generates a condition with at most this depth of parentheses.
    pub(super) fn condition(&mut self, depth: usize) -> String {
        let n_tests = self.dice.pick([1, 1, 2, 2, 2, 3, 4]);
        // Mixed chains rely on precedence; most authors avoid them.
        let word = self.dice.pick(["and", "or"]);
        let mut text = self.negation(depth);
        for _ in 1..n_tests {
            let word = if self.dice.chance(15) { self.dice.pick(["and", "or"]) } else { word };
            let gaps = (gap(self.dice), gap(self.dice));
            text = format!("{text}{}{}{}{}", gaps.0, keyword(self.dice, word), gaps.1, self.negation(depth));
        }
        text
    }

    fn negation(&mut self, depth: usize) -> String {
        let test = self.test(depth);
        if self.dice.chance(15) { format!("{} {test}", keyword(self.dice, "not")) } else { test }
    }

    fn test(&mut self, depth: usize) -> String {
        match self.dice.below(100) {
            0..20 if depth > 0 => format!("({})", self.condition(depth - 1)),
            20..36 => self.membership(),
            36..46 => self.pattern(),
            46..53 => self.between(),
            53..60 if self.may_look_up() => self.previous(),
            60..72 if self.may_look_up() => self.question(),
            _ => self.comparison(),
        }
    }

    fn operator(&mut self) -> &'static str {
        self.dice.pick(["==", "==", "==", "!=", "!=", ">", ">=", "<", "<="])
    }

    fn comparison(&mut self) -> String {
        let (left, right) = self.pair();
        let (left, right) = if self.dice.chance(12) { (right, left) } else { (left, right) };
        let operator = self.operator();
        if self.dice.chance(5) {
            format!("{left}{operator}{right}")
        } else {
            format!("{left} {operator} {right}")
        }
    }

    /// Generates a comparison of an aggregate with a plausible value.
    fn question(&mut self) -> String {
        let aggregate = self.aggregate();
        format!("{aggregate} {} {}", self.operator(), self.threshold())
    }

    fn between(&mut self) -> String {
        let (value, low) = self.pair();
        let high = if self.dice.chance(80) { self.number() } else { self.field() };
        format!("{value} {} {low} and {high}", keyword(self.dice, "between"))
    }

    fn pattern(&mut self) -> String {
        if self.dice.chance(30) && self.may_look_up() {
            // The last digit identifies the exact double; consecutive zeros reveal an inexact sum.
            let pattern = self.dice.pick(["[02468]$", "[02468]$", "0000|9999"]);
            return format!("{} regex \"{pattern}\"", self.aggregate());
        }
        let value = match self.dice.below(10) {
            0 => "amount".to_owned(),
            1 => self.computed(1),
            2 => self.dice.pick(words::TIMES).to_owned(),
            3 => self.dice.pick(words::FLAGS).to_owned(),
            4..6 => self.dice.pick(words::METADATA).to_owned(),
            _ => self.field(),
        };
        let operator = self.dice.pick(["regex", "regex", "not_regex"]);
        let pattern = self.dice.pick(words::PATTERNS);
        format!("{value} {} {}", keyword(self.dice, operator), quoted(self.dice, pattern))
    }

    fn membership(&mut self) -> String {
        let operator = self.dice.pick(["in", "in", "not_in"]);
        let operator = keyword(self.dice, operator);
        if self.dice.chance(8) {
            let days = (self.dice.pick(words::DAYS), self.dice.pick(words::DAYS));
            return format!("{} {operator} (\"{}\", 6, '{}')", self.time_call("day_of_week"), days.0, days.1);
        }
        if self.dice.chance(10) {
            // A literal as value, against a field that may not be a list.
            let list = if self.dice.chance(80) { self.current("metadata.list") } else { self.any_current() };
            return format!("{} {operator} {list}", self.literal());
        }
        let value = if self.dice.chance(20) { self.computed(1) } else { self.field() };
        format!("{value} {operator} {}", self.list())
    }

    fn list(&mut self) -> String {
        match self.dice.below(10) {
            0 | 1 => self.current("metadata.list"),
            2 => self.any_current(),
            3 | 4 => format!("${}", self.dice.pick(words::LIST_NAMES)),
            _ => {
                // Occasionally more numbers than are compared one by one.
                let n_items = if self.dice.chance(10) { 12 } else { 1 + self.dice.below(5) };
                let items: Vec<String> = (0..n_items).map(|_| self.item()).collect();
                let comma = if self.dice.chance(10) { "," } else { "" };
                format!("({}{comma})", items.join(", "))
            }
        }
    }

    /// Generates a literal, occasionally a field of the current transaction.
    pub(super) fn item(&mut self) -> String {
        match self.dice.below(20) {
            0..10 => {
                let text = words::text(self.dice);
                quoted(self.dice, text)
            }
            10..17 => self.number(),
            17 => self.dice.pick(["true", "false"]).to_owned(),
            18 => format!("\"{}\"", self.dice.pick(words::TIME_TEXTS)),
            _ => self.any_current(),
        }
    }
}
