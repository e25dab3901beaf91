//! What a shelf has of one key.

use crate::timeline::{OpenTimeline, TimeRange, TimelineVisitor};

/// The entries of one key, to be looked at more than once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entries<'s> {
    /// `None`: there are none.
    timeline: Option<OpenTimeline<'s>>,
    /// Up to here some was let go, in microseconds since 1970 UTC.
    forgotten_through: i64,
}

impl<'s> Entries<'s> {
    pub(super) const fn new(timeline: Option<OpenTimeline<'s>>, forgotten_through: i64) -> Self {
        Self { timeline, forgotten_through }
    }

    /// Shows what the stretch shows; `None` when something of it was let go.
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
