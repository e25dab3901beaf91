//! Keys whose latest entries may be in memory: those that came there first are the first to leave.

use std::collections::VecDeque;

use crate::spill::{SeriesAccount, heap_bytes};

/// Slots in a queue, each at most once. A key that is gone, or has nothing in memory, is passed over by who takes it out.
#[derive(Debug, Default)]
pub(super) struct ActiveQueue {
    queue: VecDeque<u32>,
    /// By slot.
    is_queued: Vec<bool>,
}

impl ActiveQueue {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Puts a slot at the end, unless it is there.
    #[inline]
    pub(super) fn add(&mut self, slot: u32, account: &mut SeriesAccount) {
        match self.is_queued.get_mut(slot as usize) {
            Some(true) => return,
            Some(is_queued) => *is_queued = true,
            None => {
                let before = self.n_heap_bytes();
                self.is_queued.resize(slot as usize + 1, false);
                account.exchange(before, self.n_heap_bytes());
                return self.add(slot, account);
            }
        }
        let before = self.n_heap_bytes();
        self.queue.push_back(slot);
        account.exchange(before, self.n_heap_bytes());
    }

    /// Takes the first out.
    pub(super) fn next(&mut self) -> Option<u32> {
        let slot = self.queue.pop_front()?;
        if let Some(is_queued) = self.is_queued.get_mut(slot as usize) {
            *is_queued = false;
        }
        Some(slot)
    }

    fn n_heap_bytes(&self) -> usize {
        heap_bytes(self.queue.capacity() * size_of::<u32>()) + heap_bytes(self.is_queued.capacity())
    }
}
