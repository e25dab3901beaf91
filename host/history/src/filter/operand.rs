//! The values a filter compares, and how they compare.

use tollgate_guest_abi::{ArithmeticOperator, Comparison, Semantics};
use tollgate_model::calendar::TimePart;
use tollgate_model::decimal::Decimal;
use tollgate_model::pattern::Pattern;
use tollgate_model::transaction::{Value, relate};
use tollgate_model::value_set::ValueSet;

use crate::filter::Scene;
use crate::row::{Row, RowField};

/// An operand with its names resolved.
#[derive(Debug)]
pub(super) enum Operand {
    /// A literal number of the first semantics.
    Number(f64),
    /// A literal number.
    Decimal(Decimal),
    /// A literal text.
    Text(Box<str>),
    /// `true` or `false`.
    Boolean(bool),
    /// A field of the row.
    Field(RowField),
    /// A value of the scene.
    Current(usize),
    /// A part of a date-time of the row.
    Time(TimePart, RowField),
    /// A part of a date-time of the scene.
    CurrentTime(TimePart, usize),
    /// Two numbers combined.
    Arithmetic(Box<(Operand, ArithmeticOperator, Operand)>),
    /// A number with its sign turned.
    Negate(Box<Operand>),
}

/// What an operand says of one row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reading<'a> {
    /// What stands in a field.
    Value(Value<'a>),
    /// A literal or computed number; NaN is missing.
    Number(f64),
}

impl Operand {
    /// How many parts it has.
    pub(super) fn weight(&self) -> u64 {
        match self {
            Operand::Arithmetic(parts) => 1 + parts.0.weight() + parts.2.weight(),
            Operand::Negate(operand) => 1 + operand.weight(),
            Operand::Time(..) | Operand::CurrentTime(..) => 4,
            Operand::Number(_)
            | Operand::Decimal(_)
            | Operand::Text(_)
            | Operand::Boolean(_)
            | Operand::Field(_)
            | Operand::Current(_) => 1,
        }
    }

    pub(super) fn read<'a>(&'a self, row: Row<'a>, scene: &Scene<'a>, semantics: Semantics) -> Reading<'a> {
        match self {
            Operand::Number(number) => Reading::Number(*number),
            Operand::Decimal(number) => Reading::Value(Value::Number(*number)),
            Operand::Text(text) => Reading::Value(Value::Text(text)),
            Operand::Boolean(boolean) => Reading::Value(Value::Boolean(*boolean)),
            Operand::Field(field) => Reading::Value(row.value(*field)),
            Operand::Current(slot) => Reading::Value(scene.current(*slot)),
            Operand::Time(part, field) => Reading::of_part(part.of(row.value(*field)), semantics),
            Operand::CurrentTime(part, slot) => Reading::of_part(part.of(scene.current(*slot)), semantics),
            Operand::Arithmetic(parts) => {
                let (left, operator, right) = parts.as_ref();
                let of = |operand: &'a Operand| operand.read(row, scene, semantics).as_f64();
                let (left, right) = (of(left), of(right));
                Reading::Number(operator.apply(left, right))
            }
            Operand::Negate(operand) => Reading::Number(-operand.read(row, scene, semantics).as_f64()),
        }
    }
}

impl Reading<'_> {
    /// A part of a date-time, which is a whole number, or NaN.
    fn of_part(part: f64, semantics: Semantics) -> Self {
        if semantics.is_exact() { Reading::Value(Value::of_time_part(part)) } else { Reading::Number(part) }
    }

    /// As the double it computes with; NaN when it is missing or no number.
    fn as_f64(self) -> f64 {
        match self {
            Reading::Value(value) => value.as_f64(),
            Reading::Number(number) => number,
        }
    }

    pub(super) const fn is_missing(self) -> bool {
        match self {
            Reading::Value(value) => value.is_missing(),
            Reading::Number(number) => number.is_nan(),
        }
    }

    /// Whether the pattern is found in it; `None` when it is missing.
    pub(super) fn search(self, pattern: &Pattern) -> Option<bool> {
        match self {
            Reading::Value(value) => pattern.search(&value),
            Reading::Number(number) => pattern.search_number(number),
        }
    }

    /// Whether some element of the set equals it.
    pub(super) fn is_in(self, set: &ValueSet, semantics: Semantics) -> bool {
        match self {
            Reading::Value(value) => set.contains(value, semantics),
            Reading::Number(number) => set.contains_number(number),
        }
    }
}

/// Whether the two stand in this relation; never when either is missing.
pub(super) fn compare(
    left: Reading<'_>,
    operator: Comparison,
    right: Reading<'_>,
    semantics: Semantics,
) -> bool {
    match (left, right) {
        (Reading::Value(left), Reading::Value(right)) => relate(left, right, semantics).satisfy(operator),
        (Reading::Number(left), Reading::Value(right)) => compare_number(left, operator, right),
        (Reading::Value(left), Reading::Number(right)) => compare_number(right, operator.mirrored(), left),
        (Reading::Number(left), Reading::Number(right)) => compare_numbers(left, operator, right),
    }
}

/// A computed number compares as a number field does, see [`relate`].
fn compare_number(left: f64, operator: Comparison, right: Value<'_>) -> bool {
    if left.is_nan() || right.is_missing() {
        return false;
    }
    match right.as_decimal() {
        Some(right) => compare_numbers(left, operator, right.to_f64()),
        None => operator == Comparison::NotEqual,
    }
}

fn compare_numbers(left: f64, operator: Comparison, right: f64) -> bool {
    match operator {
        Comparison::Equal => left == right,
        // Not `!=` alone, which holds of NaN.
        Comparison::NotEqual => left != right && !left.is_nan() && !right.is_nan(),
        Comparison::Less => left < right,
        Comparison::LessOrEqual => left <= right,
        Comparison::Greater => left > right,
        Comparison::GreaterOrEqual => left >= right,
    }
}
