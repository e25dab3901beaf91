//! Which records there are, and where: eight bytes a record in memory.
//!
//! ```text
//!  key: │ table │ tag: 26 bits │ …    one of many small tables, each sorted by tag
//!  entry:       │ tag: 26 │ size: 4 │ address: 34 │
//! ```
//!
//! Two keys may have the same table and tag; the record itself has the whole key. With 65,536 tables a key that does not
//! exist finds an entry once in 67 million records times tables.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use smallvec::SmallVec;

use crate::address::{ADDRESS_BITS, Address};
use crate::record::RecordKey;

/// Bits of the size of a record, in pieces of 512 bytes; the highest number means that many or more.
const SIZE_BITS: u32 = 4;
/// Bytes that a size counts.
const SIZE_UNIT: usize = 512;
const SIZE_MAX: u64 = (1 << SIZE_BITS) - 1;
/// Bits of the tag.
const TAG_BITS: u32 = u64::BITS - ADDRESS_BITS - SIZE_BITS;
/// Records of a table for which an index is laid out.
const RECORDS_PER_TABLE: usize = 512;
const N_TABLES_MAX: usize = 1 << 16;

/// Where a record lies, and about how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexEntry(u64);

/// The entries of all records.
#[derive(Debug)]
pub(crate) struct RecordIndex {
    /// INVARIANT: a power of two; each table is sorted.
    tables: Box<[RwLock<Vec<u64>>]>,
    n_entries: AtomicUsize,
    /// Memory of the entries, in bytes.
    n_entry_bytes: AtomicUsize,
}

/// The table and tag of a key.
#[derive(Debug, Clone, Copy)]
struct TagPosition {
    table: usize,
    tag: u64,
}

impl IndexEntry {
    fn new(tag: u64, address: Address, n_bytes: usize) -> Self {
        let size = (n_bytes.div_ceil(SIZE_UNIT) as u64).min(SIZE_MAX);
        Self(tag << (SIZE_BITS + ADDRESS_BITS) | size << ADDRESS_BITS | address.bits())
    }

    pub(crate) const fn address(self) -> Address {
        Address::from_bits(self.0)
    }

    /// Returns the length that an entry says of so many bytes.
    pub(crate) fn counted_bytes(n_bytes: usize) -> usize {
        (n_bytes.div_ceil(SIZE_UNIT) as u64).min(SIZE_MAX) as usize * SIZE_UNIT
    }

    /// Returns the number of bytes to read at first: the whole record, unless it is long.
    pub(crate) const fn n_bytes(self) -> usize {
        (self.0 >> ADDRESS_BITS & SIZE_MAX) as usize * SIZE_UNIT
    }

    const fn tag(self) -> u64 {
        self.0 >> (SIZE_BITS + ADDRESS_BITS)
    }
}

impl RecordIndex {
    /// Creates an index for about so many records; it takes more.
    pub(crate) fn new(n_records: usize) -> Self {
        Self::with_tables((n_records / RECORDS_PER_TABLE).next_power_of_two().clamp(1, N_TABLES_MAX))
    }

    pub(crate) fn with_tables(n_tables: usize) -> Self {
        let tables = (0..n_tables).map(|_| RwLock::default()).collect();
        Self { tables, n_entries: AtomicUsize::new(0), n_entry_bytes: AtomicUsize::new(0) }
    }

    fn position(&self, prefix: u64) -> TagPosition {
        let table_bits = self.tables.len().trailing_zeros();
        let rest = prefix << table_bits;
        let table = (u128::from(prefix) << table_bits >> u64::BITS) as usize;
        TagPosition { table, tag: rest >> (u64::BITS - TAG_BITS) }
    }

    /// Returns the entries that may be those of a key.
    pub(crate) fn find(&self, key: RecordKey) -> SmallVec<[IndexEntry; 2]> {
        let TagPosition { table, tag } = self.position(key.prefix());
        let Some(table) = self.tables.get(table) else { return SmallVec::new() };
        let table = table.read();
        let first = table.partition_point(|entry| IndexEntry(*entry).tag() < tag);
        let entries = table.get(first..).unwrap_or_default().iter().map(|entry| IndexEntry(*entry));
        entries.take_while(|entry| entry.tag() == tag).collect()
    }

    /// Returns whether an entry of this prefix has this address.
    pub(crate) fn contains(&self, prefix: u64, address: Address) -> bool {
        let position = self.position(prefix);
        let table = self.tables.get(position.table).map(RwLock::read);
        table.is_some_and(|table| place_of(&table, position.tag, address).is_ok())
    }

    /// Adds an entry, in place of the one with the address `replaces`. Returns it, and the one that is gone.
    pub(crate) fn put(
        &self,
        prefix: u64,
        replaces: Option<Address>,
        address: Address,
        n_bytes: usize,
    ) -> (IndexEntry, Option<IndexEntry>) {
        let TagPosition { table, tag } = self.position(prefix);
        let entry = IndexEntry::new(tag, address, n_bytes);
        let Some(table) = self.tables.get(table) else { return (entry, None) };
        let mut table = table.write();
        let gone = replaces.and_then(|replaced| self.take(&mut table, tag, replaced));
        self.add(&mut table, entry);
        (entry, gone)
    }

    fn add(&self, table: &mut Vec<u64>, entry: IndexEntry) {
        let capacity = table.capacity();
        if table.len() == capacity {
            // A table grows by an eighth: there are many, and all are about equally long.
            table.reserve_exact((table.len() / 8).max(8));
            let n_more = table.capacity() - capacity;
            self.n_entry_bytes.fetch_add(n_more * size_of::<u64>(), Ordering::Relaxed);
        }
        let place = table.partition_point(|other| *other < entry.0);
        table.insert(place, entry.0);
        self.n_entries.fetch_add(1, Ordering::Relaxed);
    }

    fn take(&self, table: &mut Vec<u64>, tag: u64, address: Address) -> Option<IndexEntry> {
        let place = place_of(table, tag, address).ok()?;
        self.n_entries.fetch_sub(1, Ordering::Relaxed);
        Some(IndexEntry(table.remove(place)))
    }

    /// Removes the entry with this address, and returns it.
    pub(crate) fn remove(&self, prefix: u64, address: Address) -> Option<IndexEntry> {
        let TagPosition { table, tag } = self.position(prefix);
        self.take(&mut self.tables.get(table)?.write(), tag, address)
    }

    /// Returns the number of entries.
    pub(crate) fn n_records(&self) -> usize {
        self.n_entries.load(Ordering::Relaxed)
    }

    /// Returns the memory it takes, in bytes.
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_entry_bytes.load(Ordering::Relaxed) + self.tables.len() * size_of::<RwLock<Vec<u64>>>()
    }

    pub(crate) const fn n_tables(&self) -> usize {
        self.tables.len()
    }

    /// Appends the entries of a table to bytes.
    pub(crate) fn write_table(&self, table: usize, bytes: &mut Vec<u8>) {
        let Some(table) = self.tables.get(table) else { return };
        let table = table.read();
        bytes.extend_from_slice(&(table.len() as u64).to_le_bytes());
        table.iter().for_each(|entry| bytes.extend_from_slice(&entry.to_le_bytes()));
    }

    /// Passes every entry to `show`.
    pub(crate) fn each(&self, mut show: impl FnMut(IndexEntry)) {
        for table in &self.tables {
            table.read().iter().for_each(|entry| show(IndexEntry(*entry)));
        }
    }
}

/// An index that is read in pieces, in the form of [`RecordIndex::write_table`].
#[derive(Debug)]
pub(crate) struct IndexReader {
    index: RecordIndex,
    n_tables_read: usize,
    rest: Vec<u8>,
}

impl IndexReader {
    /// Returns `None` when an index has no such number of tables.
    pub(crate) fn new(n_tables: usize) -> Option<Self> {
        let is_sound = n_tables.is_power_of_two() && n_tables <= N_TABLES_MAX;
        is_sound.then(|| Self {
            index: RecordIndex::with_tables(n_tables),
            n_tables_read: 0,
            rest: Vec::new(),
        })
    }

    /// Reads the next bytes. Returns `None` when they are not those of an index.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Option<()> {
        self.rest.extend_from_slice(bytes);
        let mut rest = self.rest.as_slice();
        while let Some((length, after)) = rest.split_first_chunk() {
            let n_entry_bytes = usize::try_from(u64::from_le_bytes(*length)).ok()?.checked_mul(8)?;
            let Some((entries, after)) = after.split_at_checked(n_entry_bytes) else { break };
            let (entries, _) = entries.as_chunks();
            let entries: Vec<u64> = entries.iter().map(|entry| u64::from_le_bytes(*entry)).collect();
            if !entries.is_sorted() {
                return None;
            }
            self.index.n_entries.fetch_add(entries.len(), Ordering::Relaxed);
            self.index.n_entry_bytes.fetch_add(entries.capacity() * size_of::<u64>(), Ordering::Relaxed);
            *self.index.tables.get(self.n_tables_read)?.write() = entries;
            self.n_tables_read += 1;
            rest = after;
        }
        let n_read = self.rest.len() - rest.len();
        self.rest.drain(..n_read);
        Some(())
    }

    /// Returns the index; `None` when something is missing.
    pub(crate) fn finish(self) -> Option<RecordIndex> {
        (self.rest.is_empty() && self.n_tables_read == self.index.n_tables()).then_some(self.index)
    }
}

/// Returns the place of the entry with this tag and address, or where such an entry belongs.
fn place_of(table: &[u64], tag: u64, address: Address) -> Result<usize, usize> {
    let first = table.partition_point(|entry| IndexEntry(*entry).tag() < tag);
    let alike = table.get(first..).unwrap_or_default().iter().map(|entry| IndexEntry(*entry));
    let found = alike.take_while(|entry| entry.tag() == tag).position(|entry| entry.address() == address);
    found.map_or(Err(first), |place| Ok(first + place))
}
