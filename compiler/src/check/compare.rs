//! Checks `== != > >= < <=` and `between`.

use tollgate_guest_abi::{Comparison, Condition, Number, Operand};

use crate::ast::NodeId;
use crate::check::time::day_number;
use crate::check::value_kind::{self, ValueKind};
use crate::check::{CheckedValue, Checker, ConditionPart, Junction, Lowered, PartialCondition};
use crate::codes::Code;
use crate::span::Span;

/// A comparison before it becomes a condition.
pub(super) struct ComparisonDraft {
    pub(super) left: CheckedValue,
    pub(super) operator: Comparison,
    pub(super) right: CheckedValue,
    pub(super) span: Span,
    /// Whether the script contains it in this form; false for the two halves of a `between`.
    pub(super) written: bool,
}

impl Checker<'_, '_> {
    pub(super) fn compare(
        &mut self,
        left: NodeId,
        operator: Comparison,
        right: NodeId,
        span: Span,
    ) -> Option<Lowered> {
        if let Some(lowered) = self.compare_previous(left, operator, right, span) {
            return lowered;
        }
        self.note_right(right);
        let (left, right) = (self.take_value(left), self.take_value(right));
        let part =
            self.comparison(ComparisonDraft { left: left?, operator, right: right?, span, written: true })?;
        Some(Lowered::Condition(PartialCondition::One(part)))
    }

    /// Lowers `between` to two comparisons; both bounds are included.
    pub(super) fn between(
        &mut self,
        value: NodeId,
        low: NodeId,
        high: NodeId,
        span: Span,
    ) -> Option<Lowered> {
        for bound in [low, high] {
            self.note_right(bound);
        }
        let (value, low, high) = (self.take_value(value), self.take_value(low), self.take_value(high));
        let (left, low, high) = (value?, low?, high?);
        let again = CheckedValue { operand: left.operand.clone(), ..left };
        let operator = Comparison::GreaterOrEqual;
        let at_least = self.comparison(ComparisonDraft { left, operator, right: low, span, written: false });
        let operator = Comparison::LessOrEqual;
        let at_most =
            self.comparison(ComparisonDraft { left: again, operator, right: high, span, written: false });
        Some(Lowered::Condition(PartialCondition::Joined(Junction::All, vec![at_least?, at_most?])))
    }

    fn comparison(&mut self, mut comparing: ComparisonDraft) -> Option<ConditionPart> {
        let ComparisonDraft { left, operator, right, span, written } = &mut comparing;
        if is_literal(&left.operand) && is_literal(&right.operand) {
            self.findings
                .report(Code::LiteralsCompared, *span, || "both sides of this test are literals".to_owned())
                .help(|| "one of them should be a field; a field is written without quotes".to_owned());
            return None;
        }
        settle_text(&left.operand, *operator, &mut right.operand);
        settle_text(&right.operand, *operator, &mut left.operand);
        let depth = self.above(left.depth.max(right.depth), *span)?;
        let (span, written) = (*span, *written);
        self.check_words_compared(&comparing.left, &comparing.right);
        self.warn_of_foregone(&comparing);
        let ComparisonDraft { left, operator, right, .. } = comparing;
        let condition = Condition::Compare { left: left.operand, operator, right: right.operand };
        Some(ConditionPart { written, ..ConditionPart::test(condition, span, depth) })
    }
}

pub(super) const fn is_literal(operand: &Operand) -> bool {
    matches!(operand, Operand::Number(_) | Operand::Text(_) | Operand::Boolean(_))
}

/// Converts a literal text that is compared with a number: a day name or a plain decimal becomes that number.
fn settle_text(beside: &Operand, operator: Comparison, literal: &mut Operand) {
    let Operand::Text(text) = &*literal else {
        return;
    };
    let is_equality = matches!(operator, Comparison::Equal | Comparison::NotEqual);
    let day = if is_equality { day_number(beside, text) } else { None };
    let number = || {
        if value_kind::kind_of_operand(beside) == ValueKind::Number { Number::from_plain(text) } else { None }
    };
    if let Some(number) = day.or_else(number) {
        *literal = Operand::Number(number);
    }
}
