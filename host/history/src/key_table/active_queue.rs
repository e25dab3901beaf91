//! Keys whose latest entries may be in memory, oldest first.

use std::collections::VecDeque;

use super::index::has_much_room;
use crate::spill::{SeriesAccount, heap_bytes};

/// A queue of slots, each at most once. The consumer skips keys that are gone or have nothing in memory.
#[derive(Debug, Default)]
pub(super) struct ActiveQueue {
    queue: VecDeque<u32>,
    /// Indexed by slot.
    is_queued: Vec<bool>,
}

impl ActiveQueue {
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Appends a slot unless it is in the queue.
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

    pub(super) fn next(&mut self) -> Option<u32> {
        let slot = self.queue.pop_front()?;
        if let Some(is_queued) = self.is_queued.get_mut(slot as usize) {
            *is_queued = false;
        }
        Some(slot)
    }

    /// Removes the slots from a number on.
    pub(super) fn truncate(&mut self, n_slots: usize, account: &mut SeriesAccount) {
        let before = self.n_heap_bytes();
        self.queue.retain(|slot| (*slot as usize) < n_slots);
        self.is_queued.truncate(n_slots);
        self.is_queued.shrink_to(2 * n_slots);
        account.exchange(before, self.n_heap_bytes());
    }

    /// Frees memory that many removed slots have left.
    pub(super) fn shrink(&mut self, account: &mut SeriesAccount) {
        if has_much_room(self.queue.capacity(), self.queue.len()) {
            let before = self.n_heap_bytes();
            self.queue.shrink_to(2 * self.queue.len());
            account.exchange(before, self.n_heap_bytes());
        }
    }

    fn n_heap_bytes(&self) -> usize {
        heap_bytes(self.queue.capacity() * size_of::<u32>()) + heap_bytes(self.is_queued.capacity())
    }
}
