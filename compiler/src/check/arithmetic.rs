//! Checks `+ - * /` and negation, and folds constants.

use tollgate_guest_abi::{ArithmeticOperator, Number, Operand};

use crate::ast::NodeId;
use crate::check::{CheckedValue, Checker, Lowered};
use crate::codes::Code;
use crate::diagnostic::quote;
use crate::span::Span;

impl Checker<'_, '_> {
    pub(super) fn arithmetic(
        &mut self,
        left: NodeId,
        operator: ArithmeticOperator,
        right: NodeId,
        span: Span,
    ) -> Option<Lowered> {
        let (left, right) = (self.number(left), self.number(right));
        let (left, right) = (left?, right?);
        if operator == ArithmeticOperator::Subtract {
            self.note_hyphen(&left, &right);
        }
        if let (Operand::Number(left), Operand::Number(right)) = (&left.operand, &right.operand)
            && let Some(number) = compute(left, operator, right)
        {
            return Some(Lowered::Value(CheckedValue { operand: Operand::Number(number), span, depth: 1 }));
        }
        let depth = self.above(left.depth.max(right.depth), span)?;
        let operand =
            Operand::Arithmetic { left: Box::new(left.operand), operator, right: Box::new(right.operand) };
        Some(Lowered::Value(CheckedValue { operand, span, depth }))
    }

    pub(super) fn negate(&mut self, part: NodeId, span: Span) -> Option<Lowered> {
        let value = self.number(part)?;
        let (operand, depth) = match value.operand {
            Operand::Number(number) => (Operand::Number(number.negated()), 1),
            Operand::Negate(inner) => (*inner, value.depth - 1),
            operand => (Operand::Negate(Box::new(operand)), self.above(value.depth, span)?),
        };
        Some(Lowered::Value(CheckedValue { operand, span, depth }))
    }

    /// Takes an operand of arithmetic. A literal text that is a number becomes that number.
    fn number(&mut self, id: NodeId) -> Option<CheckedValue> {
        let mut value = self.take_value(id)?;
        let number = match &value.operand {
            Operand::Text(text) => Number::from_plain(text),
            Operand::Boolean(_) => None,
            _ => return Some(value),
        };
        let Some(number) = number else {
            self.findings
                .report(Code::NotANumber, value.span, || {
                    format!(
                        "{} is not a number, so it cannot be used in arithmetic",
                        quote(value.span.text(self.script))
                    )
                })
                .help(|| "`+`, `-`, `*` and `/` combine numbers; they do not join texts".to_owned());
            return None;
        };
        value.operand = Operand::Number(number);
        Some(value)
    }
}

/// Returns the result as the shortest decimal of the double. Returns `None` when scripts cannot express it; the
/// evaluation then computes it.
fn compute(left: &Number, operator: ArithmeticOperator, right: &Number) -> Option<Number> {
    let (left, right) = (left.to_f64(), right.to_f64());
    let double = match operator {
        ArithmeticOperator::Add => left + right,
        ArithmeticOperator::Subtract => left - right,
        ArithmeticOperator::Multiply => left * right,
        ArithmeticOperator::Divide => left / right,
    };
    Number::from_f64(double).filter(|number| Number::from_plain(number.as_str()).is_some())
}
