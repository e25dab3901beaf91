//! Locks of anchors, and the records that anchors in memory have on the disk.

use std::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashTable;
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;
use tollgate_model::sequence::Sequence;
use tollgate_records::Address;

use crate::anchor::Anchor;
use crate::key_table::shrink;

/// Maximum number of locks that all anchors share.
const N_SHARDS_MAX: usize = 1_024;
/// The memory limit has one for so many bytes.
const BYTES_PER_SHARD: usize = 16 << 10;

/// The record of an anchor that is in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredCopy {
    hash: u64,
    /// `None` when it has none, although the index takes another one for it.
    pub(super) address: Option<Address>,
    /// The generation of key tables in which the record had everything that is in memory; 0 when something changed.
    pub(super) current_in: u64,
}

/// The anchors that share one lock.
#[derive(Debug, Default)]
pub(super) struct AnchorShard {
    copies: HashTable<StoredCopy>,
    /// Anchors with rows in memory beside their record.
    partial: Vec<Anchor>,
    /// Number of the last status change of a row here.
    pub(super) last_update: Sequence,
}

/// All anchors.
#[derive(Debug)]
pub(super) struct AnchorShards {
    shards: Box<[Mutex<AnchorShard>]>,
    /// Memory of the copies, in bytes.
    n_copy_bytes: AtomicUsize,
    n_partial: AtomicUsize,
}

/// Locked shards.
#[derive(Debug)]
pub(super) struct HeldShards<'r> {
    all: &'r AnchorShards,
    held: SmallVec<[(usize, MutexGuard<'r, AnchorShard>); 8]>,
}

impl AnchorShard {
    pub(super) fn copy_of(&mut self, anchor: Anchor) -> Option<&mut StoredCopy> {
        self.copies.find_mut(anchor.hash, |copy| copy.hash == anchor.hash)
    }
}

impl AnchorShards {
    pub(super) fn within(limit_bytes: usize) -> Self {
        let n_shards = (limit_bytes / BYTES_PER_SHARD).clamp(1, N_SHARDS_MAX);
        let shards = (0..n_shards).map(|_| Mutex::default()).collect();
        Self { shards, n_copy_bytes: AtomicUsize::new(0), n_partial: AtomicUsize::new(0) }
    }

    /// Returns the memory that is taken, in bytes.
    pub(super) fn n_bytes(&self) -> usize {
        self.n_copy_bytes.load(Ordering::Relaxed)
    }

    /// Returns the number of anchors with rows in memory beside their record.
    #[inline]
    pub(super) fn n_partial(&self) -> usize {
        self.n_partial.load(Ordering::Acquire)
    }

    /// Locks what some anchors need, in order.
    pub(super) fn hold(&self, anchors: &[Anchor]) -> HeldShards<'_> {
        let mut numbers: SmallVec<[usize; 8]> =
            anchors.iter().map(|anchor| self.number_of(*anchor)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let lock = |number: usize| Some((number, self.shards.get(number)?.lock()));
        HeldShards { all: self, held: numbers.into_iter().filter_map(lock).collect() }
    }

    /// Locks what one anchor needs, unless another thread has.
    pub(super) fn try_hold(&self, anchor: Anchor) -> Option<HeldShards<'_>> {
        let number = self.number_of(anchor);
        let held = self.shards.get(number)?.try_lock()?;
        Some(HeldShards { all: self, held: [(number, held)].into_iter().collect() })
    }

    fn number_of(&self, anchor: Anchor) -> usize {
        anchor.hash as usize % self.shards.len()
    }

    /// Returns the hashes of anchors in memory of which the record is not that of this generation of tables.
    pub(super) fn changed_since(&self, generation: u64) -> Vec<u64> {
        let mut hashes = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock();
            hashes.extend(
                shard.copies.iter().filter(|copy| copy.current_in != generation).map(|copy| copy.hash),
            );
        }
        hashes
    }

    /// Returns whether an anchor is in memory although it has a record.
    pub(super) fn has_copy(&self, anchor: Anchor) -> bool {
        self.shards.get(self.number_of(anchor)).is_some_and(|shard| shard.lock().copy_of(anchor).is_some())
    }
}

impl HeldShards<'_> {
    /// Returns the shard of an anchor that is held.
    pub(super) fn shard_of(&mut self, anchor: Anchor) -> Option<&mut AnchorShard> {
        let number = self.all.number_of(anchor);
        self.held.iter_mut().find(|(held, _)| *held == number).map(|(_, shard)| &mut **shard)
    }

    pub(super) fn copy_of(&mut self, anchor: Anchor) -> Option<&mut StoredCopy> {
        self.shard_of(anchor)?.copy_of(anchor)
    }

    /// Records where the record of an anchor lies that is in memory.
    pub(super) fn set_copy(&mut self, anchor: Anchor, address: Option<Address>, current_in: u64) {
        let all = self.all;
        let Some(shard) = self.shard_of(anchor) else { return };
        let copy = StoredCopy { hash: anchor.hash, address, current_in };
        if let Some(known) = shard.copy_of(anchor) {
            *known = copy;
            return;
        }
        let before = shard.copies.allocation_size();
        shard.copies.insert_unique(anchor.hash, copy, |copy| copy.hash);
        all.n_copy_bytes.fetch_add(shard.copies.allocation_size() - before, Ordering::Relaxed);
    }

    /// Records that an anchor left memory, or that it has no record.
    pub(super) fn remove_copy(&mut self, anchor: Anchor) {
        let all = self.all;
        let Some(shard) = self.shard_of(anchor) else { return };
        if let Ok(entry) = shard.copies.find_entry(anchor.hash, |copy| copy.hash == anchor.hash) {
            entry.remove();
            let before = shard.copies.allocation_size();
            shrink(&mut shard.copies, |copy| copy.hash);
            all.n_copy_bytes.fetch_sub(before - shard.copies.allocation_size(), Ordering::Relaxed);
        }
    }

    /// Records that rows of an anchor are in memory beside its record.
    pub(super) fn mark_partial(&mut self, anchor: Anchor) {
        let all = self.all;
        if let Some(shard) = self.shard_of(anchor).filter(|shard| !shard.partial.contains(&anchor)) {
            shard.partial.push(anchor);
            all.n_partial.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Records that all rows of an anchor are in memory.
    pub(super) fn mark_whole(&mut self, anchor: Anchor) {
        let all = self.all;
        let Some(shard) = self.shard_of(anchor) else { return };
        if let Some(place) = shard.partial.iter().position(|partial| *partial == anchor) {
            shard.partial.swap_remove(place);
            all.n_partial.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Records that rows of an anchor differ from those of its record.
    pub(super) fn mark_changed(&mut self, anchor: Anchor) {
        if let Some(copy) = self.copy_of(anchor) {
            copy.current_in = 0;
        }
    }
}
