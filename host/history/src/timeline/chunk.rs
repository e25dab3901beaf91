//! A chunk: the bytes of a full or split run, in memory or in the spill file, with its figures.

use std::sync::Arc;

use super::figures::RunFigures;
use super::run::{OpenRun, RUN_ENTRIES_MAX, RestingRun, Run, ValueTable};
use super::{Entry, EntryPosition};
use crate::spill::{Extent, SeriesAccount, SpillError, heap_bytes};

#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) figures: RunFigures,
    body: ChunkBytes,
}

/// The bytes of a chunk. They never change.
#[derive(Debug, Clone)]
pub(crate) enum ChunkBytes {
    Here(Arc<[u8]>),
    /// Only in the spill file.
    Away(Extent),
}

/// Returns the memory of bytes behind an `Arc`.
pub(super) const fn shared_bytes(n_bytes: usize) -> usize {
    heap_bytes(n_bytes + 2 * size_of::<usize>())
}

impl ChunkBytes {
    /// Returns the run, read back if necessary.
    ///
    /// # Errors
    /// When it cannot be read back.
    pub(crate) fn open<E: From<SpillError>>(
        &self,
        read: impl Fn(Extent) -> Result<Arc<[u8]>, E>,
    ) -> Result<RestingRun, E> {
        Ok(RestingRun::of(self.bytes(read)?)?)
    }

    /// As [`ChunkBytes::open`], with these columns alone; the others seem to be missing everywhere.
    pub(crate) fn open_columns<E: From<SpillError>>(
        &self,
        columns: &[usize],
        read: impl Fn(Extent) -> Result<Arc<[u8]>, E>,
    ) -> Result<RestingRun, E> {
        Ok(RestingRun::of_columns(self.bytes(read)?, columns)?)
    }

    fn bytes<E>(&self, read: impl Fn(Extent) -> Result<Arc<[u8]>, E>) -> Result<Arc<[u8]>, E> {
        match self {
            ChunkBytes::Here(bytes) => Ok(Arc::clone(bytes)),
            ChunkBytes::Away(extent) => read(*extent),
        }
    }
}

impl Chunk {
    /// Creates a chunk by copying a run; returns `None` when it is empty.
    pub(super) fn of(
        rows: &[u8],
        tables: &[ValueTable],
        slot: u32,
        account: &mut SeriesAccount,
    ) -> Option<Self> {
        let figures = RunFigures::of(OpenRun::of(rows, tables))?;
        let bytes = OpenRun::at_rest(rows, tables);
        account.take(figures.n_heap_bytes());
        account.exchange_entries(0, shared_bytes(bytes.len()));
        account.remember(slot, figures.last);
        Some(Self { figures, body: ChunkBytes::Here(bytes) })
    }

    /// Creates a chunk from the bytes of another; returns `None` when they are invalid.
    pub(super) fn of_bytes(bytes: &[u8], slot: u32, account: &mut SeriesAccount) -> Option<Self> {
        if super::rows::Rows::of(bytes).n_bytes() > bytes.len() {
            return None;
        }
        let figures = RunFigures::of(OpenRun::of(bytes, &[]))?;
        account.take(figures.n_heap_bytes());
        account.exchange_entries(0, shared_bytes(bytes.len()));
        account.remember(slot, figures.last);
        Some(Self { figures, body: ChunkBytes::Here(bytes.into()) })
    }

    pub(super) fn of_entries(entries: &[Entry], slot: u32, account: &mut SeriesAccount) -> Option<Self> {
        let run = Run::of(entries);
        Self::of(&run.rows, &run.tables, slot, account)
    }

    /// Adds an entry that does not exist yet. Returns one chunk, or two where one would be too large.
    ///
    /// # Errors
    /// When its entries cannot be read back; the chunk stays unchanged.
    pub(super) fn with(
        &self,
        entry: &Entry,
        slot: u32,
        account: &mut SeriesAccount,
    ) -> Result<Vec<Self>, SpillError> {
        let mut entries = self.entries(account)?;
        let position = entries.partition_point(|other| other.place() < entry.place());
        entries.insert(position, entry.clone());
        let (first, rest) = match entries.len() {
            ..=RUN_ENTRIES_MAX => (entries.as_slice(), [].as_slice()),
            length => entries.split_at(length / 2),
        };
        Ok([first, rest].into_iter().filter_map(|part| Self::of_entries(part, slot, account)).collect())
    }

    pub(super) const fn body(&self) -> &ChunkBytes {
        &self.body
    }

    pub(super) fn has_room(&self) -> bool {
        match &self.body {
            ChunkBytes::Here(bytes) => super::rows::Rows::of(bytes).len() < RUN_ENTRIES_MAX,
            ChunkBytes::Away(_) => false,
        }
    }

    pub(super) const fn is_here(&self) -> bool {
        matches!(self.body, ChunkBytes::Here(_))
    }

    /// Returns the entries, in order.
    ///
    /// # Errors
    /// When they cannot be read back.
    pub(super) fn entries(&self, account: &SeriesAccount) -> Result<Vec<Entry>, SpillError> {
        Ok(self.body.open(|extent| account.read(extent))?.open().to_entries())
    }

    /// Returns whether an entry has this place.
    ///
    /// # Errors
    /// When the entries cannot be read back.
    pub(super) fn contains(&self, place: EntryPosition, account: &SeriesAccount) -> Result<bool, SpillError> {
        Ok(self.figures.may_hold(place)
            && self.body.open(|extent| account.read(extent))?.open().contains(place))
    }

    /// Releases the bytes from memory if they are the ones written to `extent`; returns whether they are.
    pub(super) fn leave(&mut self, bytes: &Arc<[u8]>, extent: Extent, account: &mut SeriesAccount) -> bool {
        match &self.body {
            ChunkBytes::Here(own) if Arc::ptr_eq(own, bytes) => {
                account.exchange_entries(shared_bytes(own.len()), 0);
                self.body = ChunkBytes::Away(extent);
                true
            }
            ChunkBytes::Here(_) | ChunkBytes::Away(_) => false,
        }
    }

    pub(super) fn discard(self, account: &mut SeriesAccount) {
        account.release(self.figures.n_heap_bytes());
        match self.body {
            ChunkBytes::Here(bytes) => account.exchange_entries(shared_bytes(bytes.len()), 0),
            ChunkBytes::Away(extent) => account.free(extent),
        }
    }
}
