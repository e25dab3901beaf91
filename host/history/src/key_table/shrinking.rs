//! Memory that is freed when many keys are gone.

use super::KeyTable;
use crate::key::hash_of;

impl KeyTable {
    /// Frees memory of keys that are gone, when it is much. Keys in the last slots move to lower ones. Returns whether any
    /// was freed; there may be more.
    pub(super) fn shrink(&mut self) -> bool {
        let Some(slots) = self.buckets.vacate() else { return false };
        for slot in slots.clone() {
            if let Some(bucket) = self.buckets.take(slot) {
                let hash = hash_of(bucket.key.bytes());
                self.remove_from_indexes(&bucket, slot, hash);
                let moved = self.add_bucket(bucket, hash);
                self.queue_again(moved);
            }
        }
        self.buckets.truncate(slots.start, &mut self.account);
        let n_slots = self.buckets.n_slots();
        self.keys.shrink(&mut self.account);
        self.classes.shrink(&mut self.account);
        self.class_links.shrink(&mut self.account);
        self.anchors.shrink(n_slots, &mut self.account);
        self.awake.shrink(n_slots, &mut self.account);
        self.account.shrink_chunks();
        true
    }

    /// Queues a key, and its chunks, under its new slot.
    fn queue_again(&mut self, slot: u32) {
        if let Some(bucket) = self.buckets.get_mut(slot) {
            bucket.is_queued = false;
            let account = &mut self.account;
            bucket.timeline.each_chunk_here(&mut |last| account.remember(slot, last));
        }
        self.mark_active(slot);
    }
}
