//! The summary of a run of entries.

use tollgate_model::decimal::Decimal;
use tollgate_model::sequence::Sequence;

use crate::exact::ExactSum;

/// Precomputed values of at least one entry, enough to count and to aggregate amounts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunSummary {
    pub(super) sequence_min: Sequence,
    pub(super) sequence_max: Sequence,
    /// Number of entries; every one has an amount.
    pub(super) n_entries: u64,
    pub(super) sum: ExactSum,
    pub(super) squares: ExactSum,
    pub(super) min: Decimal,
    pub(super) max: Decimal,
}

impl RunSummary {
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

    pub(super) fn add(&mut self, sequence: Sequence, amount: Decimal) {
        self.sequence_min = self.sequence_min.min(sequence);
        self.sequence_max = self.sequence_max.max(sequence);
        self.n_entries += 1;
        self.sum.add(amount);
        self.squares.add_square(amount);
        self.min = self.min.min(amount);
        self.max = self.max.max(amount);
    }

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
