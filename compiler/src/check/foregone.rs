//! Warns about tests whose result does not depend on the transaction.

use tollgate_guest_abi::{Comparison, Operand, TimeFunction, TimeSpec};

use crate::check::compare::ComparisonDraft;
use crate::check::range::Interval;
use crate::check::value_kind::{self, PossibleRelations, ValueKind};
use crate::check::{CheckedValue, Checker};
use crate::codes::Code;
use crate::diagnostic::quote;
use crate::span::Span;

const SAME: &str = "both sides are the same";
const DAYS: &str = "day names are in English, in full, and allowed only with `==`, `!=`, `in` and `not_in`; 0 is Sunday, 6 is Saturday";

impl Checker<'_, '_> {
    /// Reports that a test always has the same result, and why.
    pub(super) fn report_foregone(&mut self, holds: bool, span: Span, why: impl FnOnce() -> String) {
        let text = quote(span.text(self.script));
        let (code, what) = if holds {
            (Code::AlwaysTrue, "always true when its values are present")
        } else {
            (Code::NeverTrue, "never true")
        };
        self.findings.report(code, span, || format!("{text} is {what}")).help(why);
    }

    /// Warns about a comparison that always has the same result.
    pub(super) fn warn_of_foregone(&mut self, comparing: &ComparisonDraft) {
        let ComparisonDraft { left, operator, right, span, .. } = comparing;
        let natures =
            (value_kind::kind_of_operand(&left.operand), value_kind::kind_of_operand(&right.operand));
        if natures.0 == ValueKind::Unknown || natures.1 == ValueKind::Unknown {
            return;
        }
        let possible = value_kind::possible(natures.0, natures.1);
        if !possible.allows(*operator) {
            self.report_foregone(false, *span, || why_never(self.script, comparing, possible));
        } else if *operator == Comparison::NotEqual && !possible.equal {
            self.report_foregone(true, *span, || describe(self.script, left, right));
        } else if left.operand == right.operand {
            match operator {
                Comparison::Equal => self.report_foregone(true, *span, || SAME.to_owned()),
                Comparison::NotEqual | Comparison::Less | Comparison::Greater => {
                    self.report_foregone(false, *span, || SAME.to_owned());
                }
                // A text that is not a number has no order, even with itself.
                Comparison::LessOrEqual | Comparison::GreaterOrEqual => {}
            }
        } else {
            self.warn_of_domain(comparing);
        }
    }

    /// Warns about comparisons outside the range of the value: counts are never negative, hours never above 23.
    fn warn_of_domain(&mut self, comparing: &ComparisonDraft) {
        self.warn_of_shifted_part(comparing);
        let ComparisonDraft { left, operator, right, span, written } = comparing;
        let (value, operator, number) = match (&left.operand, &right.operand) {
            (value, Operand::Number(number)) => (value, *operator, number),
            (Operand::Number(number), value) => (value, operator.mirrored(), number),
            _ => return,
        };
        let Some(domain) = Interval::of_operand(value) else {
            return;
        };
        let why = || format!("the value is {domain}");
        let number = number.to_f64();
        match Interval::of_comparison(operator, number) {
            Some(wanted) if domain.and(wanted).is_empty() => self.report_foregone(false, *span, why),
            // Either half of a `between` may be redundant without being a mistake.
            Some(wanted) if domain.and(wanted) == domain && *written => {
                self.report_foregone(true, *span, why);
            }
            None if domain.and(Interval::only(number)).is_empty() => self.report_foregone(true, *span, why),
            _ => {}
        }
    }
}

fn why_never(script: &str, comparing: &ComparisonDraft, possible: PossibleRelations) -> String {
    let ComparisonDraft { left, operator, right, .. } = comparing;
    let is_order = !matches!(operator, Comparison::Equal | Comparison::NotEqual);
    if is_day_beside_text(left, right) || is_day_beside_text(right, left) {
        DAYS.to_owned()
    } else if is_order && possible.equal && value_kind::kind_of_operand(&left.operand) == ValueKind::Boolean {
        "booleans have no order".to_owned()
    } else if is_order && possible.equal {
        format!("{}; texts can be ordered only when both are numbers", describe(script, left, right))
    } else {
        describe(script, left, right)
    }
}

fn describe(script: &str, left: &CheckedValue, right: &CheckedValue) -> String {
    let one = |value: &CheckedValue| {
        format!(
            "{} is {}",
            quote(value.span.text(script)),
            value_kind::kind_of_operand(&value.operand).as_str()
        )
    };
    let both = format!("{}, {}", one(left), one(right));
    let is_time_beside_text = is_time_beside_text(left, right) || is_time_beside_text(right, left);
    if is_time_beside_text { format!("{both}; {TIMES}") } else { both }
}

/// Describes texts that compare with a date-time.
const TIMES: &str = "a time is written as `\"2026-01-31T10:15:00Z\"`, a whole day as `\"2026-01-31\"`";

fn is_time_beside_text(time: &CheckedValue, text: &CheckedValue) -> bool {
    value_kind::kind_of_operand(&time.operand) == ValueKind::Time && matches!(text.operand, Operand::Text(_))
}

fn is_day_beside_text(day: &CheckedValue, text: &CheckedValue) -> bool {
    matches!(&day.operand, Operand::Time(TimeSpec { function: TimeFunction::DayOfWeek, .. }))
        && matches!(text.operand, Operand::Text(_))
}
