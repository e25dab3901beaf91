//! Tests whose answer does not depend on the transaction: they compile, and cannot be meant.

use tollgate_guest_abi::{Comparison, Operand, TimeFunction, TimeSpec};

use crate::check::compare::Comparing;
use crate::check::nature::{self, Nature, Possible};
use crate::check::range::Range;
use crate::check::{Checker, Value};
use crate::codes::Code;
use crate::diagnostic::quote;
use crate::span::Span;

const SAME: &str = "both sides are the same";
const DAYS: &str = "days are named in full, in English, and only with `==`, `!=`, `in` and `not_in`; 0 is Sunday, 6 is Saturday";

impl Checker<'_, '_> {
    /// Says that a test has only one answer, and why.
    pub(super) fn report_foregone(&mut self, holds: bool, span: Span, why: impl FnOnce() -> String) {
        let text = quote(span.text(self.script));
        let (code, what) = if holds {
            (Code::AlwaysTrue, "always true wherever its values are there")
        } else {
            (Code::NeverTrue, "never true")
        };
        self.findings.report(code, span, || format!("{text} is {what}")).help(why);
    }

    /// Warns of a comparison that has only one answer.
    pub(super) fn warn_of_foregone(&mut self, comparing: &Comparing) {
        let Comparing { left, operator, right, span, .. } = comparing;
        let natures = (nature::of(&left.operand), nature::of(&right.operand));
        if natures.0 == Nature::Unknown || natures.1 == Nature::Unknown {
            return;
        }
        let possible = nature::possible(natures.0, natures.1);
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
                // A text that is no number is in no order even with itself.
                Comparison::LessOrEqual | Comparison::GreaterOrEqual => {}
            }
        } else {
            self.warn_of_domain(comparing);
        }
    }

    /// Counts are never negative, hours never above 23.
    fn warn_of_domain(&mut self, comparing: &Comparing) {
        let Comparing { left, operator, right, span, written } = comparing;
        let (value, operator, number) = match (&left.operand, &right.operand) {
            (value, Operand::Number(number)) => (value, *operator, number),
            (Operand::Number(number), value) => (value, operator.mirrored(), number),
            _ => return,
        };
        let Some(domain) = Range::of_operand(value) else {
            return;
        };
        let why = || format!("it is {domain}");
        let number = number.to_f64();
        match Range::of_comparison(operator, number) {
            Some(wanted) if domain.and(wanted).is_empty() => self.report_foregone(false, *span, why),
            // One half of a `between` may well be no restriction.
            Some(wanted) if domain.and(wanted) == domain && *written => {
                self.report_foregone(true, *span, why);
            }
            None if domain.and(Range::only(number)).is_empty() => self.report_foregone(true, *span, why),
            _ => {}
        }
    }
}

fn why_never(script: &str, comparing: &Comparing, possible: Possible) -> String {
    let Comparing { left, operator, right, .. } = comparing;
    let is_order = !matches!(operator, Comparison::Equal | Comparison::NotEqual);
    if is_day_beside_text(left, right) || is_day_beside_text(right, left) {
        DAYS.to_owned()
    } else if is_order && possible.equal && nature::of(&left.operand) == Nature::Boolean {
        "booleans have no order".to_owned()
    } else if is_order && possible.equal {
        format!("{}; texts have an order only when both are numbers", describe(script, left, right))
    } else {
        describe(script, left, right)
    }
}

fn describe(script: &str, left: &Value, right: &Value) -> String {
    let one = |value: &Value| {
        format!("{} is {}", quote(value.span.text(script)), nature::of(&value.operand).as_str())
    };
    let both = format!("{}, {}", one(left), one(right));
    let is_time_beside_text = is_time_beside_text(left, right) || is_time_beside_text(right, left);
    if is_time_beside_text { format!("{both}; {TIMES}") } else { both }
}

/// The texts that compare with a date-time.
const TIMES: &str = "a time is written `\"2026-01-31T10:15:00Z\"`, a whole day `\"2026-01-31\"`";

fn is_time_beside_text(time: &Value, text: &Value) -> bool {
    nature::of(&time.operand) == Nature::Time && matches!(text.operand, Operand::Text(_))
}

fn is_day_beside_text(day: &Value, text: &Value) -> bool {
    matches!(&day.operand, Operand::Time(TimeSpec { function: TimeFunction::DayOfWeek, .. }))
        && matches!(text.operand, Operand::Text(_))
}
