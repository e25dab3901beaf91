//! Memory that is freed when many keys are gone.

use super::KeyTable;
use crate::key::hash_of;

impl KeyTable {
    /// Frees memory of keys that are gone, when it is much. There may be more, which the next call frees.
    pub(super) fn shrink(&mut self) {
        let before = self.n_bytes();
        self.move_last_keys();
        self.keys.shrink(&mut self.account);
        self.classes.shrink(&mut self.account);
        self.class_links.shrink(&mut self.account);
        self.anchors.shrink(self.buckets.n_slots(), &mut self.account);
        self.awake.shrink(&mut self.account);
        self.account.shrink_chunks();
        if self.n_bytes() < before {
            self.n_considered = 0;
        }
    }

    /// Moves keys in the last slots to lower ones, and frees those, when many slots are free.
    fn move_last_keys(&mut self) {
        let Some(slots) = self.buckets.vacate() else { return };
        for slot in slots.clone() {
            if let Some(bucket) = self.buckets.take(slot) {
                let hash = hash_of(bucket.key.bytes());
                self.remove_from_indexes(&bucket, slot, hash);
                let moved = self.add_bucket(bucket, hash);
                self.queue_again(moved);
            }
        }
        self.buckets.truncate(slots.start, &mut self.account);
        self.awake.truncate(self.buckets.n_slots(), &mut self.account);
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
