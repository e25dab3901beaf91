//! The keys of each anchor, which leave memory and come back together.

use std::sync::atomic::Ordering;

use hashbrown::HashTable;
use smallvec::SmallVec;
use tollgate_model::sequence::Sequence;

use super::index::{has_much_room, shrink};
use super::{KeyTable, in_use};
use crate::anchor::Anchor;
use crate::forgotten::HistoryForgotten;
use crate::key::{ExportKey, hash_of};
use crate::spill::{SeriesAccount, heap_bytes};
use crate::timeline::DeferredBytes;

/// An anchor with more keys in a series stays in memory.
const KEYS_MAX: usize = 256;
/// A key with more chunks stays in memory; its chunks leave one by one.
pub(super) const CHUNKS_MAX: usize = 4;

/// Slots by the hash of their anchor.
#[derive(Debug, Default)]
pub(super) struct AnchorIndex {
    /// Indexed by slot.
    hashes: Vec<u64>,
    slots: HashTable<u32>,
}

/// The part of an anchor in one series.
#[derive(Debug)]
pub(crate) enum AnchorPart {
    /// Its keys, with handles to their bytes.
    Keys(Vec<(ExportKey, DeferredBytes)>),
    /// A key was used since it was last considered.
    InUse,
    /// A key has more than may leave memory at once.
    TooLong,
}

/// The state of a table beside its keys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableState {
    /// Number of the table.
    pub(crate) id: u64,
    /// Number of keys with a value that is itself a number, in memory or not.
    pub(crate) n_with_numbers: usize,
    /// Upper bound of the sequence numbers of all entries.
    pub(crate) sequence_max: Sequence,
    pub(crate) forgotten: Option<HistoryForgotten>,
}

impl AnchorIndex {
    pub(super) fn add(&mut self, slot: u32, hash: u64, account: &mut SeriesAccount) {
        let before = self.n_heap_bytes();
        if self.hashes.len() <= slot as usize {
            self.hashes.resize(slot as usize + 1, 0);
        }
        if let Some(place) = self.hashes.get_mut(slot as usize) {
            *place = hash;
        }
        let hashes = &self.hashes;
        let hash_of = |slot: &u32| hashes.get(*slot as usize).copied().unwrap_or_default();
        self.slots.insert_unique(hash, slot, hash_of);
        account.exchange(before, self.n_heap_bytes());
    }

    pub(super) fn remove(&mut self, slot: u32) {
        let hash = self.hash_of(slot);
        if let Ok(entry) = self.slots.find_entry(hash, |other| *other == slot) {
            entry.remove();
        }
    }

    /// Frees memory for slots that are gone.
    pub(super) fn shrink(&mut self, n_slots: usize, account: &mut SeriesAccount) {
        let before = self.n_heap_bytes();
        self.hashes.truncate(n_slots);
        if has_much_room(self.hashes.capacity(), self.hashes.len()) {
            self.hashes.shrink_to(2 * n_slots);
        }
        let hashes = &self.hashes;
        shrink(&mut self.slots, |slot| hashes.get(*slot as usize).copied().unwrap_or_default());
        account.exchange(before, self.n_heap_bytes());
    }

    pub(super) fn hash_of(&self, slot: u32) -> u64 {
        self.hashes.get(slot as usize).copied().unwrap_or_default()
    }

    /// Returns the slots of an anchor, one more than [`KEYS_MAX`] at most.
    fn slots_of(&self, hash: u64) -> SmallVec<[u32; 8]> {
        let slots = self.slots.iter_hash(hash).copied().filter(|slot| self.hash_of(*slot) == hash);
        slots.take(KEYS_MAX + 1).collect()
    }

    fn has(&self, hash: u64) -> bool {
        self.slots.find(hash, |slot| self.hash_of(*slot) == hash).is_some()
    }

    fn n_heap_bytes(&self) -> usize {
        heap_bytes(self.hashes.capacity() * size_of::<u64>()) + heap_bytes(self.slots.allocation_size())
    }
}

impl KeyTable {
    /// Returns the number of this table; another table of the series has another.
    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn add_anchor(&mut self, slot: u32) {
        let bucket = self.buckets.get(slot);
        let anchor = bucket.and_then(|bucket| self.layout.anchor()?.anchor_of(bucket.key.bytes()));
        if let Some(anchor) = anchor {
            self.anchors.add(slot, anchor.hash, &mut self.account);
        }
    }

    /// Finds keys by their anchors from now on, and lets all of them leave, also those of which nothing is left in memory but
    /// the key.
    pub(crate) fn index_anchors(&mut self) {
        if self.has_anchors || !self.lets_keys_leave {
            return;
        }
        self.has_anchors = true;
        (0..self.buckets.n_slots())
            .filter_map(|slot| u32::try_from(slot).ok())
            .for_each(|slot| self.add_anchor(slot));
        self.consider_all();
    }

    /// Returns the anchor of a slot.
    pub(super) fn anchor_of_slot(&self, slot: u32) -> Option<Anchor> {
        let domain = self.layout.anchor()?.domain;
        Some(Anchor { domain, hash: self.anchors.hash_of(slot) })
    }

    /// Returns what is known of the table beside its keys.
    pub(crate) const fn state(&self) -> TableState {
        TableState {
            id: self.id,
            n_with_numbers: self.n_with_numbers,
            sequence_max: self.sequence_max,
            forgotten: self.forgotten,
        }
    }

    /// Makes this the table that had this state, and whose other keys are in records.
    pub(crate) fn adopt(&mut self, state: TableState) {
        self.id = state.id;
        self.n_with_numbers = state.n_with_numbers;
        self.sequence_max = self.sequence_max.max(state.sequence_max);
        if let Some(forgotten) = state.forgotten {
            self.lacks(forgotten);
        }
    }

    /// Returns whether a key of an anchor is in memory.
    pub(crate) fn has_keys_of(&self, anchor: Anchor) -> bool {
        self.anchors.has(anchor.hash)
    }

    /// Returns the anchors of up to `n_slots` slots before one, and the slot before which to continue.
    pub(crate) fn anchors_before(&self, end: usize, n_slots: usize) -> (Vec<Anchor>, Option<usize>) {
        let (slots, next) = self.slots_before(end, n_slots);
        let anchors = slots.filter(|slot| self.buckets.get(*slot).is_some());
        (anchors.filter_map(|slot| self.anchor_of_slot(slot)).collect(), next)
    }

    /// Returns the keys of an anchor; with `takes_used`, also those that were used lately.
    pub(crate) fn part_of(&self, anchor: Anchor, takes_used: bool) -> AnchorPart {
        let slots = self.anchors.slots_of(anchor.hash);
        let buckets = || slots.iter().filter_map(|slot| self.buckets.get(*slot));
        if slots.len() > KEYS_MAX || buckets().any(|bucket| !bucket.timeline.has_few_chunks(CHUNKS_MAX)) {
            return AnchorPart::TooLong;
        }
        if !takes_used && buckets().any(|bucket| bucket.in_use.load(Ordering::Relaxed) >= in_use::AGAIN) {
            return AnchorPart::InUse;
        }
        let key = |bucket: &super::Bucket| (ExportKey::of(bucket.key.clone()), bucket.timeline.stay());
        AnchorPart::Keys(buckets().map(key).collect())
    }

    /// Drops keys whose entries are elsewhere now.
    pub(crate) fn leave<'k>(&mut self, keys: impl IntoIterator<Item = &'k ExportKey>) {
        self.n_considered = 0;
        for key in keys {
            let hash = hash_of(key.to_bytes());
            if let Some(slot) = self.find_bytes(key.to_bytes(), hash)
                && let Some(bucket) = self.remove_bucket(slot, hash)
            {
                bucket.timeline.discard(&mut self.account);
            }
        }
    }

    /// Takes back a key that left memory, lately or long ago. Returns whether the bytes are valid.
    pub(crate) fn come_back(
        &mut self,
        key: &ExportKey,
        chunks: &[&[u8]],
        latest: Option<&[u8]>,
        left_lately: bool,
    ) -> bool {
        // It was counted when it left.
        let n_with_numbers = self.n_with_numbers;
        let is_sound = self.import_runs(key, chunks, latest);
        self.n_with_numbers = n_with_numbers;
        if let Some(slot) = self.find_bytes(key.to_bytes(), hash_of(key.to_bytes()))
            && let Some(bucket) = self.buckets.get(slot)
        {
            // A key that is needed soon after it left counts as used often.
            let in_use = if left_lately { in_use::OFTEN } else { in_use::BACK };
            bucket.in_use.store(in_use, Ordering::Relaxed);
        }
        is_sound
    }

    /// Frees memory of keys that are gone; see [`KeyTable::shrink`]. Then returns anchors that were not used lately, of keys
    /// that are considered next, until these have about `n_bytes`. The slots must be considered again if they stay.
    pub(crate) fn anchors_to_leave(&mut self, n_bytes: usize) -> Vec<(u32, Anchor)> {
        self.shrink();
        let slots = self.take_unused(n_bytes, size_of::<super::Bucket>());
        slots.into_iter().filter_map(|slot| Some((slot, self.anchor_of_slot(slot)?))).collect()
    }

    /// Considers a slot again later.
    pub(crate) fn consider(&mut self, slot: u32) {
        if self.buckets.get(slot).is_some() {
            self.mark_active(slot);
        }
    }

    /// Returns the memory of the keys that may leave, in bytes. A key of an anchor that is too long for that is considered no
    /// more, until it is used again.
    pub(crate) fn n_leaving_bytes(&self) -> usize {
        let n_slots = self.buckets.n_slots().max(1);
        self.n_kept_bytes() / n_slots * self.awake.len().min(n_slots)
    }

    /// Considers all slots, whether their entries are in memory or not.
    pub(crate) fn consider_all(&mut self) {
        if self.lets_keys_leave {
            (0..self.buckets.n_slots())
                .filter_map(|slot| u32::try_from(slot).ok())
                .for_each(|slot| self.consider(slot));
        }
    }

    /// Returns whether keys of this table may be on the disk.
    #[inline]
    pub(crate) fn may_be_elsewhere(&self) -> bool {
        self.lets_keys_leave && self.account.spill().has_records()
    }
}
