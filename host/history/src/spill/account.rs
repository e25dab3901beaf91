//! The memory of one series, and the queue of its chunks to be spilled.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Extent, Spill, SpillError};
use crate::key_table::has_much_room;
use crate::timeline::EntryPosition;

/// The share of one series in the memory account; released when it is dropped.
#[derive(Debug)]
pub(crate) struct SeriesAccount {
    spill: Arc<Spill>,
    n_bytes: usize,
    /// The part of `n_bytes` that can leave memory.
    n_entry_bytes: usize,
    /// Chunks in memory, by the slot of their key and the place of their last entry, oldest first. Chunks that no
    /// longer exist are skipped.
    chunks: VecDeque<(u32, EntryPosition)>,
}

/// Returns the memory that an allocation of `n_bytes` takes. The allocator has the size 8, each multiple of 16 up to
/// 128, then four sizes per power of two (jemalloc manual, "size classes").
pub(crate) const fn heap_bytes(n_bytes: usize) -> usize {
    match n_bytes {
        0 => 0,
        1..=8 => 8,
        9..=128 => n_bytes.next_multiple_of(16),
        _ => n_bytes.next_multiple_of(1 << ((n_bytes - 1).ilog2() - 2)),
    }
}

impl SeriesAccount {
    pub(crate) fn of(spill: &Arc<Spill>) -> Self {
        Self { spill: Arc::clone(spill), n_bytes: 0, n_entry_bytes: 0, chunks: VecDeque::new() }
    }

    pub(crate) const fn spill(&self) -> &Arc<Spill> {
        &self.spill
    }

    pub(crate) fn take(&mut self, n_bytes: usize) {
        self.n_bytes += n_bytes;
        self.spill.resident_bytes.fetch_add(n_bytes, Ordering::Relaxed);
    }

    pub(crate) fn release(&mut self, n_bytes: usize) {
        self.n_bytes = self.n_bytes.saturating_sub(n_bytes);
        self.spill.resident_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
    }

    pub(crate) fn exchange(&mut self, released: usize, taken: usize) {
        if taken != released {
            self.take(taken);
            self.release(released);
        }
    }

    /// Same as [`SeriesAccount::exchange`], for entries, which can leave memory.
    pub(crate) fn exchange_entries(&mut self, released: usize, taken: usize) {
        self.exchange(released, taken);
        self.n_entry_bytes = (self.n_entry_bytes + taken).saturating_sub(released);
        self.spill.entry_bytes.fetch_add(taken, Ordering::Relaxed);
        self.spill.entry_bytes.fetch_sub(released, Ordering::Relaxed);
    }

    /// Returns the memory of the series, in bytes.
    pub(crate) const fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Returns the part of the memory that cannot leave it, in bytes.
    pub(crate) const fn n_kept_bytes(&self) -> usize {
        self.n_bytes.saturating_sub(self.n_entry_bytes)
    }

    /// Releases everything, because the series is dropped.
    pub(crate) fn release_all(&mut self) {
        self.spill.resident_bytes.fetch_sub(std::mem::take(&mut self.n_bytes), Ordering::Relaxed);
        self.spill.entry_bytes.fetch_sub(std::mem::take(&mut self.n_entry_bytes), Ordering::Relaxed);
    }

    /// Queues a chunk that is now in memory.
    pub(crate) fn remember(&mut self, slot: u32, last: EntryPosition) {
        if self.spill.is_bounded() {
            let capacity = self.chunks.capacity();
            self.chunks.push_back((slot, last));
            if self.chunks.capacity() != capacity {
                self.exchange(chunks_bytes(capacity), chunks_bytes(self.chunks.capacity()));
            }
        }
    }

    pub(crate) fn next_chunk(&mut self) -> Option<(u32, EntryPosition)> {
        self.chunks.pop_front()
    }

    /// Frees memory of the queue of chunks that it does not need.
    pub(crate) fn shrink_chunks(&mut self) {
        let capacity = self.chunks.capacity();
        if has_much_room(capacity, self.chunks.len()) {
            self.chunks.shrink_to(2 * self.chunks.len());
            self.exchange(chunks_bytes(capacity), chunks_bytes(self.chunks.capacity()));
        }
    }

    /// Reads a piece that will not be read again.
    ///
    /// # Errors
    /// When the bytes are damaged.
    pub(crate) fn read(&self, extent: Extent) -> Result<Arc<[u8]>, SpillError> {
        self.spill.read_once(extent)
    }

    /// Reads a piece that is to be changed; the caller must still free its extent.
    ///
    /// # Errors
    /// When the bytes are damaged.
    pub(crate) fn read_owned(&self, extent: Extent) -> Result<Vec<u8>, SpillError> {
        self.spill.read_owned(extent)
    }

    pub(crate) fn free(&self, extent: Extent) {
        self.spill.free(extent);
    }
}

impl Drop for SeriesAccount {
    fn drop(&mut self) {
        self.release_all();
    }
}

const fn chunks_bytes(capacity: usize) -> usize {
    heap_bytes(capacity * size_of::<(u32, EntryPosition)>())
}
