//! Static kinds of values, and the relations that can hold between them.

use tollgate_guest_abi::{
    ArithmeticOperator, Comparison, FieldPath, FieldType, Item, Number, Operand, Semantics,
};

use crate::stated_time::StatedTime;

/// The kind of a value, as far as the script determines it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ValueKind<'o> {
    Number,
    /// A text field; its value may be a number.
    Text,
    Literal(&'o str),
    Boolean,
    Time,
    /// A metadata value of any type.
    Dynamic,
    /// The metadata object as a whole.
    Object,
    /// Arithmetic that never has a result.
    Nothing,
    /// An unknown field, which is reported separately.
    Unknown,
}

/// The relations that can hold between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PossibleRelations {
    pub(super) equal: bool,
    pub(super) unequal: bool,
    pub(super) ordered: bool,
}

const ALL: PossibleRelations = PossibleRelations { equal: true, unequal: true, ordered: true };
const EQUALITY: PossibleRelations = PossibleRelations { equal: true, unequal: true, ordered: false };
const UNEQUAL: PossibleRelations = PossibleRelations { equal: false, unequal: true, ordered: false };
const NONE: PossibleRelations = PossibleRelations { equal: false, unequal: false, ordered: false };

pub(super) fn kind_of_operand(operand: &Operand) -> ValueKind<'_> {
    match operand {
        Operand::Number(_) | Operand::Aggregate(_) | Operand::Time(_) => ValueKind::Number,
        Operand::Text(text) => ValueKind::Literal(text),
        Operand::Boolean(_) => ValueKind::Boolean,
        Operand::Field(path) | Operand::Current(path) => of_field(path),
        Operand::Arithmetic { left, operator, right } => {
            let by_zero = *operator == ArithmeticOperator::Divide
                && matches!(&**right, Operand::Number(number) if number.to_f64() == 0.0);
            if by_zero {
                ValueKind::Nothing
            } else {
                computed(&[kind_of_operand(left), kind_of_operand(right)])
            }
        }
        Operand::Negate(inner) => computed(&[kind_of_operand(inner)]),
    }
}

fn computed(parts: &[ValueKind<'_>]) -> ValueKind<'static> {
    if parts.contains(&ValueKind::Unknown) {
        ValueKind::Unknown
    } else if parts.iter().any(|part| {
        matches!(part, ValueKind::Boolean | ValueKind::Time | ValueKind::Object | ValueKind::Nothing)
    }) {
        ValueKind::Nothing
    } else {
        ValueKind::Number
    }
}

pub(super) fn of_field(path: &FieldPath) -> ValueKind<'static> {
    match path.field_type() {
        FieldType::Number => ValueKind::Number,
        FieldType::Text => ValueKind::Text,
        FieldType::Boolean => ValueKind::Boolean,
        FieldType::Time => ValueKind::Time,
        FieldType::Dynamic if path.metadata_keys().is_some_and(<[String]>::is_empty) => ValueKind::Object,
        FieldType::Dynamic => ValueKind::Dynamic,
        FieldType::Unknown => ValueKind::Unknown,
    }
}

pub(super) fn of_item(item: &Item) -> ValueKind<'_> {
    match item {
        Item::Number(_) => ValueKind::Number,
        Item::Text(text) => ValueKind::Literal(text),
        Item::Boolean(_) => ValueKind::Boolean,
        Item::Current(path) => of_field(path),
    }
}

/// Returns the relations possible between two kinds, in either order.
pub(super) fn possible(left: ValueKind<'_>, right: ValueKind<'_>) -> PossibleRelations {
    use ValueKind as N;
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

fn of_literal(literal: &str, other: ValueKind<'_>) -> PossibleRelations {
    let when = |holds: bool, then: PossibleRelations| if holds { then } else { UNEQUAL };
    match other {
        ValueKind::Number => when(is_plain_number(literal), ALL),
        ValueKind::Time => when(StatedTime::read(literal, Semantics::CURRENT).is_some(), ALL),
        ValueKind::Boolean => when(matches!(literal, "true" | "false"), EQUALITY),
        ValueKind::Text | ValueKind::Dynamic | ValueKind::Literal(_) => {
            if is_plain_number(literal) {
                ALL
            } else {
                EQUALITY
            }
        }
        ValueKind::Object => UNEQUAL,
        ValueKind::Nothing | ValueKind::Unknown => NONE,
    }
}

/// Returns whether a text is entirely a plain decimal number, so that it compares as one.
pub(super) fn is_plain_number(text: &str) -> bool {
    Number::from_plain(text).is_some()
}

impl PossibleRelations {
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

impl ValueKind<'_> {
    /// Returns the name with its article, for messages.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            ValueKind::Number => "a number",
            ValueKind::Text | ValueKind::Literal(_) => "a text",
            ValueKind::Boolean => "a boolean",
            ValueKind::Time => "a date-time",
            ValueKind::Dynamic => "a metadata value",
            ValueKind::Object => "an object",
            ValueKind::Nothing => "always missing",
            ValueKind::Unknown => "an unknown field",
        }
    }
}

/// Returns an example of an operator and a right side that would complete a test of the value.
pub(super) fn example_test(operand: &Operand) -> &'static str {
    match kind_of_operand(operand) {
        ValueKind::Number | ValueKind::Nothing => "> 5",
        ValueKind::Boolean => "== true",
        ValueKind::Time => ">= \"2026-01-01T00:00:00Z\"",
        ValueKind::Text
        | ValueKind::Literal(_)
        | ValueKind::Dynamic
        | ValueKind::Object
        | ValueKind::Unknown => "== \"…\"",
    }
}
