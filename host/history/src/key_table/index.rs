//! An index of slots by hash.

use hashbrown::HashTable;

use crate::spill::{SeriesAccount, heap_bytes};

/// A table is made smaller when it has room for so many times what is in it.
const ROOM_SHARE: usize = 4;
/// Number of tables that share the slots, so that a growing table moves few.
const N_TABLES: usize = 16;

/// Pairs of hash and slot, by hash. The hash is kept so that a table can grow without reading the slots.
#[derive(Debug, Default)]
pub(super) struct Index {
    tables: [HashTable<(u32, u32)>; N_TABLES],
}

impl Index {
    /// Returns the slot with this hash for which `is_right` holds.
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

    /// Frees memory that many removed slots have left, of one table at a time.
    pub(super) fn shrink(&mut self, account: &mut SeriesAccount) {
        for table in &mut self.tables {
            let before = table.allocation_size();
            shrink(table, |(hash, _)| spread(*hash));
            if table.allocation_size() != before {
                account.exchange(heap_bytes(before), heap_bytes(table.allocation_size()));
                return;
            }
        }
    }

    /// Removes a slot and returns whether it existed.
    pub(super) fn remove(&mut self, hash: u32, slot: u32) -> bool {
        let table = self.tables.get_mut(table_of(hash));
        let found =
            table.and_then(|table| table.find_entry(spread(hash), |entry| *entry == (hash, slot)).ok());
        found.map(hashbrown::hash_table::OccupiedEntry::remove).is_some()
    }
}

/// Returns whether something has much more room than it needs.
pub(crate) const fn has_much_room(capacity: usize, n_used: usize) -> bool {
    capacity / ROOM_SHARE > n_used
}

/// Makes a table smaller that has much more room than it needs.
pub(crate) fn shrink<T>(table: &mut HashTable<T>, hash_of: impl Fn(&T) -> u64) {
    if has_much_room(table.capacity(), table.len()) {
        table.shrink_to(2 * table.len(), hash_of);
    }
}

#[inline]
const fn table_of(hash: u32) -> usize {
    hash as usize % N_TABLES
}

/// Widens a hash, so that all its bits depend on those that do not choose the table.
#[inline]
const fn spread(hash: u32) -> u64 {
    (hash as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
