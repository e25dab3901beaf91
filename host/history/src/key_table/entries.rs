//! The entries of one key in a key table.

use crate::timeline::{OpenTimeline, TimeRange, TimelineVisitor};

/// The entries of one key, to be visited several times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entries<'s> {
    timeline: Option<OpenTimeline<'s>>,
    /// End of the discarded range, in microseconds since 1970 UTC.
    forgotten_through: i64,
}

impl<'s> Entries<'s> {
    pub(super) const fn new(timeline: Option<OpenTimeline<'s>>, forgotten_through: i64) -> Self {
        Self { timeline, forgotten_through }
    }

    /// Visits the entries in the time range; returns `None` when part of it was discarded.
    #[inline]
    pub(crate) fn visit(&self, stretch: &TimeRange, look: &mut impl TimelineVisitor) -> Option<()> {
        if stretch.from <= self.forgotten_through {
            return None;
        }
        if let Some(timeline) = &self.timeline {
            timeline.visit(stretch, look);
        }
        Some(())
    }
}
