//! Keys with entries that were exported, or that left memory.

use std::sync::atomic::Ordering;

use tollgate_model::sequence::Sequence;

use super::{KeyTable, in_use};
use crate::forgotten::day_of;
use crate::key::{ExportKey, hash_of};
use crate::timeline::{Entry, EntryPosition, RestingRun, Rows};

impl KeyTable {
    /// Records that entries of this slot are in memory which nobody has used since the start.
    fn mark_imported(&mut self, slot: u32) {
        if let Some(bucket) = self.buckets.get(slot) {
            bucket.in_use.store(in_use::NOT, Ordering::Relaxed);
        }
        self.mark_active(slot);
    }

    /// Inserts entries of a key, which are in order; all at once when the key is new.
    pub(crate) fn import(&mut self, key: &ExportKey, entries: &[Entry]) {
        let (slot, is_new) = self.slot_of(key);
        let Some(bucket) = self.buckets.get_mut(slot) else { return };
        bucket.last_day = bucket.last_day.max(entries.last().map_or(0, |entry| day_of(entry.micros)));
        let numbers = entries.iter().map(|entry| entry.sequence);
        self.sequence_max = numbers.fold(self.sequence_max, Sequence::max);
        if is_new {
            bucket.timeline.fill(entries, slot, &mut self.account);
        } else {
            let mut insert = |entry| bucket.timeline.insert(entry, false, slot, &mut self.account);
            if let Err(error) = entries.iter().try_for_each(|entry| insert(entry).map(drop)) {
                self.mark_in_doubt(error);
            }
        }
        self.mark_imported(slot);
    }

    /// Removes an entry of a key; does nothing when it does not exist.
    pub(crate) fn remove_entry(&mut self, key: &ExportKey, place: EntryPosition) {
        let hash = hash_of(key.to_bytes());
        if let Some(slot) = self.find_bytes(key.to_bytes(), hash) {
            self.remove_at(slot, hash, place);
        }
    }

    /// Takes over chunks and a latest run of a key, in the bytes of another table. Returns whether the bytes are valid.
    pub(crate) fn import_runs(&mut self, key: &ExportKey, chunks: &[&[u8]], latest: Option<&[u8]>) -> bool {
        let (slot, is_new) = self.slot_of(key);
        let Some(bucket) = self.buckets.get_mut(slot) else { return false };
        let ends = |bytes: &[u8]| Rows::of(bytes).ends();
        let first = chunks.first().copied().or(latest).and_then(ends);
        let last = chunks.iter().copied().chain(latest).filter_map(ends).map(|(_, last)| last.0).max();
        bucket.last_day = bucket.last_day.max(last.map_or(0, day_of));
        let numbers = chunks.iter().copied().chain(latest).map(|bytes| Rows::of(bytes).sequence_max());
        self.sequence_max = numbers.fold(self.sequence_max, Sequence::max);
        if is_new || first.is_some_and(|(first, _)| bucket.timeline.can_go_on(first)) {
            let is_sound = bucket.timeline.take_over(chunks, latest, slot, &mut self.account);
            self.mark_imported(slot);
            return is_sound;
        }
        // The slot changed during the export, so the key was exported twice.
        chunks.iter().copied().chain(latest).all(|bytes| match RestingRun::of(bytes.into()) {
            Ok(run) => {
                self.import(key, &run.open().to_entries());
                true
            }
            Err(_) => false,
        })
    }

    /// Returns the slot of a key, and whether it is new.
    fn slot_of(&mut self, key: &ExportKey) -> (u32, bool) {
        let hash = hash_of(key.to_bytes());
        match self.find_bytes(key.to_bytes(), hash) {
            Some(slot) => (slot, false),
            None => (self.add(key.kept().clone(), hash), true),
        }
    }
}
