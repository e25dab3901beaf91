//! A short run of entries, kept together.

use std::sync::Arc;

use super::body::{Body, OpenBody};
use super::span::Span;
use super::{Entry, Place};
use crate::history::spill::{Spill, SpillError};

/// Most entries of a chunk, as long as its entries can be read back to be parted.
pub(super) const CHUNK_ENTRIES_MAX: usize = 128;

/// A run of neighbours.
#[derive(Debug)]
pub(in crate::history) struct Chunk {
    pub(super) span: Span,
    // INVARIANT: not empty.
    body: Body,
}

impl Chunk {
    pub(super) fn of(entry: Entry, spill: &Arc<Spill>) -> Self {
        Self { span: Span::of(&entry), body: Body::of(vec![entry], spill) }
    }

    /// `None` for no entries. They must be in order.
    pub(super) fn of_all(entries: Vec<Entry>, spill: &Arc<Spill>) -> Option<Self> {
        let (first, rest) = entries.split_first()?;
        let mut span = Span::of(first);
        rest.iter().for_each(|entry| span.add(entry));
        Some(Self { span, body: Body::of(entries, spill) })
    }

    /// Its entries, to take along.
    pub(in crate::history) const fn body(&self) -> &Body {
        &self.body
    }

    /// Its entries, to look at now, if they are in memory.
    pub(in crate::history) fn open_resident(&self) -> Option<OpenBody> {
        self.body.open_resident()
    }

    pub(super) fn is_full(&self) -> bool {
        self.body.len() >= CHUNK_ENTRIES_MAX
    }

    /// Puts an entry at its place. A chunk that grows over its limit keeps its first half and gives the second.
    pub(super) fn insert(&mut self, entry: Entry, spill: &Arc<Spill>) -> Option<Self> {
        self.span.add(&entry);
        if !self.body.insert(entry) && self.body.len() <= CHUNK_ENTRIES_MAX {
            return None;
        }
        // What cannot be read back is not packed again; the entry stays beside it, and nothing is lost.
        let mut entries = self.body.open().ok()?.to_entries();
        if entries.len() <= CHUNK_ENTRIES_MAX {
            self.body = Body::of(entries, spill);
            return None;
        }
        let rest = entries.split_off(entries.len() / 2);
        *self = Self::of_all(entries, spill)?;
        Self::of_all(rest, spill)
    }

    /// What is left of it without an entry; `None` when the entry is not there.
    ///
    /// # Errors
    /// When its entries cannot be read back.
    pub(super) fn without(&self, place: Place, spill: &Arc<Spill>) -> Result<Option<Rest>, SpillError> {
        let body = self.body.open()?;
        if !body.contains(place) {
            return Ok(None);
        }
        let mut entries = body.to_entries();
        entries.retain(|entry| entry.place() != place);
        Ok(Some(Self::of_all(entries, spill).map_or(Rest::Nothing, |rest| Rest::Chunk(Box::new(rest)))))
    }
}

/// What is left of a chunk.
pub(super) enum Rest {
    Nothing,
    Chunk(Box<Chunk>),
}
