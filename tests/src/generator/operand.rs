//! Generates operands and pairs of operands worth comparing.

use super::script::Author;
use super::spelling::quoted;
use super::words;

impl Author<'_> {
    /// Generates two sides, at most one of them a literal.
    pub(super) fn pair(&mut self) -> (String, String) {
        match self.dice.below(100) {
            0..13 => ("amount".to_owned(), self.number()),
            13..32 => (self.dice.pick(words::TEXT_FIELDS).to_owned(), self.text()),
            32..52 => (self.dice.pick(words::METADATA).to_owned(), self.literal()),
            52..57 => (self.dice.pick(words::FLAGS).to_owned(), self.boolean()),
            57..64 => (self.dice.pick(words::TIMES).to_owned(), self.instant()),
            64..74 => (self.field(), self.field()),
            74..78 => (self.field(), self.literal()),
            78..81 => self.day(),
            81..93 if self.may_look_up() => {
                let aggregate = self.aggregate();
                (aggregate, self.threshold())
            }
            _ => {
                let right = match self.dice.below(10) {
                    0..6 => self.number(),
                    6..8 => self.field(),
                    _ => self.literal(),
                };
                (self.computed(2), right)
            }
        }
    }

    fn day(&mut self) -> (String, String) {
        let day = self.dice.pick(words::DAYS);
        (self.time_call("day_of_week"), quoted(self.dice, day))
    }

    /// Generates a value to compare an aggregate with.
    pub(super) fn threshold(&mut self) -> String {
        match self.dice.below(12) {
            0 | 1 if self.may_look_up() => self.aggregate(),
            2 => self.field(),
            3 => self.computed(1),
            4 => self.literal(),
            5 | 6 => words::total(self.dice).to_owned(),
            _ => self.dice.pick(["0", "1", "2", "2", "3", "3", "4", "5", "6", "8"]).to_owned(),
        }
    }

    /// Generates a field path of any kind.
    pub(super) fn field(&mut self) -> String {
        if self.in_filter && self.dice.chance(25) {
            return self.any_current();
        }
        match self.dice.below(20) {
            0..3 => "amount".to_owned(),
            3..9 => self.dice.pick(words::TEXT_FIELDS).to_owned(),
            9..11 => self.dice.pick(words::TIMES).to_owned(),
            11 => self.dice.pick(words::FLAGS).to_owned(),
            12 if self.dice.chance(30) => self.dice.pick(words::UNKNOWN).to_owned(),
            13 => self.any_current(),
            _ => self.dice.pick(words::METADATA).to_owned(),
        }
    }

    /// Returns a field of the current transaction, in one of its two spellings.
    pub(super) fn current(&mut self, path: &str) -> String {
        let is_quoted = self.dice.chance(25) && !path.contains('"');
        if is_quoted { format!("\"$current.{path}\"") } else { format!("$current.{path}") }
    }

    pub(super) fn any_current(&mut self) -> String {
        let path = match self.dice.below(8) {
            0 | 1 => "amount",
            2..5 => self.dice.pick(words::TEXT_FIELDS),
            5 => self.dice.pick(words::TIMES),
            _ => self.dice.pick(words::METADATA),
        };
        self.current(path)
    }

    /// Generates a number literal, occasionally with a sign.
    pub(super) fn number(&mut self) -> String {
        let number = words::number(self.dice);
        if self.dice.chance(10) { format!("-{number}") } else { number.to_owned() }
    }

    fn text(&mut self) -> String {
        let text = words::text(self.dice);
        quoted(self.dice, text)
    }

    fn boolean(&mut self) -> String {
        self.dice.pick(["true", "true", "false", "TRUE", "\"true\"", "'false'", "1", "\"1\""]).to_owned()
    }

    fn instant(&mut self) -> String {
        match self.dice.below(10) {
            0..6 => format!("\"{}\"", self.dice.pick(words::TIME_TEXTS)),
            6..8 => self.dice.pick(words::TIMES).to_owned(),
            8 => "metadata.when".to_owned(),
            _ => self.literal(),
        }
    }

    pub(super) fn literal(&mut self) -> String {
        match self.dice.below(10) {
            0..4 => self.number(),
            4..8 => self.text(),
            8 => self.boolean(),
            _ => format!("\"{}\"", self.dice.pick(words::TIME_TEXTS)),
        }
    }

    /// Generates a computed number: a time function, or arithmetic with at most this depth.
    pub(super) fn computed(&mut self, depth: usize) -> String {
        match self.dice.below(10) {
            0..4 => {
                let functions = [
                    "hour_of_day",
                    "day_of_week",
                    "day_of_month",
                    "day_of_year",
                    "month_of_year",
                    "week_of_year",
                    "year",
                ];
                let function = self.dice.pick(functions);
                self.time_call(function)
            }
            4 => format!("-{}", self.field()),
            _ => {
                let left = self.part(depth);
                let operator = self.dice.pick(["+", "-", "*", "/", "/"]);
                let right = self.part(depth);
                // At least one side is a field, because a sum of literals is a literal.
                format!("{left} {operator} {right} {} {}", self.dice.pick(["+", "*", "-"]), self.field())
            }
        }
    }

    fn part(&mut self, depth: usize) -> String {
        match self.dice.below(10) {
            0..3 => self.number(),
            3 if depth > 0 => format!("({})", self.computed(depth - 1)),
            4 if self.may_look_up() => self.aggregate(),
            5 => self.dice.pick(["\"42\"", "'0042'", "\"-1\""]).to_owned(),
            6 => "metadata.score".to_owned(),
            _ => self.field(),
        }
    }

    pub(super) fn time_call(&mut self, function: &str) -> String {
        let field = match self.dice.below(10) {
            0..5 => "timestamp".to_owned(),
            5 => "effective_date".to_owned(),
            6 => self.current("timestamp"),
            7 => self.current("metadata.when"),
            _ => "metadata.when".to_owned(),
        };
        if self.dice.chance(40) {
            format!("{function}({field}, \"{}\")", self.dice.pick(words::ZONES))
        } else {
            format!("{function}({field})")
        }
    }
}
