//! The order of spilling: first the oldest full chunks, then the latest entries of keys not used recently.

use std::sync::Arc;

use parking_lot::RwLock;

use super::anchored::CHUNKS_MAX;
use super::{KeyTable, in_use};
use crate::spill::{Extent, SpillError, SpillSource, SpillTurn};
use crate::timeline::SpillingBytes;

/// Maximum number of keys checked for recent use in one call.
const KEYS_PER_CALL_MAX: usize = 4_096;

/// Bytes to be written to the spill file, by slot.
type PendingSpill = Vec<(u32, SpillingBytes)>;

impl KeyTable {
    /// Returns what should leave memory next, about `n_bytes` in total. With `long`, only these keys and long ones are
    /// considered: the others leave with their anchors.
    fn departure(&mut self, n_bytes: usize, long: Option<&[u32]>) -> PendingSpill {
        let mut leaving: PendingSpill = Vec::new();
        let mut total = 0;
        let mut short = Vec::new();
        while total < n_bytes
            && short.len() < KEYS_PER_CALL_MAX
            && let Some((slot, last)) = self.account.next_chunk()
        {
            let Some(bucket) = self.buckets.get_mut(slot) else { continue };
            let Some(chunk) = bucket.timeline.leaving_chunk(last) else { continue };
            if long.is_some() && bucket.timeline.has_few_chunks(CHUNKS_MAX) {
                short.push((slot, last));
            } else {
                total += chunk.bytes().len();
                leaving.push((slot, chunk));
            }
        }
        short.into_iter().for_each(|(slot, last)| self.account.remember(slot, last));
        for slot in long.unwrap_or_default() {
            if let Some(latest) = self.buckets.get(*slot).and_then(|bucket| bucket.timeline.leaving_latest())
            {
                leaving.push((*slot, latest));
            }
        }
        if long.is_none() {
            for slot in self.take_unused(n_bytes.saturating_sub(total), 0) {
                let latest = self.buckets.get(slot).and_then(|bucket| bucket.timeline.leaving_latest());
                leaving.extend(latest.map(|latest| (slot, latest)));
            }
        }
        leaving
    }

    /// Takes slots from the queue that were not used lately, until their latest entries, and so much more for each, have
    /// about `n_bytes`. They must be [considered](KeyTable::consider) again if they stay.
    pub(super) fn take_unused(&mut self, n_bytes: usize, n_more_bytes: usize) -> Vec<u32> {
        let (mut unused, mut total) = (Vec::new(), 0);
        for _ in 0..self.awake.len().min(KEYS_PER_CALL_MAX) {
            if total >= n_bytes {
                break;
            }
            let Some(slot) = self.awake.next() else { break };
            self.n_considered += 1;
            let Some(bucket) = self.buckets.get_mut(slot) else { continue };
            bucket.is_queued = false;
            let in_use = bucket.in_use.get_mut();
            if let Some(use_left) = in_use::spared(*in_use) {
                *in_use = use_left;
                self.mark_active(slot);
            } else {
                *in_use = in_use::NOT;
                total += bucket.timeline.n_latest_bytes() + n_more_bytes;
                unused.push(slot);
            }
        }
        unused
    }

    /// Returns the result of a turn: in vain when all keys were considered since memory was last freed, so often that those
    /// which were used are no longer spared.
    pub(crate) fn turn(&self) -> SpillTurn {
        let is_in_vain = self.n_considered >= in_use::CONSIDERED_MAX * self.awake.len();
        if is_in_vain { SpillTurn::InVain } else { SpillTurn::GoesOn }
    }

    /// Removes written bytes from memory, unless they changed meanwhile.
    fn depart(&mut self, leaving: &PendingSpill, extents: &[Extent]) {
        self.n_considered = 0;
        for ((slot, what), extent) in leaving.iter().zip(extents) {
            let bucket = self.buckets.get_mut(*slot);
            if !bucket.is_some_and(|bucket| bucket.timeline.leave(what, *extent, &mut self.account)) {
                self.account.free(*extent);
                self.mark_active(*slot);
            }
        }
    }

    /// Queues what could not be written for a later attempt.
    fn stays(&mut self, leaving: &PendingSpill) {
        for (slot, what) in leaving {
            match what {
                SpillingBytes::Chunk(last, _) => self.account.remember(*slot, *last),
                SpillingBytes::Latest(_) => self.mark_active(*slot),
            }
        }
    }
}

impl SpillSource for RwLock<KeyTable> {
    fn let_go(&self, n_bytes: usize) -> Result<SpillTurn, SpillError> {
        self.write().shrink();
        self.let_go_of(n_bytes, None)?;
        Ok(self.read().turn())
    }
}

/// A table of which parts leave memory.
pub(crate) trait PartialDeparture {
    /// Spills about `n_bytes`; with `long`, only of these keys, and the chunks of long ones.
    ///
    /// # Errors
    /// When the file cannot be written.
    fn let_go_of(&self, n_bytes: usize, long: Option<&[u32]>) -> Result<(), SpillError>;
}

impl PartialDeparture for RwLock<KeyTable> {
    fn let_go_of(&self, n_bytes: usize, long: Option<&[u32]>) -> Result<(), SpillError> {
        let mut own = self.write();
        let spill = Arc::clone(own.account.spill());
        let leaving = own.departure(n_bytes, long);
        drop(own);
        if leaving.is_empty() {
            return Ok(());
        }
        // No lock is held during the write.
        let pieces: Vec<Arc<[u8]>> = leaving.iter().map(|(_, what)| Arc::clone(what.bytes())).collect();
        match spill.write(&pieces) {
            Ok(extents) => self.write().depart(&leaving, &extents),
            Err(error) => {
                self.write().stays(&leaving);
                return Err(error);
            }
        }
        Ok(())
    }
}
