//! What is known of a run of entries without looking at them.

use tollgate_model::decimal::Decimal;
use tollgate_model::sequence::Sequence;

use crate::exact::ExactSum;

/// A run of at least one entry in figures: enough to count it and to aggregate its amounts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunSummary {
    /// The lowest sequence number.
    pub(super) sequence_min: Sequence,
    /// The highest sequence number.
    pub(super) sequence_max: Sequence,
    /// How many entries; every one has an amount.
    pub(super) n_entries: u64,
    /// Of the amounts.
    pub(super) sum: ExactSum,
    /// Of the squares of the amounts.
    pub(super) squares: ExactSum,
    /// The smallest amount.
    pub(super) min: Decimal,
    /// The largest amount.
    pub(super) max: Decimal,
}

impl RunSummary {
    /// Of one entry.
    pub(super) fn of(sequence: Sequence, amount: Decimal) -> Self {
        let (mut sum, mut squares) = (ExactSum::default(), ExactSum::default());
        sum.add(amount);
        squares.add_square(amount);
        Self {
            sequence_min: sequence,
            sequence_max: sequence,
            n_entries: 1,
            sum,
            squares,
            min: amount,
            max: amount,
        }
    }

    /// With one entry more.
    pub(super) fn add(&mut self, sequence: Sequence, amount: Decimal) {
        self.sequence_min = self.sequence_min.min(sequence);
        self.sequence_max = self.sequence_max.max(sequence);
        self.n_entries += 1;
        self.sum.add(amount);
        self.squares.add_square(amount);
        self.min = self.min.min(amount);
        self.max = self.max.max(amount);
    }

    /// With another run.
    pub(super) fn merge(&mut self, other: &Self) {
        self.sequence_min = self.sequence_min.min(other.sequence_min);
        self.sequence_max = self.sequence_max.max(other.sequence_max);
        self.n_entries += other.n_entries;
        self.sum.merge(&other.sum);
        self.squares.merge(&other.squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}
