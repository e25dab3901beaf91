//! The order of spilling: first the oldest full chunks, then the latest entries of keys not used recently.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{KeyTable, in_use};
use crate::spill::Extent;
use crate::timeline::SpillingBytes;

/// Maximum number of keys checked for recent use in one call.
const KEYS_PER_CALL_MAX: usize = 4_096;

/// Bytes to be written to the spill file, by slot.
pub(crate) type PendingSpill = Vec<(u32, SpillingBytes)>;

impl KeyTable {
    /// Returns what should leave memory next, about `n_bytes` in total.
    pub(crate) fn departure(&mut self, n_bytes: usize) -> PendingSpill {
        let mut leaving: PendingSpill = Vec::new();
        let mut total = 0;
        while total < n_bytes
            && let Some((slot, last)) = self.account.next_chunk()
        {
            let chunk = self.buckets.get_mut(slot).and_then(|bucket| bucket.timeline.leaving_chunk(last));
            if let Some(chunk) = chunk {
                total += chunk.bytes().len();
                leaving.push((slot, chunk));
            }
        }
        for _ in 0..self.awake.len().min(KEYS_PER_CALL_MAX) {
            if total >= n_bytes {
                break;
            }
            let Some(slot) = self.awake.next() else { break };
            let Some(bucket) = self.buckets.get(slot) else { continue };
            if bucket.in_use.swap(in_use::NOT, Ordering::Relaxed) == in_use::AGAIN {
                self.awake.add(slot, &mut self.account);
            } else if let Some(latest) = bucket.timeline.leaving_latest() {
                total += latest.bytes().len();
                leaving.push((slot, latest));
            }
        }
        leaving
    }

    /// Removes written bytes from memory, unless they changed meanwhile. Returns the number of bytes removed.
    pub(crate) fn depart(&mut self, leaving: &PendingSpill, extents: &[Extent]) -> usize {
        let mut n_bytes = 0;
        for ((slot, what), extent) in leaving.iter().zip(extents) {
            let bucket = self.buckets.get_mut(*slot);
            if bucket.is_some_and(|bucket| bucket.timeline.leave(what, *extent, &mut self.account)) {
                n_bytes += what.bytes().len();
            } else {
                self.account.free(*extent);
                self.mark_active(*slot);
            }
        }
        n_bytes
    }

    /// Queues what could not be written for a later attempt.
    pub(crate) fn stays(&mut self, leaving: &PendingSpill) {
        for (slot, what) in leaving {
            match what {
                SpillingBytes::Chunk(last, _) => self.account.remember(*slot, *last),
                SpillingBytes::Latest(_) => self.mark_active(*slot),
            }
        }
    }

    /// Enforces the memory limit while the table is filled.
    pub(crate) fn make_room(&mut self) {
        let spill = Arc::clone(self.account.spill());
        spill.make_room_in(|n_bytes| {
            let leaving = self.departure(n_bytes);
            match self.account.write(&pieces(&leaving)) {
                Ok(extents) => Ok(self.depart(&leaving, &extents)),
                Err(error) => {
                    self.stays(&leaving);
                    Err(error)
                }
            }
        });
    }
}

pub(crate) fn pieces(leaving: &PendingSpill) -> Vec<Arc<[u8]>> {
    leaving.iter().map(|(_, what)| Arc::clone(what.bytes())).collect()
}
