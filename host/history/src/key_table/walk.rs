//! Walks over all keys in steps, from the last slot to the first.

use super::KeyTable;
use crate::forgotten::{HistoryForgotten, last_micros_of};
use crate::key::{ExportKey, hash_of};
use crate::timeline::DeferredBytes;

impl KeyTable {
    /// Returns up to `n_slots` slots before one, the last first, and the slot before which to continue. Keys move only
    /// to lower slots, so none is missed.
    pub(super) fn slots_before(
        &self,
        end: usize,
        n_slots: usize,
    ) -> (impl Iterator<Item = u32> + use<>, Option<usize>) {
        let end = end.min(self.buckets.n_slots());
        let from = end.saturating_sub(n_slots);
        ((from..end).rev().filter_map(|slot| u32::try_from(slot).ok()), (from > 0).then_some(from))
    }

    /// Returns the last key before a slot, with handles to its bytes, and the slot before which to continue.
    pub(crate) fn stay(&self, end: usize) -> (Option<(ExportKey, DeferredBytes)>, Option<usize>) {
        let mut next = Some(end);
        while let Some(end) = next {
            let (slots, before) = self.slots_before(end, 1);
            next = before;
            if let Some(bucket) = slots.filter_map(|slot| self.buckets.get(slot)).next() {
                return (Some((ExportKey::of(bucket.key.clone()), bucket.timeline.stay())), next);
            }
        }
        (None, None)
    }

    /// Discards entries in the given range from up to `n_slots` slots before one. Only entire chunks and keys are removed, so
    /// some of these entries remain. Returns the slot before which to continue.
    pub(crate) fn forget(&mut self, what: HistoryForgotten, end: usize, n_slots: usize) -> Option<usize> {
        let through = what.through;
        let (slots, next) = self.slots_before(end, n_slots);
        for slot in slots {
            let Some(bucket) = self.buckets.get_mut(slot) else { continue };
            let mut has_forgotten = bucket.timeline.forget(through, &mut self.account);
            if last_micros_of(bucket.last_day) <= through && bucket.timeline.forget_latest(&mut self.account)
            {
                has_forgotten = true;
                let hash = hash_of(bucket.key.bytes());
                self.drop_bucket(slot, hash);
            }
            if has_forgotten {
                self.lacks(what);
            }
        }
        next
    }
}
