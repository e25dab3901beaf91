//! What can be known of a value before there is a transaction, and so which relations can ever hold.

use tollgate_guest_abi::{
    ArithmeticOperator, Comparison, FieldPath, FieldType, Item, Number, Operand, Semantics,
};

use crate::stated_time::StatedTime;

/// What a value is, as far as the script tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Nature<'o> {
    Number,
    /// A text field; it may hold a number.
    Text,
    /// A text in the script.
    Literal(&'o str),
    Boolean,
    Time,
    /// A piece of metadata: anything.
    Dynamic,
    /// Metadata as a whole.
    Object,
    /// Arithmetic that cannot have a result.
    Nothing,
    /// A field that transactions do not have, which is reported as such.
    Unknown,
}

/// Which relations two values can stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Possible {
    pub(super) equal: bool,
    pub(super) unequal: bool,
    pub(super) ordered: bool,
}

const ALL: Possible = Possible { equal: true, unequal: true, ordered: true };
const EQUALITY: Possible = Possible { equal: true, unequal: true, ordered: false };
const UNEQUAL: Possible = Possible { equal: false, unequal: true, ordered: false };
const NONE: Possible = Possible { equal: false, unequal: false, ordered: false };

/// The nature of an operand.
pub(super) fn of(operand: &Operand) -> Nature<'_> {
    match operand {
        Operand::Number(_) | Operand::Aggregate(_) | Operand::Time(_) => Nature::Number,
        Operand::Text(text) => Nature::Literal(text),
        Operand::Boolean(_) => Nature::Boolean,
        Operand::Field(path) | Operand::Current(path) => of_field(path),
        Operand::Arithmetic { left, operator, right } => {
            let by_zero = *operator == ArithmeticOperator::Divide
                && matches!(&**right, Operand::Number(number) if number.to_f64() == 0.0);
            if by_zero { Nature::Nothing } else { computed(&[of(left), of(right)]) }
        }
        Operand::Negate(inner) => computed(&[of(inner)]),
    }
}

fn computed(parts: &[Nature<'_>]) -> Nature<'static> {
    if parts.contains(&Nature::Unknown) {
        Nature::Unknown
    } else if parts
        .iter()
        .any(|part| matches!(part, Nature::Boolean | Nature::Time | Nature::Object | Nature::Nothing))
    {
        Nature::Nothing
    } else {
        Nature::Number
    }
}

/// The nature of a field.
pub(super) fn of_field(path: &FieldPath) -> Nature<'static> {
    match path.field_type() {
        FieldType::Number => Nature::Number,
        FieldType::Text => Nature::Text,
        FieldType::Boolean => Nature::Boolean,
        FieldType::Time => Nature::Time,
        FieldType::Dynamic if path.metadata_keys().is_some_and(<[String]>::is_empty) => Nature::Object,
        FieldType::Dynamic => Nature::Dynamic,
        FieldType::Unknown => Nature::Unknown,
    }
}

/// The nature of a list item.
pub(super) fn of_item(item: &Item) -> Nature<'_> {
    match item {
        Item::Number(_) => Nature::Number,
        Item::Text(text) => Nature::Literal(text),
        Item::Boolean(_) => Nature::Boolean,
        Item::Current(path) => of_field(path),
    }
}

/// Which relations two values of these natures can stand in, whichever is left.
pub(super) fn possible(left: Nature<'_>, right: Nature<'_>) -> Possible {
    use Nature as N;
    match (left, right) {
        (N::Nothing | N::Unknown, _) | (_, N::Nothing | N::Unknown) => NONE,
        (N::Object, _) | (_, N::Object) => UNEQUAL,
        (N::Literal(literal), other) | (other, N::Literal(literal)) => of_literal(literal, other),
        (N::Number, N::Boolean | N::Time) | (N::Boolean | N::Time, N::Number) => UNEQUAL,
        (N::Boolean, N::Time) | (N::Time, N::Boolean) => UNEQUAL,
        (N::Boolean, N::Boolean | N::Text | N::Dynamic) | (N::Text | N::Dynamic, N::Boolean) => EQUALITY,
        (N::Number | N::Text | N::Time | N::Dynamic, N::Number | N::Text | N::Time | N::Dynamic) => ALL,
    }
}

fn of_literal(literal: &str, other: Nature<'_>) -> Possible {
    let when = |holds: bool, then: Possible| if holds { then } else { UNEQUAL };
    match other {
        Nature::Number => when(is_plain_number(literal), ALL),
        Nature::Time => when(StatedTime::read(literal, Semantics::CURRENT).is_some(), ALL),
        Nature::Boolean => when(matches!(literal, "true" | "false"), EQUALITY),
        Nature::Text | Nature::Dynamic | Nature::Literal(_) => {
            if is_plain_number(literal) {
                ALL
            } else {
                EQUALITY
            }
        }
        Nature::Object => UNEQUAL,
        Nature::Nothing | Nature::Unknown => NONE,
    }
}

/// Whether a text is wholly a plain decimal number, so that it compares as one.
pub(super) fn is_plain_number(text: &str) -> bool {
    Number::from_plain(text).is_some()
}

impl Possible {
    pub(super) const fn allows(self, operator: Comparison) -> bool {
        match operator {
            Comparison::Equal => self.equal,
            Comparison::NotEqual => self.unequal,
            Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => {
                self.ordered
            }
        }
    }
}

impl Nature<'_> {
    /// With its article, for a sentence.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Nature::Number => "a number",
            Nature::Text | Nature::Literal(_) => "a text",
            Nature::Boolean => "a boolean",
            Nature::Time => "a date-time",
            Nature::Dynamic => "a piece of metadata",
            Nature::Object => "an object",
            Nature::Nothing => "always missing",
            Nature::Unknown => "no known field",
        }
    }
}

/// What could be written behind a value to make a test of it.
pub(super) fn example_test(operand: &Operand) -> &'static str {
    match of(operand) {
        Nature::Number | Nature::Nothing => "> 5",
        Nature::Boolean => "== true",
        Nature::Time => ">= \"2026-01-01T00:00:00Z\"",
        Nature::Text | Nature::Literal(_) | Nature::Dynamic | Nature::Object | Nature::Unknown => "== \"…\"",
    }
}
