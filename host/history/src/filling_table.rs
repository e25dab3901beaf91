//! A key table that is being filled and not in use yet. What it holds can leave memory all the same.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::key_table::KeyTable;
use crate::spill::{Spill, SpillSource};

/// A key table in the order of spilling, beside the series in use.
#[derive(Debug)]
pub(super) struct FillingTable {
    key_table: Arc<RwLock<KeyTable>>,
    spill: Arc<Spill>,
}

impl FillingTable {
    pub(super) fn new(key_table: KeyTable, spill: &Arc<Spill>) -> Self {
        let key_table = Arc::new(RwLock::new(key_table));
        let spill_source: Arc<dyn SpillSource> = Arc::<RwLock<KeyTable>>::clone(&key_table);
        spill.register(Arc::downgrade(&spill_source));
        Self { key_table, spill: Arc::clone(spill) }
    }

    /// Changes the table, then enforces the memory limit.
    pub(super) fn fill<T>(&self, change: impl FnOnce(&mut KeyTable) -> T) -> T {
        let answer = change(&mut self.key_table.write());
        self.spill.make_room_in_turn();
        answer
    }

    /// Returns the filled table.
    pub(super) fn finish(self) -> KeyTable {
        // Otherwise bytes that are being written would be taken for bytes of the empty table.
        let _nothing_is_spilled = self.spill.pause();
        let mut own = self.key_table.write();
        // Keys of which nothing was left in memory can leave it now.
        own.consider_all();
        let empty = KeyTable::new(Arc::clone(own.layout()), &self.spill);
        std::mem::replace(&mut own, empty)
    }
}
