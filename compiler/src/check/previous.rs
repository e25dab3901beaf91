//! Checks `previous_transaction`.

use tollgate_guest_abi::{Comparison, Condition, MatchPair, Operand, PreviousSpec};

use crate::ast::{NodeId, NodeKind, PreviousExpr};
use crate::check::value_kind::{self, ValueKind};
use crate::check::{Checker, ConditionPart, Lowered, PartialCondition};
use crate::codes::Code;
use crate::diagnostic::quote;
use crate::span::Span;

impl Checker<'_, '_> {
    pub(super) fn previous_transaction(&mut self, previous: &PreviousExpr, span: Span) -> Option<Lowered> {
        let mut pairs = Vec::new();
        for (key, item) in &previous.pairs {
            let field = self.field(&key.value, key.span);
            let value = self.item(item);
            self.check_pair(&field, &value, key.span.to(item.span));
            self.check_word_matched(&field, item);
            pairs.push(MatchPair { field, value });
        }
        let window = self.window(previous.window.as_ref()?)?;
        let spec = PreviousSpec { window, pairs };
        self.note_previous(&spec, span);
        let condition = Condition::Previous(spec);
        Some(Lowered::Condition(PartialCondition::One(ConditionPart::test(condition, span, 2))))
    }

    fn check_pair(
        &mut self,
        field: &tollgate_guest_abi::FieldPath,
        value: &tollgate_guest_abi::Item,
        span: Span,
    ) {
        let (left, right) = (value_kind::of_field(field), value_kind::of_item(value));
        let is_unknown = left == ValueKind::Unknown || right == ValueKind::Unknown;
        if !is_unknown && !value_kind::possible(left, right).equal {
            let text = quote(span.text(self.script));
            self.findings.report(Code::NeverTrue, span, || format!("{text} matches nothing")).help(|| {
                format!("{} is {}, the value is {}", quote(&field.to_string()), left.as_str(), right.as_str())
            });
        }
    }

    /// Lowers `previous_transaction(…) == true` and similar tests. Returns `None` when neither side is a lookup.
    pub(super) fn compare_previous(
        &mut self,
        left: NodeId,
        operator: Comparison,
        right: NodeId,
        span: Span,
    ) -> Option<Option<Lowered>> {
        let is_previous =
            |id: NodeId| self.nodes.get(id.0).is_some_and(|node| matches!(node.kind, NodeKind::Previous(_)));
        let (lookup, other) = match (is_previous(left), is_previous(right)) {
            (false, false) => return None,
            (true, _) => (left, right),
            (false, true) => (right, left),
        };
        let (lookup, other) = (self.take(lookup), self.take(other));
        let expected = match (&other, operator) {
            (Lowered::Value(value), Comparison::Equal) => boolean(&value.operand),
            (Lowered::Value(value), Comparison::NotEqual) => {
                boolean(&value.operand).map(|expected| !expected)
            }
            _ => None,
        };
        let Lowered::Condition(PartialCondition::One(part)) = lookup else {
            return Some(None);
        };
        match expected {
            Some(true) => {
                Some(Some(Lowered::Condition(PartialCondition::One(ConditionPart { span, ..part }))))
            }
            Some(false) => {
                let condition = Condition::Not(Box::new(part.condition));
                let part = ConditionPart { condition, span, depth: part.depth + 1, ..part };
                Some(Some(Lowered::Condition(PartialCondition::One(part))))
            }
            None => {
                if !matches!(other, Lowered::Invalid) {
                    self.report_previous_compared(span);
                }
                Some(None)
            }
        }
    }

    fn report_previous_compared(&mut self, span: Span) {
        self.findings
            .report(Code::PreviousCompared, span, || {
                "`previous_transaction` can be compared only with `true` and `false`".to_owned()
            })
            .help(|| {
                "it is a condition by itself; to get the number of transactions, use `count`".to_owned()
            });
    }
}

const fn boolean(operand: &Operand) -> Option<bool> {
    match operand {
        Operand::Boolean(boolean) => Some(*boolean),
        _ => None,
    }
}
