//! One side of a comparison that is exact: a value of the transaction or of the rule, or a computed number.

use tollgate_guest_abi::Semantics;
use tollgate_history::ExactValue;
use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::{RelationSet, Transaction, Value, relate, relate_in};

/// One side of an exact comparison.
pub(super) enum ExactOperand<'t> {
    Value(Value<'t>),
    Computed(ExactValue),
}

impl ExactOperand<'_> {
    pub(super) const fn is_missing(&self) -> bool {
        matches!(self, ExactOperand::Value(Value::Missing))
    }

    pub(super) const fn is_text(&self) -> bool {
        matches!(self, ExactOperand::Value(Value::Text(_) | Value::Caseless(_)))
    }

    pub(super) fn related_to(&self, other: &Self) -> RelationSet {
        self.related_by(other, |left, right| relate(left, right, Semantics::V2), |value| value.as_decimal())
    }

    /// As [`Self::related_to`], for values of this transaction, whose long texts are read once.
    pub(super) fn related_in(&self, of: &Transaction, other: &Self) -> RelationSet {
        let relate = |left: Value<'_>, right: Value<'_>| relate_in(of, left, right, Semantics::V2);
        self.related_by(other, relate, |value| value.as_decimal_in(of))
    }

    fn related_by(
        &self,
        other: &Self,
        relate: impl Fn(Value<'_>, Value<'_>) -> RelationSet,
        decimal: impl Fn(Value<'_>) -> Option<Decimal>,
    ) -> RelationSet {
        let related_value = |value: Value<'_>| related_value(value, decimal(value));
        match (self, other) {
            (ExactOperand::Value(left), ExactOperand::Value(right)) => relate(*left, *right),
            (ExactOperand::Computed(left), ExactOperand::Computed(right)) => {
                RelationSet::of_order(left.order(right))
            }
            (ExactOperand::Computed(left), ExactOperand::Value(right)) => match related_value(*right) {
                Ok(right) => RelationSet::of_order(left.order(&right)),
                Err(relations) => relations,
            },
            (ExactOperand::Value(left), ExactOperand::Computed(right)) => match related_value(*left) {
                Ok(left) => RelationSet::of_order(left.order(right)),
                Err(relations) => relations,
            },
        }
    }
}

/// Returns the value as a number, or its relation to every number if it is not one.
fn related_value(value: Value<'_>, decimal: Option<Decimal>) -> Result<ExactValue, RelationSet> {
    let otherwise = if value.is_missing() { RelationSet::NONE } else { RelationSet::UNEQUAL };
    decimal.map(ExactValue::of).ok_or(otherwise)
}
