//! Operands of a filter and their comparison.

use tollgate_guest_abi::{ArithmeticOperator, Comparison, Semantics, prices};
use tollgate_model::calendar::TimePart;
use tollgate_model::decimal::Decimal;
use tollgate_model::pattern::CompiledPattern;
use tollgate_model::transaction::{Transaction, Value, relate, relate_in};
use tollgate_model::value_set::ValueSet;

use crate::filter::FilterContext;
use crate::lookup_budget::LookupBudget;
use crate::row::{Row, RowField};

/// An operand with its names resolved.
#[derive(Debug)]
pub(super) enum ResolvedOperand {
    /// A literal number under the first semantics.
    Number(f64),
    Decimal(Decimal),
    Text(Box<str>),
    Boolean(bool),
    Field(RowField),
    /// A value of the filter context.
    Current(usize),
    Time(TimePart, RowField),
    CurrentTime(TimePart, usize),
    Arithmetic(Box<(ResolvedOperand, ArithmeticOperator, ResolvedOperand)>),
    Negate(Box<ResolvedOperand>),
}

/// The value of an operand for one row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OperandValue<'a> {
    /// A field value or a literal.
    Value(Value<'a>),
    /// A literal or computed number; NaN is missing.
    Number(f64),
}

/// How values are compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct ComparedBy<'t> {
    pub(super) semantics: Semantics,
    /// The transaction of whose texts some values are: its long texts are read once.
    pub(super) transaction: Option<&'t Transaction>,
}

impl ComparedBy<'_> {
    fn decimal(self, value: Value<'_>) -> Option<Decimal> {
        match self.transaction {
            Some(transaction) => value.as_decimal_in(transaction),
            None => value.as_decimal(),
        }
    }
}

impl ResolvedOperand {
    /// Returns the price of reading it from one row, in fuel.
    pub(super) fn price(&self) -> u64 {
        match self {
            ResolvedOperand::Arithmetic(parts) => prices::ROW_TEST + parts.0.price() + parts.2.price(),
            ResolvedOperand::Negate(operand) => prices::ROW_TEST + operand.price(),
            ResolvedOperand::Time(_, field) => prices::ROW_TIME + field.price(),
            ResolvedOperand::CurrentTime(..) => prices::ROW_TIME,
            ResolvedOperand::Field(field) => field.price(),
            ResolvedOperand::Number(_)
            | ResolvedOperand::Decimal(_)
            | ResolvedOperand::Text(_)
            | ResolvedOperand::Boolean(_)
            | ResolvedOperand::Current(_) => 0,
        }
    }

    pub(super) fn weight(&self) -> u64 {
        match self {
            ResolvedOperand::Arithmetic(parts) => 1 + parts.0.weight() + parts.2.weight(),
            ResolvedOperand::Negate(operand) => 1 + operand.weight(),
            ResolvedOperand::Time(..) | ResolvedOperand::CurrentTime(..) => 4,
            ResolvedOperand::Number(_)
            | ResolvedOperand::Decimal(_)
            | ResolvedOperand::Text(_)
            | ResolvedOperand::Boolean(_)
            | ResolvedOperand::Field(_)
            | ResolvedOperand::Current(_) => 1,
        }
    }

    /// Returns the value for a row. The budget pays for the texts that are read.
    pub(super) fn read<'a>(
        &'a self,
        row: Row<'a>,
        scene: &FilterContext<'a>,
        by: ComparedBy<'_>,
        budget: Option<&LookupBudget<'_>>,
    ) -> OperandValue<'a> {
        let paid = |value: Value<'a>| {
            if let (Some(budget), Some(text)) = (budget, value.as_text()) {
                budget.spend_on_text(text.len());
            }
            value
        };
        match self {
            ResolvedOperand::Number(number) => OperandValue::Number(*number),
            ResolvedOperand::Decimal(number) => OperandValue::Value(Value::Number(*number)),
            ResolvedOperand::Text(text) => OperandValue::Value(Value::Text(text)),
            ResolvedOperand::Boolean(boolean) => OperandValue::Value(Value::Boolean(*boolean)),
            ResolvedOperand::Field(field) => OperandValue::Value(paid(row.value(*field))),
            ResolvedOperand::Current(slot) => OperandValue::Value(paid(scene.current(*slot))),
            ResolvedOperand::Time(part, field) => {
                OperandValue::of_part(part.number_of(paid(row.value(*field))), by.semantics)
            }
            ResolvedOperand::CurrentTime(part, slot) => {
                OperandValue::of_part(part.number_of(paid(scene.current(*slot))), by.semantics)
            }
            ResolvedOperand::Arithmetic(parts) => {
                let (left, operator, right) = parts.as_ref();
                let of = |operand: &'a ResolvedOperand| operand.read(row, scene, by, budget).as_f64(by);
                let (left, right) = (of(left), of(right));
                OperandValue::Number(operator.apply(left, right))
            }
            ResolvedOperand::Negate(operand) => {
                OperandValue::Number(-operand.read(row, scene, by, budget).as_f64(by))
            }
        }
    }
}

impl OperandValue<'_> {
    /// Wraps a part of a date-time: a whole number, or NaN.
    fn of_part(part: f64, semantics: Semantics) -> Self {
        if semantics.is_exact() {
            OperandValue::Value(Value::of_time_part(part))
        } else {
            OperandValue::Number(part)
        }
    }

    /// Returns the double to compute with; NaN when it is missing or not a number.
    fn as_f64(self, by: ComparedBy<'_>) -> f64 {
        match self {
            OperandValue::Value(value) => by.decimal(value).map_or(f64::NAN, Decimal::to_f64),
            OperandValue::Number(number) => number,
        }
    }

    pub(super) const fn is_missing(self) -> bool {
        match self {
            OperandValue::Value(value) => value.is_missing(),
            OperandValue::Number(number) => number.is_nan(),
        }
    }

    /// Returns the price of searching it, in fuel.
    pub(super) fn price_of_search(&self, pattern: &CompiledPattern) -> u64 {
        match self {
            OperandValue::Value(value) => pattern.price_of(value),
            OperandValue::Number(_) => pattern.price_of_number(),
        }
    }

    /// Returns whether the pattern is found; `None` when the value is missing.
    pub(super) fn search(self, pattern: &CompiledPattern) -> Option<bool> {
        match self {
            OperandValue::Value(value) => pattern.search(&value),
            OperandValue::Number(number) => pattern.search_number(number),
        }
    }

    pub(super) fn is_in(self, set: &ValueSet, by: ComparedBy<'_>) -> bool {
        match (self, by.transaction) {
            (OperandValue::Value(value), Some(transaction)) => {
                set.contains_in(transaction, value, by.semantics)
            }
            (OperandValue::Value(value), None) => set.contains(value, by.semantics),
            (OperandValue::Number(number), _) => set.contains_number(number),
        }
    }
}

/// Returns whether the comparison holds; false when either side is missing.
pub(super) fn compare(
    left: OperandValue<'_>,
    operator: Comparison,
    right: OperandValue<'_>,
    by: ComparedBy<'_>,
) -> bool {
    match (left, right) {
        (OperandValue::Value(left), OperandValue::Value(right)) => {
            let relations = match by.transaction {
                Some(transaction) => relate_in(transaction, left, right, by.semantics),
                None => relate(left, right, by.semantics),
            };
            relations.satisfy(operator)
        }
        (OperandValue::Number(left), OperandValue::Value(right)) => compare_number(left, operator, right, by),
        (OperandValue::Value(left), OperandValue::Number(right)) => {
            compare_number(right, operator.mirrored(), left, by)
        }
        (OperandValue::Number(left), OperandValue::Number(right)) => compare_numbers(left, operator, right),
    }
}

/// Compares a computed number as a number field compares; see [`relate`].
fn compare_number(left: f64, operator: Comparison, right: Value<'_>, by: ComparedBy<'_>) -> bool {
    if left.is_nan() || right.is_missing() {
        return false;
    }
    match by.decimal(right) {
        Some(right) => compare_numbers(left, operator, right.to_f64()),
        None => operator == Comparison::NotEqual,
    }
}

fn compare_numbers(left: f64, operator: Comparison, right: f64) -> bool {
    match operator {
        Comparison::Equal => left == right,
        // `!=` alone would hold for NaN.
        Comparison::NotEqual => left != right && !left.is_nan() && !right.is_nan(),
        Comparison::Less => left < right,
        Comparison::LessOrEqual => left <= right,
        Comparison::Greater => left > right,
        Comparison::GreaterOrEqual => left >= right,
    }
}
