//! The keys of each class are a list. Each bucket has the next one; this has the one before it.

use ahash::RandomState;
use hashbrown::HashMap;

use super::NOWHERE;
use super::index::has_much_room;
use crate::key::seeded;
use crate::spill::{SeriesAccount, heap_bytes};

/// The slot before each slot that is not the first of its class. A slot can therefore be unlinked in constant time,
/// however many spellings of a number there are.
#[derive(Debug)]
pub(super) struct ClassLinks {
    before: HashMap<u32, u32, RandomState>,
}

impl Default for ClassLinks {
    fn default() -> Self {
        Self { before: HashMap::with_hasher(seeded()) }
    }
}

impl ClassLinks {
    /// Puts a slot before the first one of its class, `NOWHERE` when there is none.
    pub(super) fn put_first(&mut self, slot: u32, first: u32, account: &mut SeriesAccount) {
        if first != NOWHERE {
            let bytes_before = self.before.allocation_size();
            self.before.insert(first, slot);
            account.exchange(heap_bytes(bytes_before), heap_bytes(self.before.allocation_size()));
        }
    }

    /// Frees memory that many removed slots have left.
    pub(super) fn shrink(&mut self, account: &mut SeriesAccount) {
        if has_much_room(self.before.capacity(), self.before.len()) {
            let bytes_before = self.before.allocation_size();
            self.before.shrink_to(2 * self.before.len());
            account.exchange(heap_bytes(bytes_before), heap_bytes(self.before.allocation_size()));
        }
    }

    /// Removes a slot that is followed by `next`. Returns the slot before it, whose next one is now `next`.
    pub(super) fn remove(&mut self, slot: u32, next: u32, account: &mut SeriesAccount) -> Option<u32> {
        let bytes_before = self.before.allocation_size();
        let before = self.before.remove(&slot);
        match before {
            _ if next == NOWHERE => {}
            Some(before) => {
                self.before.insert(next, before);
            }
            None => {
                self.before.remove(&next);
            }
        }
        account.exchange(heap_bytes(bytes_before), heap_bytes(self.before.allocation_size()));
        before
    }
}
