//! Where a chunk lies and what its entries come to, in a hundred bytes.

use super::run::OpenRun;
use super::{Place, Stretch};
use crate::decimal::Decimal;
use crate::history::summary::Summary;
use crate::history::tally::Tally;
use crate::sequence::Sequence;

/// How much of some entries a stretch shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    Nothing,
    Some,
    Everything,
}

/// A run of entries, seen from outside.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    /// Event time of the first.
    pub(super) first: i64,
    /// The place of the last.
    pub(super) last: Place,
    pub(super) sequence_min: Sequence,
    pub(super) sequence_max: Sequence,
    amounts: Amounts,
}

/// What amounts come to.
#[derive(Debug, Clone)]
enum Amounts {
    /// Whole numbers of units of `10^-scale`; the sum of their squares in two halves, the lower first.
    Units { n_entries: u8, scale: u8, sum: i64, min: i64, max: i64, squares: [u64; 2] },
    /// Those that are too large for that, or of too many scales.
    Wide(Box<Summary>),
}

/// How entries are summed up, wherever they are.
#[derive(Debug, Clone, Copy)]
pub(in crate::history) struct Sum<'s>(Source<'s>);

#[derive(Debug, Clone, Copy)]
enum Source<'s> {
    Summary(&'s Summary),
    Figures(&'s Figures),
    Run(OpenRun<'s>),
}

impl Figures {
    /// Of a run; `None` for no entry.
    pub(super) fn of(run: OpenRun<'_>) -> Option<Self> {
        let rows = run.rows();
        let (first, last) = rows.ends()?;
        let amounts = match Amounts::in_units(run) {
            Some(amounts) => amounts,
            None => Amounts::Wide(Box::new(run.summary()?)),
        };
        let (sequence_min, sequence_max) = (rows.sequence_min(), rows.sequence_max());
        Some(Self { first: first.0, last, sequence_min, sequence_max, amounts })
    }

    /// Everything in one form.
    pub(super) fn summary(&self) -> Summary {
        match &self.amounts {
            Amounts::Wide(summary) => summary.as_ref().clone(),
            Amounts::Units { n_entries, scale, sum, min, max, squares } => {
                let mut summary = Summary::of(self.sequence_min, Decimal::of_units(*min, *scale));
                summary.sequence_max = self.sequence_max;
                summary.n_entries = u64::from(*n_entries);
                summary.max = Decimal::of_units(*max, *scale);
                summary.sum = crate::history::exact::ExactSum::of_units(i128::from(*sum), *scale);
                summary.squares = crate::history::exact::ExactSum::of_units(whole(*squares), 2 * *scale);
                summary
            }
        }
    }

    pub(super) const fn n_heap_bytes(&self) -> usize {
        match self.amounts {
            Amounts::Units { .. } => 0,
            Amounts::Wide(_) => size_of::<Summary>(),
        }
    }

    #[inline]
    pub(super) fn share(&self, stretch: &Stretch) -> Share {
        share(self.first, self.last.0, (self.sequence_min, self.sequence_max), stretch)
    }

    /// Whether an entry of this place may be among them.
    pub(super) fn may_hold(&self, place: Place) -> bool {
        self.first <= place.0
            && place <= self.last
            && (self.sequence_min..=self.sequence_max).contains(&place.1)
    }
}

/// How much of entries between these times and numbers a stretch shows.
#[inline]
pub(super) fn share(first: i64, last: i64, numbers: (Sequence, Sequence), stretch: &Stretch) -> Share {
    let Stretch { from, to, as_of } = *stretch;
    if last < from || to < first || as_of <= numbers.0 {
        Share::Nothing
    } else if from <= first && last <= to && numbers.1 < as_of {
        Share::Everything
    } else {
        Share::Some
    }
}

const fn whole(squares: [u64; 2]) -> i128 {
    let [low, high] = squares;
    ((high as u128) << 64 | low as u128).cast_signed()
}

impl Amounts {
    fn in_units(run: OpenRun<'_>) -> Option<Self> {
        let rows = run.rows();
        let scale = rows.scale()?;
        let (mut sum, mut min, mut max, mut squares) = (0_i64, i64::MAX, i64::MIN, 0_u128);
        for units in (0..rows.len()).map(|position| rows.units(position)) {
            sum = sum.checked_add(units)?;
            (min, max) = (min.min(units), max.max(units));
            let magnitude = u128::from(units.unsigned_abs());
            squares = squares.checked_add(magnitude * magnitude)?;
        }
        // As a number with a sign it must still be one.
        i128::try_from(squares).ok()?;
        #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
        let squares = [squares as u64, (squares >> 64) as u64];
        Some(Amounts::Units { n_entries: u8::try_from(rows.len()).ok()?, scale, sum, min, max, squares })
    }
}

impl<'s> Sum<'s> {
    pub(super) const fn of_summary(summary: &'s Summary) -> Self {
        Self(Source::Summary(summary))
    }

    pub(super) const fn of_figures(figures: &'s Figures) -> Self {
        Self(Source::Figures(figures))
    }

    pub(super) const fn of_run(run: OpenRun<'s>) -> Self {
        Self(Source::Run(run))
    }

    /// How many entries.
    #[cfg(test)]
    pub(super) fn n_entries(self) -> u64 {
        match self.0 {
            Source::Summary(summary) => summary.n_entries,
            Source::Figures(figures) => figures.summary().n_entries,
            Source::Run(run) => run.rows().len() as u64,
        }
    }

    /// Takes in all amounts; not for `distinct`, of which it knows nothing.
    #[inline]
    pub(in crate::history) fn add_to(self, tally: &mut Tally) {
        let figures = match self.0 {
            Source::Summary(summary) => return tally.add_amounts(summary),
            Source::Run(run) => return run.tally_all_amounts(tally),
            Source::Figures(figures) => figures,
        };
        match &figures.amounts {
            Amounts::Wide(summary) => tally.add_amounts(summary),
            Amounts::Units { n_entries, scale, sum, min, max, squares } => {
                let squares = || (whole(*squares), 2 * *scale);
                tally.add_units(u64::from(*n_entries), *scale, (*sum, *min, *max), squares);
            }
        }
    }
}
