//! The range and precomputed sums of a chunk, in 64 bytes.

use tollgate_model::decimal::Decimal;
use tollgate_model::sequence::Sequence;

use super::run::OpenRun;
use super::{EntryPosition, TimeRange};
use crate::exact::ExactSum;
use crate::spill::heap_bytes;
use crate::summary::RunSummary;
use crate::tally::AmountSink;

/// The part of some entries that a time range covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overlap {
    Nothing,
    Some,
    Everything,
}

/// The range and sums of a run. Start and sequence numbers are rounded outward to fit.
#[derive(Debug, Clone)]
pub(super) struct RunFigures {
    pub(super) last: EntryPosition,
    /// Time from the first to the last entry, in units of `2^reach_shift` microseconds, rounded up.
    reach: u32,
    /// Distance from the lowest sequence number to that of the last entry; `u32::MAX` means no lower bound.
    below: u32,
    /// Distance from that of the last entry to the highest one; `u32::MAX` means no upper bound.
    above: u32,
    reach_shift: u8,
    amounts: AmountFigures,
}

/// Precomputed sums of amounts.
#[derive(Debug, Clone)]
enum AmountFigures {
    /// The form for most entries.
    Few { n_entries: u8, scale: u8, min: i32, max: i32, sum: i64, squares: u64 },
    /// For values too large for `Few`.
    Units(Box<ScaledUnits>),
    /// For values too large for `Units`, or of too many scales.
    Wide(Box<RunSummary>),
}

impl AmountFigures {
    #[inline]
    fn n_entries(&self) -> u64 {
        match self {
            AmountFigures::Few { n_entries, .. } => (*n_entries).into(),
            AmountFigures::Units(units) => units.n_entries.into(),
            AmountFigures::Wide(summary) => summary.n_entries,
        }
    }
}

/// Amounts in units of `10^-scale`.
#[derive(Debug, Clone, Copy)]
struct ScaledUnits {
    n_entries: u8,
    scale: u8,
    sum: i64,
    min: i64,
    max: i64,
    squares: i128,
}

const _: () = assert!(size_of::<RunFigures>() == 64, "the figures of a run must fill one cache line");

/// The sum of some entries, from any source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntrySum<'s>(SumSource<'s>);

#[derive(Debug, Clone, Copy)]
enum SumSource<'s> {
    Summary(&'s RunSummary),
    Figures(&'s RunFigures),
    Run(&'s OpenRun<'s>),
}

impl RunFigures {
    /// Computes the figures of a run; returns `None` for no entry.
    pub(super) fn of(run: OpenRun<'_>) -> Option<Self> {
        let rows = run.rows();
        let (first, last) = rows.ends()?;
        let amounts = match ScaledUnits::of(run) {
            Some(units) => units.kept(),
            None => AmountFigures::Wide(Box::new(run.summary()?)),
        };
        let distance =
            |from: Sequence, to: Sequence| u32::try_from(to.0.wrapping_sub(from.0)).unwrap_or(u32::MAX);
        let (reach, reach_shift) = reach_of(last.0.abs_diff(first.0));
        Some(Self {
            last,
            reach,
            below: distance(rows.sequence_min(), last.1),
            above: distance(last.1, rows.sequence_max()),
            reach_shift,
            amounts,
        })
    }

    /// Returns a lower bound of the event times.
    #[inline]
    pub(super) fn first(&self) -> i64 {
        let (reach, shift) = (u64::from(self.reach), u32::from(self.reach_shift));
        let reach = if reach.leading_zeros() < shift { u64::MAX } else { reach << shift };
        self.last.0.saturating_sub_unsigned(reach)
    }

    /// Returns a lower bound of the sequence numbers.
    #[inline]
    pub(super) const fn sequence_min(&self) -> Sequence {
        match self.below {
            u32::MAX => Sequence(0),
            below => Sequence(self.last.1.0 - below as u64),
        }
    }

    /// Returns an upper bound of the sequence numbers.
    #[inline]
    pub(super) const fn sequence_max(&self) -> Sequence {
        match self.above {
            u32::MAX => Sequence(u64::MAX),
            above => Sequence(self.last.1.0 + above as u64),
        }
    }

    pub(super) fn summary(&self) -> RunSummary {
        let units = match &self.amounts {
            AmountFigures::Wide(summary) => return summary.as_ref().clone(),
            AmountFigures::Units(units) => **units,
            AmountFigures::Few { n_entries, scale, min, max, sum, squares } => {
                let (n_entries, scale, sum, squares) = (*n_entries, *scale, *sum, i128::from(*squares));
                ScaledUnits { n_entries, scale, sum, min: i64::from(*min), max: i64::from(*max), squares }
            }
        };
        let mut summary = RunSummary::of(self.sequence_min(), Decimal::of_units(units.min, units.scale));
        summary.sequence_max = self.sequence_max();
        summary.n_entries = u64::from(units.n_entries);
        summary.max = Decimal::of_units(units.max, units.scale);
        summary.sum = ExactSum::of_units(i128::from(units.sum), units.scale);
        summary.squares = ExactSum::of_units(units.squares, 2 * units.scale);
        summary
    }

    pub(super) const fn n_heap_bytes(&self) -> usize {
        match self.amounts {
            AmountFigures::Few { .. } => 0,
            AmountFigures::Units(_) => heap_bytes(size_of::<ScaledUnits>()),
            AmountFigures::Wide(_) => heap_bytes(size_of::<RunSummary>()),
        }
    }

    #[inline]
    pub(super) fn share(&self, stretch: &TimeRange) -> Overlap {
        share(self.first(), self.last.0, (self.sequence_min(), self.sequence_max()), stretch)
    }

    /// Returns whether an entry may have this place.
    pub(super) fn may_hold(&self, place: EntryPosition) -> bool {
        self.first() <= place.0
            && place <= self.last
            && (self.sequence_min()..=self.sequence_max()).contains(&place.1)
    }
}

/// Returns how much of the entries between these times and numbers a time range covers.
#[inline]
pub(super) fn share(first: i64, last: i64, numbers: (Sequence, Sequence), stretch: &TimeRange) -> Overlap {
    let TimeRange { from, to, as_of } = *stretch;
    if last < from || to < first || as_of <= numbers.0 {
        Overlap::Nothing
    } else if from <= first && last <= to && numbers.1 < as_of {
        Overlap::Everything
    } else {
        Overlap::Some
    }
}

/// Returns a duration in 32 bits, rounded up, and the number of bits removed.
fn reach_of(micros: u64) -> (u32, u8) {
    let cut = (u64::BITS - micros.leading_zeros()).saturating_sub(u32::BITS);
    let rounded = |cut: u32| u32::try_from(micros.div_ceil(1 << cut)).ok();
    // Rounding up may need one more bit.
    let cut = if rounded(cut).is_some() { cut } else { cut + 1 };
    (rounded(cut).unwrap_or(u32::MAX), u8::try_from(cut).unwrap_or(u8::MAX))
}

impl ScaledUnits {
    /// Returns `None` when the amounts are too large or have no common unit.
    fn of(run: OpenRun<'_>) -> Option<Self> {
        let rows = run.rows();
        let scale = rows.scale()?;
        let (mut sum, mut min, mut max, mut squares) = (0_i64, i64::MAX, i64::MIN, 0_i128);
        for units in (0..rows.len()).map(|position| rows.units(position)) {
            sum = sum.checked_add(units)?;
            (min, max) = (min.min(units), max.max(units));
            squares = squares.checked_add(i128::from(units) * i128::from(units))?;
        }
        Some(Self { n_entries: u8::try_from(rows.len()).ok()?, scale, sum, min, max, squares })
    }

    fn kept(self) -> AmountFigures {
        let Self { n_entries, scale, sum, min, max, squares } = self;
        match (i32::try_from(min), i32::try_from(max), u64::try_from(squares)) {
            (Ok(min), Ok(max), Ok(squares)) => {
                AmountFigures::Few { n_entries, scale, min, max, sum, squares }
            }
            _ => AmountFigures::Units(Box::new(self)),
        }
    }
}

impl<'s> EntrySum<'s> {
    pub(super) const fn of_summary(summary: &'s RunSummary) -> Self {
        Self(SumSource::Summary(summary))
    }

    pub(super) const fn of_figures(figures: &'s RunFigures) -> Self {
        Self(SumSource::Figures(figures))
    }

    pub(super) const fn of_run(run: &'s OpenRun<'s>) -> Self {
        Self(SumSource::Run(run))
    }

    #[inline]
    pub(crate) fn n_entries(self) -> u64 {
        match self.0 {
            SumSource::Summary(summary) => summary.n_entries,
            SumSource::Figures(figures) => figures.amounts.n_entries(),
            SumSource::Run(run) => run.rows().len() as u64,
        }
    }

    /// Adds all amounts to a tally; not for `distinct`.
    #[inline]
    pub(crate) fn add_to(self, tally: &mut impl AmountSink) {
        let figures = match self.0 {
            SumSource::Summary(summary) => return tally.add_amounts(summary),
            SumSource::Run(run) => return run.tally_all_amounts(tally),
            SumSource::Figures(figures) => figures,
        };
        match &figures.amounts {
            AmountFigures::Wide(summary) => tally.add_amounts(summary),
            AmountFigures::Units(units) => {
                let ScaledUnits { n_entries, scale, sum, min, max, squares } = **units;
                tally.add_units(u64::from(n_entries), scale, (sum, min, max), || (squares, 2 * scale));
            }
            AmountFigures::Few { n_entries, scale, min, max, sum, squares } => {
                let ends = (*sum, i64::from(*min), i64::from(*max));
                let squares = || (i128::from(*squares), 2 * *scale);
                tally.add_units(u64::from(*n_entries), *scale, ends, squares);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::Run;
    use super::super::{Entry, TimeRange};
    use super::*;

    fn run(rows: &[(i64, u64, &str)]) -> Run {
        let entry = |(micros, sequence, amount): &(i64, u64, &str)| Entry {
            micros: *micros,
            sequence: Sequence(*sequence),
            amount: Decimal::from_plain(amount).unwrap(),
            ..Entry::default()
        };
        Run::of(&rows.iter().map(entry).collect::<Vec<_>>())
    }

    /// Checks that sums are exact. Times and numbers must be exact if `is_near`, otherwise not too narrow.
    #[track_caller]
    fn check(rows: &[(i64, u64, &str)], is_near: bool) {
        let run = run(rows);
        let (figures, whole) = (RunFigures::of(run.open()).unwrap(), run.open().summary().unwrap());
        let summary = figures.summary();
        assert_eq!((summary.n_entries, summary.min, summary.max), (whole.n_entries, whole.min, whole.max));
        assert_eq!(
            (summary.sum.to_f64(), summary.squares.to_f64()),
            (whole.sum.to_f64(), whole.squares.to_f64())
        );
        let (first, last) = run.open().rows().ends().unwrap();
        assert_eq!(figures.last, last);
        assert!(figures.first() <= first.0);
        assert!(figures.sequence_min() <= whole.sequence_min && whole.sequence_max <= figures.sequence_max());
        if is_near {
            let numbers = (figures.sequence_min(), figures.sequence_max());
            assert_eq!((figures.first(), numbers), (first.0, (whole.sequence_min, whole.sequence_max)));
        }
        let everything = TimeRange { from: i64::MIN, to: i64::MAX, as_of: Sequence(u64::MAX) };
        let expected = if figures.sequence_max().0 < u64::MAX { Overlap::Everything } else { Overlap::Some };
        assert_eq!(figures.share(&everything), expected);
    }

    #[test]
    fn figures_say_what_amounts_come_to_and_never_too_little_of_times_and_numbers() {
        check(&[(5, 1, "1.50"), (6, 3, "-2147483.648"), (7, 2, "2147483.647")], true);
        check(&[(5, 1, "21474836.48"), (6, 2, "0.01")], true);
        check(&[(5, 1, "92233720368547758"), (6, 2, "-92233720368547758")], true);
        check(&[(5, 1, "9223372036854775807"), (6, 2, "9223372036854775807")], true);
        check(&[(5, 1, "99999999999999999999999999999999999999"), (6, 2, "0.0000001")], true);
        check(&[(0, 1, "1"), (i64::from(u32::MAX), 2, "1")], true);
        check(&[(0, 1, "1"), (i64::from(u32::MAX) + 2, 2, "1")], false);
        check(&[(i64::MIN, u64::MAX - 1, "1"), (i64::MAX, 1, "1")], false);
        check(&[(3, 1 << 40, "1"), (4, (1 << 40) + 7, "1"), (5, 0, "1")], false);
        check(&[(3, 0, "1"), (4, 1 << 40, "1")], false);
    }

    #[test]
    fn a_stretch_of_any_length_is_rounded_up_by_little() {
        for bits in 0..u64::BITS {
            for micros in [1_u64 << bits, (1 << bits) - 1, (1 << bits) + 1, u64::MAX >> bits] {
                let (reach, shift) = reach_of(micros);
                let kept = u128::from(reach) << shift;
                assert!(u128::from(micros) <= kept, "{micros}");
                assert!(kept - u128::from(micros) <= u128::from(micros >> 31), "{micros}");
            }
        }
    }
}
