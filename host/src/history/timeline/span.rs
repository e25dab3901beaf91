//! Where a run of entries lies, and its figures.

use super::{Entry, Place, Stretch};
use crate::history::summary::Summary;

/// A run of neighbours, seen from outside.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) first: Place,
    pub(super) last: Place,
    pub(super) summary: Summary,
}

/// How much of a run a stretch shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    Nothing,
    Some,
    Everything,
}

impl Span {
    pub(super) fn of(entry: &Entry) -> Self {
        let summary = Summary::of(entry.sequence, entry.amount);
        Self { first: entry.place(), last: entry.place(), summary }
    }

    pub(super) fn add(&mut self, entry: &Entry) {
        self.first = self.first.min(entry.place());
        self.last = self.last.max(entry.place());
        self.summary.add(entry.sequence, entry.amount);
    }

    /// Of several runs; `None` for none.
    pub(super) fn over<'s>(mut spans: impl Iterator<Item = &'s Span>) -> Option<Self> {
        let mut whole = spans.next()?.clone();
        for span in spans {
            whole.first = whole.first.min(span.first);
            whole.last = whole.last.max(span.last);
            whole.summary.merge(&span.summary);
        }
        Some(whole)
    }

    pub(super) fn share(&self, stretch: Stretch) -> Share {
        let Stretch { from, to, as_of } = stretch;
        if self.last.0 < from || to < self.first.0 || as_of <= self.summary.sequence_min {
            Share::Nothing
        } else if from <= self.first.0 && self.last.0 <= to && self.summary.sequence_max < as_of {
            Share::Everything
        } else {
            Share::Some
        }
    }
}
