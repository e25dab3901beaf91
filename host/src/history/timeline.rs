//! Entries in the order of event time, in chunks, under a tree of summaries.
//!
//! ```text
//!  Timeline ─ Node ─┬─ Node ─┬─ chunk ─ chunk ─ …      ordered by (event time, sequence)
//!                   │        │    └ body: packed entries, and some loose ones
//!                   ├─ Node  └ span: first, last, lowest and highest sequence, count, sum, min, max, …
//!                   └─ …
//! ```
//!
//! Every chunk and every node has a *span* that says where it lies and sums it up. A question takes the figures of the
//! highest spans that lie wholly in its window, so that it looks at a number of spans that grows with the logarithm of the
//! entries, and at entries only where a chunk lies across an edge of the window or where figures do not suffice. Readers
//! take those chunks along, so that they look at entries without holding a lock.

mod bits;
mod body;
mod chunk;
mod node;
mod packed;
mod span;

use std::sync::Arc;

use crate::decimal::Decimal;
use crate::history::held::Held;
use crate::history::spill::{Spill, SpillError};
use crate::history::summary::Summary;
use crate::sequence::Sequence;

use node::Node;

pub(super) use body::{Body, OpenBody};
pub(super) use chunk::Chunk;
pub(super) use packed::OpenPacked;

/// One accepted transaction at its place in time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// Event time, in microseconds since 1970 UTC.
    pub(super) micros: i64,
    /// When it was accepted.
    pub(super) sequence: Sequence,
    /// How much.
    pub(super) amount: Decimal,
    /// What else questions read of it: the columns of its series.
    pub(super) cells: Box<[Held]>,
}

/// Where an entry stands: event time and sequence.
type Place = (i64, Sequence);

/// A stretch of event time, both ends included, seen from a sequence number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// Microseconds since 1970 UTC.
    pub(super) from: i64,
    /// Microseconds since 1970 UTC.
    pub(super) to: i64,
    /// Entries with this number or a higher one are not seen.
    pub(super) as_of: Sequence,
}

/// Who looks at a timeline.
pub(super) trait Look {
    /// A run of entries, all of which are shown. Answers whether its figures suffice; otherwise its chunks follow.
    fn run(&mut self, summary: &Summary) -> bool;

    /// A chunk some entries of which may be shown.
    fn chunk(&mut self, chunk: &Chunk);
}

/// Entries in order, each (event time, sequence) at most once.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    root: Node,
}

impl Entry {
    const fn place(&self) -> Place {
        (self.micros, self.sequence)
    }
}

impl Stretch {
    /// Whether it shows the entry.
    pub(super) fn shows(&self, entry: &Entry) -> bool {
        (self.from..=self.to).contains(&entry.micros) && entry.sequence < self.as_of
    }
}

impl Timeline {
    /// Whether nothing is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.root.is_empty()
    }

    /// Puts an entry at its place: cheap at the end, correct anywhere.
    pub(super) fn insert(&mut self, entry: Entry, spill: &Arc<Spill>) {
        if let Some(rest) = self.root.insert(entry, spill) {
            let first = std::mem::take(&mut self.root);
            self.root = Node::over([first, rest]);
        }
    }

    /// Takes an entry back; nothing happens when it is not there.
    ///
    /// # Errors
    /// When it may be among entries that cannot be read back.
    pub(super) fn remove(
        &mut self,
        micros: i64,
        sequence: Sequence,
        spill: &Arc<Spill>,
    ) -> Result<(), SpillError> {
        self.root.remove((micros, sequence), spill)?;
        self.root.shrink();
        Ok(())
    }

    /// Shows what the stretch shows, in order.
    pub(super) fn visit(&self, stretch: Stretch, look: &mut impl Look) {
        self.root.visit(stretch, look);
    }
}

#[cfg(test)]
mod tests;
