//! Warns about arithmetic with parts of a date-time, which do not wrap around: January minus 1 is 0, not December.

use tollgate_guest_abi::{ArithmeticOperator, Operand, TimeFunction, TimeSpec};

use crate::check::compare::ComparisonDraft;
use crate::check::range::Interval;
use crate::check::{CheckedValue, Checker};
use crate::codes::Code;
use crate::diagnostic::quote;

impl Checker<'_, '_> {
    /// Warns when a shifted part of a date-time is compared with the same part and leaves its range.
    pub(super) fn warn_of_shifted_part(&mut self, comparing: &ComparisonDraft) {
        let ComparisonDraft { left, right, span, .. } = comparing;
        let found = shifted(left, right).or_else(|| shifted(right, left));
        let Some(ShiftedPart { function, shift, of, beside }) = found else { return };
        let Some(range) = Interval::of_part(function) else { return };
        let moved = range.plus(shift);
        if range.and(moved) == moved {
            return;
        }
        let (of, beside) = (quote(of.span.text(self.script)), quote(beside.span.text(self.script)));
        self.findings
            .report(Code::ShiftedTimePart, *span, || {
                format!("{of} is {moved}, but {beside} is {range}: they do not wrap around")
            })
            .help(|| remedy(function, shift));
    }
}

/// A part of a date-time plus a number, beside the same part.
struct ShiftedPart<'a> {
    function: TimeFunction,
    shift: f64,
    of: &'a CheckedValue,
    beside: &'a CheckedValue,
}

fn shifted<'a>(of: &'a CheckedValue, beside: &'a CheckedValue) -> Option<ShiftedPart<'a>> {
    let Operand::Time(TimeSpec { function, .. }) = beside.operand else { return None };
    let Operand::Arithmetic { left, operator, right } = &of.operand else { return None };
    let is_same = |operand: &Operand| matches!(operand, Operand::Time(TimeSpec { function: own, .. }) if *own == function);
    let shift = match (&**left, operator, &**right) {
        (part, ArithmeticOperator::Add, Operand::Number(number)) if is_same(part) => number.to_f64(),
        (Operand::Number(number), ArithmeticOperator::Add, part) if is_same(part) => number.to_f64(),
        (part, ArithmeticOperator::Subtract, Operand::Number(number)) if is_same(part) => -number.to_f64(),
        _ => return None,
    };
    Some(ShiftedPart { function, shift, of, beside })
}

/// Returns a condition that wraps around, if the length of the range is fixed.
fn remedy(function: TimeFunction, shift: f64) -> String {
    let length = match function {
        TimeFunction::HourOfDay => 24.0,
        TimeFunction::DayOfWeek => 7.0,
        TimeFunction::MonthOfYear => 12.0,
        TimeFunction::DayOfMonth
        | TimeFunction::DayOfYear
        | TimeFunction::WeekOfYear
        | TimeFunction::Year => {
            return "months and years differ in length: use a window of time, such as `\"P1D\"`".to_owned();
        }
    };
    let name = function.as_str();
    let difference = -shift;
    let around = if difference > 0.0 { difference - length } else { difference + length };
    format!("test the difference, which has two values: `{name}(a) - {name}(b) in ({difference}, {around})`")
}
