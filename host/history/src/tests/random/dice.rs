//! Random transactions and queries of every kind.

use std::sync::Arc;

use tollgate_guest_abi::{
    AggregateFunction, AggregateSpec, ArithmeticOperator, Comparison, Condition, FieldPath, Item, ListSource,
    MatchPair, Operand, PreviousSpec, TimeFunction, TimeSpec, Window,
};
use tollgate_model::transaction::{Json, Transaction};

use crate::sample::{Sample, literal, number, text};

/// A pseudo-random generator with a seed (splitmix64).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}

pub(super) const WORDS: [&str; 10] =
    ["alice", "bob", "42", "0042", "42.0", "true", "2026-01-05T10:00:30Z", "Alice", "ALICE", "True"];
const AMOUNTS: [&str; 8] = ["0.1", "10", "-3.25", "1e30", "0.0000001", "9007199254740993", "42", "0"];
const FIELDS: [&str; 9] = [
    "source",
    "inflight",
    "metadata.card",
    "destination",
    "status",
    "amount",
    "timestamp",
    "metadata.deep.card",
    "unheard_of",
];
const WINDOWS: [&str; 4] = ["PT1S", "PT30S", "PT1M", "P1D"];
const PATTERNS: [&str; 4] = ["42", "^a", "(?i)TRUE", r"^-?\d+(\.\d+)?$"];

pub(super) fn any_word(dice: &mut Dice) -> Option<&'static str> {
    if dice.one_in(5) { None } else { Some(dice.pick(&WORDS)) }
}

fn any_json(dice: &mut Dice) -> Json {
    match dice.below(8) {
        0 => Json::Null,
        1 => Json::Boolean(dice.one_in(2)),
        2 | 3 => Json::Number(number(dice.pick(&AMOUNTS))),
        4 => Json::Array((0..dice.below(3)).map(|_| any_json(dice)).collect()),
        5 => {
            let card = any_json(dice);
            Json::Object(vec![("card".into(), card), ("b".into(), Json::Null)])
        }
        _ => text(dice.pick(&WORDS)),
    }
}

/// Returns a transaction; `n_words` is the number of accounts, `span` the range of event times in seconds.
pub(super) fn any_transaction(dice: &mut Dice, n_words: usize, span: usize) -> Arc<Transaction> {
    let mut metadata = vec![("card", any_json(dice))];
    if dice.one_in(2) {
        metadata.push(("deep", any_json(dice)));
    }
    let sample = Sample {
        id: dice.below(1000) as u64,
        amount: dice.pick(&AMOUNTS),
        source: Some(WORDS[dice.below(n_words)]),
        destination: any_word(dice),
        status: any_word(dice),
        inflight: dice.one_in(2),
        at: dice.below(span) as i64,
        metadata,
    };
    Arc::new(sample.build())
}

/// Returns mostly fields that are often present and often equal.
fn any_field(dice: &mut Dice) -> FieldPath {
    let n_choices = dice.pick(&[3, 6, FIELDS.len()]);
    FieldPath::parse(FIELDS[dice.below(n_choices)])
}

fn any_literal(dice: &mut Dice) -> Operand {
    match dice.below(4) {
        0 => Operand::Number(literal(dice.pick(&["42", "0.1", "0", "-3.25"]))),
        1 => Operand::Boolean(dice.one_in(2)),
        _ => Operand::Text(dice.pick(&WORDS).to_owned()),
    }
}

fn any_operand(dice: &mut Dice, depth: usize) -> Operand {
    match dice.below(if depth == 0 { 6 } else { 9 }) {
        0 | 1 => any_literal(dice),
        2..4 => Operand::Field(any_field(dice)),
        4 => Operand::Current(any_field(dice)),
        5 => Operand::Time(TimeSpec {
            function: TimeFunction::HourOfDay,
            field: any_field(dice),
            current: dice.one_in(3),
            zone: None,
        }),
        6 => Operand::Negate(Box::new(any_operand(dice, depth - 1))),
        _ => Operand::Arithmetic {
            left: Box::new(any_operand(dice, depth - 1)),
            operator: dice.pick(&[
                ArithmeticOperator::Add,
                ArithmeticOperator::Subtract,
                ArithmeticOperator::Multiply,
                ArithmeticOperator::Divide,
            ]),
            right: Box::new(any_operand(dice, depth - 1)),
        },
    }
}

fn any_item(dice: &mut Dice) -> Item {
    match any_literal(dice) {
        _ if dice.one_in(4) => Item::Current(any_field(dice)),
        Operand::Number(number) => Item::Number(number),
        Operand::Boolean(boolean) => Item::Boolean(boolean),
        Operand::Text(text) => Item::Text(text),
        other => panic!("{other:?} is no literal"),
    }
}

fn any_list(dice: &mut Dice) -> ListSource {
    match dice.below(4) {
        0 => ListSource::Current(any_field(dice)),
        1 => ListSource::Named(dice.pick(&["known", "unknown"]).to_owned()),
        _ => ListSource::Items((0..=dice.below(3)).map(|_| any_item(dice)).collect()),
    }
}

/// Returns a condition that a key can answer.
fn any_equality(dice: &mut Dice) -> Condition {
    let field = any_field(dice);
    let other = match dice.below(3) {
        0 => any_literal(dice),
        1 => Operand::Current(any_field(dice)),
        _ => Operand::Current(field.clone()),
    };
    let (left, right) =
        if dice.one_in(4) { (other, Operand::Field(field)) } else { (Operand::Field(field), other) };
    Condition::Compare { left, operator: Comparison::Equal, right }
}

fn any_condition(dice: &mut Dice, depth: usize) -> Condition {
    let some = |dice: &mut Dice| (0..dice.below(3)).map(|_| any_condition(dice, depth - 1)).collect();
    match dice.below(if depth == 0 { 6 } else { 9 }) {
        0..=2 => any_equality(dice),
        3 => Condition::Compare {
            left: any_operand(dice, 2),
            operator: dice.pick(&[
                Comparison::Equal,
                Comparison::NotEqual,
                Comparison::Less,
                Comparison::LessOrEqual,
                Comparison::Greater,
                Comparison::GreaterOrEqual,
            ]),
            right: any_operand(dice, 2),
        },
        4 => Condition::In { value: any_operand(dice, 1), list: any_list(dice), negated: dice.one_in(2) },
        5 => Condition::Matches {
            value: Operand::Field(FieldPath::parse(dice.pick(&[
                "source",
                "metadata.card",
                "amount",
                "inflight",
            ]))),
            pattern: dice.pick(&PATTERNS).to_owned(),
            negated: dice.one_in(2),
        },
        6 => Condition::All(some(dice)),
        7 => Condition::Any(some(dice)),
        _ => Condition::Not(Box::new(any_condition(dice, depth - 1))),
    }
}

fn any_window(dice: &mut Dice) -> Window {
    Window::parse(dice.pick(&WINDOWS)).unwrap()
}

pub(super) fn any_aggregate(dice: &mut Dice) -> AggregateSpec {
    let filter = match dice.below(6) {
        0 => Condition::All(Vec::new()),
        1 | 2 => Condition::All((0..=dice.below(3)).map(|_| any_equality(dice)).collect()),
        3 | 4 => Condition::All((0..=dice.below(3)).map(|_| any_condition(dice, 2)).collect()),
        _ => any_condition(dice, 3),
    };
    // Includes fields that are numbers often enough to be measured.
    let value = match dice.below(4) {
        0 => any_field(dice),
        1 => FieldPath::parse("metadata.card"),
        _ => FieldPath::parse("amount"),
    };
    AggregateSpec { function: dice.pick(&AggregateFunction::ALL), value, filter, window: any_window(dice) }
}

pub(super) fn any_previous(dice: &mut Dice) -> PreviousSpec {
    let pair = |dice: &mut Dice| MatchPair { field: any_field(dice), value: any_item(dice) };
    PreviousSpec { window: any_window(dice), pairs: (0..=dice.below(2)).map(|_| pair(dice)).collect() }
}
