//! Accumulation of values into one aggregate.

use tollgate_guest_abi::{AggregateFunction, Semantics};
use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::Value;

use crate::distinct::{Distinct, DistinctTally};
use crate::exact::{AggregateValue, ExactSum, ExactValue, standard_deviation};
use crate::summary::RunSummary;

/// The state of an aggregate over the values added so far.
#[derive(Debug)]
pub(super) enum AmountTally {
    Count(u64),
    Sum(ExactSum),
    Avg { sum: ExactSum, n_values: u64 },
    Min(Option<Decimal>),
    Max(Option<Decimal>),
    Distinct(DistinctTally),
    Stddev { sum: ExactSum, squares: ExactSum, n_values: u64 },
}

/// A receiver of amounts and of sums of amounts.
pub(super) trait AmountSink {
    /// Returns whether [`AmountSink::add_sum`] is sufficient.
    fn takes_sums(&self) -> bool;

    fn add_number(&mut self, number: Decimal);

    /// Adds the amounts of several rows. `units` returns their sum, in units of `10^-scale`, and that scale.
    fn add_sum(&mut self, n_rows: u64, units: impl FnOnce() -> (i128, u8));

    /// Adds the amounts of several rows, in units of `10^-scale`: `ends` has sum, minimum and maximum; `squares`
    /// returns the sum of squares and its scale.
    fn add_units(
        &mut self,
        n_rows: u64,
        scale: u8,
        ends: (i64, i64, i64),
        squares: impl FnOnce() -> (i128, u8),
    );

    fn add_amounts(&mut self, summary: &RunSummary);

    /// Returns the aggregate; 0 when there was no value.
    fn finish(&self) -> AggregateValue;
}

/// A sum only; half the work of an [`AmountTally`].
#[derive(Debug, Default)]
pub(super) struct Total(ExactSum);

impl AmountSink for Total {
    #[inline]
    fn takes_sums(&self) -> bool {
        true
    }

    fn add_number(&mut self, number: Decimal) {
        self.0.add(number);
    }

    #[inline]
    fn add_sum(&mut self, _n_rows: u64, units: impl FnOnce() -> (i128, u8)) {
        let (units, scale) = units();
        self.0.add_units_of(units, u32::from(scale));
    }

    #[inline]
    fn add_units(
        &mut self,
        n_rows: u64,
        scale: u8,
        (total, ..): (i64, i64, i64),
        _squares: impl FnOnce() -> (i128, u8),
    ) {
        self.add_sum(n_rows, || (i128::from(total), scale));
    }

    fn add_amounts(&mut self, summary: &RunSummary) {
        self.0.merge(&summary.sum);
    }

    #[inline]
    fn finish(&self) -> AggregateValue {
        self.0.value()
    }
}

impl AmountTally {
    #[inline]
    pub(super) fn new(function: AggregateFunction, semantics: Semantics) -> Self {
        let sum = ExactSum::default();
        match function {
            AggregateFunction::Count => AmountTally::Count(0),
            AggregateFunction::Sum => AmountTally::Sum(sum),
            AggregateFunction::Avg => AmountTally::Avg { sum, n_values: 0 },
            AggregateFunction::Min => AmountTally::Min(None),
            AggregateFunction::Max => AmountTally::Max(None),
            AggregateFunction::Distinct => AmountTally::Distinct(DistinctTally::new(semantics)),
            AggregateFunction::Stddev => {
                AmountTally::Stddev { sum, squares: ExactSum::default(), n_values: 0 }
            }
        }
    }

    /// Returns the exact value; 0 when there was no value.
    pub(super) fn exact(&self) -> ExactValue {
        let of_count = |n: u64| ExactValue::Sum(ExactSum::of_units(i128::from(n), 0));
        match self {
            AmountTally::Count(n_rows) => of_count(*n_rows),
            AmountTally::Distinct(values) => of_count(values.n_distinct()),
            AmountTally::Sum(sum) => ExactValue::Sum(sum.clone()),
            AmountTally::Min(extreme) | AmountTally::Max(extreme) => {
                ExactValue::of(extreme.unwrap_or_default())
            }
            AmountTally::Avg { .. } | AmountTally::Stddev { .. } => ExactValue::Double(self.finish().nearest),
        }
    }

    /// Returns whether a value was added to `distinct`.
    pub(super) fn has(&self, value: &Distinct<'_>) -> bool {
        match self {
            AmountTally::Distinct(values) => values.has(value),
            _ => false,
        }
    }

    /// Adds a value to `distinct` that it does not have.
    pub(super) fn add_new(&mut self, value: Distinct<'_>) {
        if let AmountTally::Distinct(values) = self {
            values.add_new(value.into_kept());
        }
    }

    /// Adds the value of one row; not for `distinct`. Numeric functions ignore all other values, including texts that
    /// are numbers.
    pub(super) fn add(&mut self, value: Value<'_>) {
        match (&mut *self, value) {
            (AmountTally::Count(n_rows), _) => *n_rows += 1,
            (_, Value::Number(number)) => self.add_number(number),
            _ => {}
        }
    }
}

/// Not for `distinct`, which needs more than amounts.
impl AmountSink for AmountTally {
    fn add_number(&mut self, number: Decimal) {
        match self {
            AmountTally::Count(n_rows) => *n_rows += 1,
            AmountTally::Distinct(_) => {}
            AmountTally::Sum(sum) => sum.add(number),
            AmountTally::Avg { sum, n_values } => {
                sum.add(number);
                *n_values += 1;
            }
            AmountTally::Min(least) => *least = Some(least.map_or(number, |least| least.min(number))),
            AmountTally::Max(most) => *most = Some(most.map_or(number, |most| most.max(number))),
            AmountTally::Stddev { sum, squares, n_values } => {
                sum.add(number);
                squares.add_square(number);
                *n_values += 1;
            }
        }
    }

    fn takes_sums(&self) -> bool {
        match self {
            AmountTally::Count(_) | AmountTally::Sum(_) | AmountTally::Avg { .. } => true,
            AmountTally::Min(_)
            | AmountTally::Max(_)
            | AmountTally::Distinct(_)
            | AmountTally::Stddev { .. } => false,
        }
    }

    #[inline]
    fn add_sum(&mut self, n_rows: u64, units: impl FnOnce() -> (i128, u8)) {
        let add = |sum: &mut ExactSum| {
            let (units, scale) = units();
            sum.add_units_of(units, u32::from(scale));
        };
        match self {
            AmountTally::Count(n) => *n += n_rows,
            AmountTally::Sum(sum) => add(sum),
            AmountTally::Avg { sum, n_values } => {
                add(sum);
                *n_values += n_rows;
            }
            AmountTally::Min(_)
            | AmountTally::Max(_)
            | AmountTally::Distinct(_)
            | AmountTally::Stddev { .. } => {}
        }
    }

    fn add_units(
        &mut self,
        n_rows: u64,
        scale: u8,
        (total, least, most): (i64, i64, i64),
        squares: impl FnOnce() -> (i128, u8),
    ) {
        match self {
            AmountTally::Min(_) => self.add_number(Decimal::of_units(least, scale)),
            AmountTally::Max(_) => self.add_number(Decimal::of_units(most, scale)),
            AmountTally::Stddev { sum, squares: own, n_values } => {
                let (units, scale_of_squares) = squares();
                sum.add_units_of(i128::from(total), u32::from(scale));
                own.add_units_of(units, u32::from(scale_of_squares));
                *n_values += n_rows;
            }
            AmountTally::Distinct(_) => {}
            AmountTally::Count(_) | AmountTally::Sum(_) | AmountTally::Avg { .. } => {
                self.add_sum(n_rows, || (i128::from(total), scale));
            }
        }
    }

    fn add_amounts(&mut self, summary: &RunSummary) {
        match self {
            AmountTally::Count(n_rows) => *n_rows += summary.n_entries,
            AmountTally::Distinct(_) => {}
            AmountTally::Sum(sum) => sum.merge(&summary.sum),
            AmountTally::Avg { sum, n_values } => {
                sum.merge(&summary.sum);
                *n_values += summary.n_entries;
            }
            AmountTally::Min(_) => self.add_number(summary.min),
            AmountTally::Max(_) => self.add_number(summary.max),
            AmountTally::Stddev { sum, squares, n_values } => {
                sum.merge(&summary.sum);
                squares.merge(&summary.squares);
                *n_values += summary.n_entries;
            }
        }
    }

    #[inline]
    fn finish(&self) -> AggregateValue {
        match self {
            AmountTally::Count(n_rows) => AggregateValue::of_count(*n_rows),
            AmountTally::Sum(sum) => sum.value(),
            AmountTally::Avg { sum, n_values } => AggregateValue::of_double(sum.mean(*n_values)),
            AmountTally::Min(extreme) | AmountTally::Max(extreme) => extreme.unwrap_or_default().into(),
            AmountTally::Distinct(values) => AggregateValue::of_count(values.n_distinct()),
            AmountTally::Stddev { sum, squares, n_values } => {
                AggregateValue::of_double(standard_deviation(sum, squares, *n_values))
            }
        }
    }
}
