//! The range and summary of everything below a node.

use super::EntryPosition;
use super::chunk::Chunk;
use super::figures::{Overlap, RunFigures, share};
use crate::summary::RunSummary;

use super::TimeRange;

/// The range and summary of consecutive chunks.
#[derive(Debug, Clone)]
pub(super) struct EntrySpan {
    pub(super) first: i64,
    pub(super) last: EntryPosition,
    pub(super) summary: RunSummary,
}

impl EntrySpan {
    pub(super) fn of(figures: &RunFigures) -> Self {
        Self { first: figures.first(), last: figures.last, summary: figures.summary() }
    }

    pub(super) fn add(&mut self, figures: &RunFigures) {
        self.merge(&Self::of(figures));
    }

    fn merge(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.summary.merge(&other.summary);
    }

    pub(super) fn over_chunks(chunks: &[Chunk]) -> Option<Self> {
        Self::over(chunks.iter().map(|chunk| Self::of(&chunk.figures)))
    }

    pub(super) fn over(mut spans: impl Iterator<Item = Self>) -> Option<Self> {
        let mut whole = spans.next()?;
        spans.for_each(|span| whole.merge(&span));
        Some(whole)
    }

    pub(super) fn share(&self, stretch: &TimeRange) -> Overlap {
        share(self.first, self.last.0, (self.summary.sequence_min, self.summary.sequence_max), stretch)
    }

    /// Returns whether an entry below may have this place.
    pub(super) fn may_hold(&self, place: EntryPosition) -> bool {
        let numbers = self.summary.sequence_min..=self.summary.sequence_max;
        self.first <= place.0 && place <= self.last && numbers.contains(&place.1)
    }
}
