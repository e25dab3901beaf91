//! Generates history lookups.

use super::script::Author;
use super::spelling::keyword;
use super::words;

impl Author<'_> {
    pub(super) fn may_look_up(&self) -> bool {
        !self.in_filter && self.lookups_left > 0
    }

    pub(super) fn aggregate(&mut self) -> String {
        self.lookups_left = self.lookups_left.saturating_sub(1);
        let functions =
            ["count", "count", "sum", "sum", "avg", "min", "max", "distinct", "distinct", "stddev", "stddev"];
        let function = self.dice.pick(functions);
        let value = if function == "distinct" || self.dice.chance(50) {
            let field = match self.dice.below(10) {
                0..4 if function != "distinct" => "amount",
                0..6 => self.dice.pick(words::METADATA),
                6..9 => self.dice.pick(words::TEXT_FIELDS),
                _ => self.dice.pick(words::TIMES),
            };
            format!("{field} ")
        } else {
            String::new()
        };
        let when = self.dice.pick(["when", "when", "where", ""]);
        let when = match (when, value.as_str()) {
            ("", "") => String::new(),
            ("", _) => "when ".to_owned(),
            (word, _) => format!("{} ", keyword(self.dice, word)),
        };
        let window = self.dice.pick(words::WINDOWS);
        let comma = if self.dice.chance(5) { "," } else { "" };
        format!("{function}({value}{when}{}, \"{window}\"{comma})", self.filter())
    }

    /// Generates a filter. Most filters compare a key with the current transaction.
    fn filter(&mut self) -> String {
        self.in_filter = true;
        let key = self.dice.pick([
            Some("source"),
            Some("source"),
            Some("destination"),
            Some("currency"),
            Some("metadata.a"),
            None,
        ]);
        let rest = if self.dice.chance(50) { Some(self.condition(1)) } else { None };
        let shared = key.map(|key| format!("{key} == {}", self.current(key)));
        self.in_filter = false;
        match (shared, rest) {
            (Some(shared), Some(rest)) => match self.dice.below(8) {
                0 => format!("{shared} or ({rest})"),
                1 => format!("not ({shared}) and ({rest})"),
                _ => format!("{shared} and ({rest})"),
            },
            (Some(only), None) if self.dice.chance(10) => format!("not ({only})"),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => "amount >= 0".to_owned(),
        }
    }

    pub(super) fn previous(&mut self) -> String {
        self.lookups_left = self.lookups_left.saturating_sub(1);
        let name = self.dice.pick(["within", "within", "time_window"]);
        let window = format!("{name}: \"{}\"", self.dice.pick(words::WINDOWS));
        let n_pairs = 1 + self.dice.below(2);
        let pairs: Vec<String> = (0..n_pairs).map(|_| self.match_pair()).collect();
        let comma = if self.dice.chance(10) { "," } else { "" };
        let pairs = format!("match: {{ {}{comma} }}", pairs.join(", "));
        let (first, second) = if self.dice.chance(20) { (pairs, window) } else { (window, pairs) };
        let compared = self.dice.pick(["", "", "", "", " == true", " == false", " != true"]);
        format!("previous_transaction({first}, {second}){compared}")
    }

    fn match_pair(&mut self) -> String {
        let field = match self.dice.below(10) {
            0..5 => self.dice.pick(words::TEXT_FIELDS),
            5 => "amount",
            6 => self.dice.pick(words::FLAGS),
            7 => self.dice.pick(words::TIMES),
            _ => self.dice.pick(words::METADATA),
        };
        let value = if self.dice.chance(60) { self.current(field) } else { self.item() };
        if self.dice.chance(15) && !field.contains('"') {
            format!("\"{field}\": {value}")
        } else {
            format!("{field}: {value}")
        }
    }
}
