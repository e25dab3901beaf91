//! A host with pseudo-random results. Two modules get the same result for the same host call, regardless of slot
//! numbers.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::Serialize;
use tollgate_guest_abi::imports::{kind, operand, test};
use tollgate_guest_abi::{FieldPath, Item, ListSource, Needs};

/// All results, determined by a seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct World {
    pub(crate) seed: u64,
}

/// A host call in a form that does not depend on slot numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asked {
    pub(crate) import: String,
    pub(crate) about: String,
}

impl Asked {
    /// Returns whether the call reads a field.
    pub(crate) fn is_read(&self) -> bool {
        matches!(self.import.as_str(), "number" | "symbol" | "kind" | "comparable")
    }
}

enum Value {
    Missing,
    Text(&'static str),
    Number(f64),
    Boolean(bool),
}

impl Value {
    fn number(&self) -> f64 {
        match self {
            Value::Number(number) => *number,
            Value::Text("42") => 42.0,
            _ => f64::NAN,
        }
    }

    fn word(&self) -> Option<&'static str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Boolean(true) => Some("true"),
            Value::Boolean(false) => Some("false"),
            Value::Missing | Value::Number(_) => None,
        }
    }

    fn is_item(&self, item: &Item) -> bool {
        match item {
            Item::Number(number) => self.number() == number.to_f64(),
            Item::Text(text) => match self {
                Value::Number(number) => text == "42" && *number == 42.0,
                _ => self.word() == Some(text),
            },
            Item::Boolean(boolean) => self.word() == Some(if *boolean { "true" } else { "false" }),
            Item::Current(_) => unreachable!("such a list has no answer of its own here"),
        }
    }
}

/// Returns the operand in a form that does not depend on its slot.
fn operand(needs: &Needs, reference: u64) -> String {
    if let Some(slot) = u32::try_from(reference).ok().and_then(operand::as_time) {
        return json(&needs.times[slot as usize]);
    }
    let slot = (reference / 4) as usize;
    match (reference % 4) as i32 {
        operand::FIELD => json(&needs.fields[slot]),
        operand::TEXT => json(&needs.texts[slot]),
        operand::NUMBER => format!("number {}", needs.texts[slot]),
        _ => json(&needs.aggregates[slot]),
    }
}

fn json(item: &impl Serialize) -> String {
    serde_json::to_string(item).unwrap()
}

impl World {
    /// Returns a pseudo-random number below `n`, deterministic for `about`.
    fn roll(self, about: &str, n: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, about).hash(&mut hasher);
        hasher.finish() % n
    }

    fn value(self, path: &FieldPath) -> Value {
        match self.roll(&json(path), 12) {
            0 | 1 => Value::Missing,
            2 => Value::Boolean(true),
            3 => Value::Boolean(false),
            4 => Value::Text("42"),
            5 => Value::Text("elsewhere"),
            6..9 => Value::Text(["a", "b", "c"][self.roll(path.root(), 3) as usize]),
            _ => Value::Number([1.0, 7.0, 42.0][self.roll(path.root(), 3) as usize]),
        }
    }

    fn member(self, path: &FieldPath, list: &ListSource, about: &str) -> i32 {
        let value = self.value(path);
        match (value, list) {
            (Value::Missing, _) => test::MISSING,
            (value, ListSource::Items(items))
                if !items.iter().any(|item| matches!(item, Item::Current(_))) =>
            {
                if items.iter().any(|item| value.is_item(item)) { test::YES } else { test::NO }
            }
            _ => self.roll(about, 3) as i32,
        }
    }

    /// Returns the result of a call, and the call itself.
    pub(crate) fn answer(self, needs: &Needs, import: &str, arguments: &[u64]) -> (Asked, u64) {
        let slot = |n: usize| arguments[n] as usize;
        let about = match import {
            "number" | "symbol" | "kind" | "comparable" => json(&needs.fields[slot(0)]),
            "relate" => json(&(&needs.fields[slot(0)], &needs.fields[slot(1)])),
            "relate_text" => json(&(&needs.fields[slot(0)], &needs.texts[slot(1)])),
            "member" => json(&(&needs.fields[slot(0)], &needs.lists[slot(1)])),
            "member_number" => json(&(arguments[0], &needs.lists[slot(1)])),
            "member_text" => json(&(&needs.texts[slot(0)], &needs.lists[slot(1)])),
            "matches" => json(&(&needs.fields[slot(0)], &needs.patterns[slot(1)])),
            "matches_number" => json(&(arguments[0], &needs.patterns[slot(1)])),
            "aggregate" | "comparable_aggregate" => json(&needs.aggregates[slot(0)]),
            "relate_operands" => json(&(operand(needs, arguments[0]), operand(needs, arguments[1]))),
            "member_operand" => json(&(operand(needs, arguments[0]), &needs.lists[slot(1)])),
            "previous" => json(&needs.previous[slot(0)]),
            "time_part" => json(&needs.times[slot(0)]),
            other => panic!("no script calls `{other}`"),
        };
        let small = |n: i32| u64::from(n.cast_unsigned());
        let answer = match import {
            "number" | "comparable" => self.value(&needs.fields[slot(0)]).number().to_bits(),
            "symbol" => {
                let word = self.value(&needs.fields[slot(0)]).word();
                let index = needs.texts.iter().position(|text| Some(text.as_str()) == word);
                small(index.map_or(-1, |index| index as i32))
            }
            "kind" => small(match self.value(&needs.fields[slot(0)]) {
                Value::Missing => kind::MISSING,
                Value::Boolean(_) => kind::BOOLEAN,
                Value::Number(_) => kind::NUMBER,
                Value::Text(_) => kind::TEXT,
            }),
            "member" => small(self.member(&needs.fields[slot(0)], &needs.lists[slot(1)], &about)),
            "relate" | "relate_text" | "relate_operands" => {
                [0, 1 | 16, 2 | 4, 2 | 8, 2 | 16, 2][self.roll(&about, 6) as usize]
            }
            "aggregate" | "comparable_aggregate" => (self.roll(&about, 10) as f64).to_bits(),
            "previous" => self.roll(&about, 2),
            "time_part" => [3.0, 7.0, f64::NAN][self.roll(&about, 3) as usize].to_bits(),
            _ => self.roll(&about, 3),
        };
        (Asked { import: import.to_owned(), about }, answer)
    }
}
