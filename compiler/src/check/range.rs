//! Number ranges, used to detect contradictions and tautologies.

use std::fmt;

use tollgate_guest_abi::{AggregateFunction, Comparison, Operand, TimeFunction};

/// A range from a lower to an upper bound; each bound is open or closed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) low: f64,
    pub(super) low_open: bool,
    pub(super) high: f64,
    pub(super) high_open: bool,
}

pub(super) const WHOLE: Interval =
    Interval { low: f64::NEG_INFINITY, low_open: false, high: f64::INFINITY, high_open: false };

impl Interval {
    const fn closed(low: f64, high: f64) -> Self {
        Self { low, low_open: false, high, high_open: false }
    }

    pub(super) const fn only(number: f64) -> Self {
        Self::closed(number, number)
    }

    /// Returns the numbers that satisfy the comparison with `number`; `None` for `!=`, which is not a range.
    pub(super) const fn of_comparison(operator: Comparison, number: f64) -> Option<Self> {
        match operator {
            Comparison::Equal => Some(Self::only(number)),
            Comparison::NotEqual => None,
            Comparison::Less => Some(Self { high: number, high_open: true, ..WHOLE }),
            Comparison::LessOrEqual => Some(Self { high: number, ..WHOLE }),
            Comparison::Greater => Some(Self { low: number, low_open: true, ..WHOLE }),
            Comparison::GreaterOrEqual => Some(Self { low: number, ..WHOLE }),
        }
    }

    /// Returns the possible range of a value, or `None` when it is unrestricted.
    pub(super) fn of_operand(operand: &Operand) -> Option<Self> {
        match operand {
            Operand::Aggregate(spec) => match spec.function {
                AggregateFunction::Count | AggregateFunction::Distinct | AggregateFunction::Stddev => {
                    Some(Self::closed(0.0, f64::INFINITY))
                }
                AggregateFunction::Sum
                | AggregateFunction::Avg
                | AggregateFunction::Min
                | AggregateFunction::Max => None,
            },
            Operand::Time(spec) => Self::of_part(spec.function),
            _ => None,
        }
    }

    /// Returns the possible range of a part of a date-time, or `None` when it is unrestricted.
    pub(super) const fn of_part(function: TimeFunction) -> Option<Self> {
        match function {
            TimeFunction::HourOfDay => Some(Self::closed(0.0, 23.0)),
            TimeFunction::DayOfWeek => Some(Self::closed(0.0, 6.0)),
            TimeFunction::DayOfMonth => Some(Self::closed(1.0, 31.0)),
            TimeFunction::DayOfYear => Some(Self::closed(1.0, 366.0)),
            TimeFunction::MonthOfYear => Some(Self::closed(1.0, 12.0)),
            TimeFunction::WeekOfYear => Some(Self::closed(1.0, 53.0)),
            TimeFunction::Year => None,
        }
    }

    /// Returns the range moved by a number.
    pub(super) const fn plus(self, number: f64) -> Self {
        Self { low: self.low + number, high: self.high + number, ..self }
    }

    pub(super) fn and(self, other: Self) -> Self {
        let (low, low_open) = match self.low.total_cmp(&other.low) {
            std::cmp::Ordering::Greater => (self.low, self.low_open),
            std::cmp::Ordering::Less => (other.low, other.low_open),
            std::cmp::Ordering::Equal => (self.low, self.low_open || other.low_open),
        };
        let (high, high_open) = match self.high.total_cmp(&other.high) {
            std::cmp::Ordering::Less => (self.high, self.high_open),
            std::cmp::Ordering::Greater => (other.high, other.high_open),
            std::cmp::Ordering::Equal => (self.high, self.high_open || other.high_open),
        };
        Self { low, low_open, high, high_open }
    }

    pub(super) fn is_empty(self) -> bool {
        self.low > self.high || (self.low == self.high && (self.low_open || self.high_open))
    }

    /// Returns whether the union contains every number.
    pub(super) fn covers_all_with(self, other: Self) -> bool {
        let (lower, upper) = if self.low <= other.low { (self, other) } else { (other, self) };
        let touching =
            lower.high > upper.low || (lower.high == upper.low && !(lower.high_open && upper.low_open));
        lower.low == f64::NEG_INFINITY && upper.high == f64::INFINITY && touching
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.high == f64::INFINITY {
            write!(f, "never below {}", self.low)
        } else {
            write!(f, "a number from {} to {}", self.low, self.high)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(operator: Comparison, number: f64) -> Interval {
        Interval::of_comparison(operator, number).unwrap()
    }

    #[test]
    fn ends_belong_to_a_range_or_not() {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
        assert!(range(Greater, 10.0).and(range(Less, 5.0)).is_empty());
        assert!(range(Greater, 10.0).and(range(LessOrEqual, 10.0)).is_empty());
        assert!(!range(GreaterOrEqual, 10.0).and(range(LessOrEqual, 10.0)).is_empty());
        assert!(range(Equal, 1.0).and(range(Equal, 2.0)).is_empty());
        assert!(range(Greater, 5.0).covers_all_with(range(LessOrEqual, 5.0)));
        assert!(!range(Greater, 5.0).covers_all_with(range(Less, 5.0)));
        assert!(range(Less, 10.0).covers_all_with(range(Greater, 5.0)));
        assert!(!range(Less, 5.0).covers_all_with(range(Less, 10.0)));
    }
}
