//! Slots by the hashes of what is in them.

use hashbrown::HashTable;

use crate::spill::{SeriesAccount, heap_bytes};

/// So many tables share the slots, so that one that grows moves few.
const N_TABLES: usize = 16;

/// Hash and slot, by hash. The hash is kept, so that a table grows without a look at what is in the slots.
#[derive(Debug, Default)]
pub(super) struct Index {
    tables: [HashTable<(u32, u32)>; N_TABLES],
}

impl Index {
    /// The slot of this hash that is the right one.
    #[inline]
    pub(super) fn find(&self, hash: u32, is_right: impl Fn(u32) -> bool) -> Option<u32> {
        let table = self.tables.get(table_of(hash))?;
        table.find(spread(hash), |(other, slot)| *other == hash && is_right(*slot)).map(|(_, slot)| *slot)
    }

    pub(super) fn add(&mut self, hash: u32, slot: u32, account: &mut SeriesAccount) {
        let Some(table) = self.tables.get_mut(table_of(hash)) else { return };
        let before = table.allocation_size();
        table.insert_unique(spread(hash), (hash, slot), |(hash, _)| spread(*hash));
        account.exchange(heap_bytes(before), heap_bytes(table.allocation_size()));
    }

    /// Takes a slot out; whether it was there.
    pub(super) fn remove(&mut self, hash: u32, slot: u32) -> bool {
        let table = self.tables.get_mut(table_of(hash));
        let found =
            table.and_then(|table| table.find_entry(spread(hash), |entry| *entry == (hash, slot)).ok());
        found.map(hashbrown::hash_table::OccupiedEntry::remove).is_some()
    }
}

#[inline]
const fn table_of(hash: u32) -> usize {
    hash as usize % N_TABLES
}

/// All bits of the wider hash depend on those that the table does not.
#[inline]
const fn spread(hash: u32) -> u64 {
    (hash as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
