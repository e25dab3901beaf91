//! Reading, appending and replacing records.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use smallvec::SmallVec;

use crate::address::{Address, SEGMENT_BYTES};
use crate::checkpoint::LastCheckpoint;
use crate::clean::Cleaning;
use crate::error::{AppendError, ReadError};
use crate::folder::RecordFolder;
use crate::index::{IndexEntry, RecordIndex};
use crate::manifest::RecordOrigin;
use crate::open_segment::{Appended, OpenSegment, Slots, free_slot, put};
use crate::record::{self, HEAD_BYTES, RECORD_BYTES_MAX, RecordHead, RecordKey, StoredRecord};
use crate::segment::Segment;

/// Records by key in a folder. Each key has at most one.
///
/// All methods may be called from several threads. For one key at a time, only one thread may replace or remove its
/// record.
#[derive(Debug)]
pub struct RecordStore {
    pub(crate) folder: Arc<dyn RecordFolder>,
    pub(crate) origin: RecordOrigin,
    pub(crate) index: RecordIndex,
    // Lock order: cleaning, open, slots, a table of the index.
    pub(crate) cleaning: Mutex<Cleaning>,
    pub(crate) open: Mutex<OpenSegment>,
    pub(crate) slots: RwLock<Slots>,
    /// Number of the segment that is open.
    pub(crate) open_id: AtomicU64,
    // Locked before all others.
    pub(crate) checkpoint: Mutex<LastCheckpoint>,
}

/// What a store holds and takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordsSize {
    /// Number of records.
    pub n_records: usize,
    /// Memory of the index, in bytes.
    pub n_index_bytes: usize,
    /// Bytes in files, without those that go with the next checkpoint.
    pub n_file_bytes: usize,
    /// About how many of them are replaced records, in bytes.
    pub n_replaced_bytes: usize,
}

/// What lies where an entry of the index points.
enum Found {
    /// The record, and the number of its segment.
    Record(Vec<u8>, u64),
    /// The record of another key.
    Other,
    /// The segment was cleaned meanwhile.
    Moved,
    Damaged(String),
}

impl RecordStore {
    /// Returns whether a key may have a record. It has none after `false`; after `true` only reading tells.
    #[must_use]
    pub fn may_contain(&self, key: RecordKey) -> bool {
        !self.index.find(key).is_empty()
    }

    /// Returns whether a record of this key, or of another one that the index takes for it, lies at an address.
    #[must_use]
    pub fn is_at(&self, key: RecordKey, address: Address) -> bool {
        self.index.contains(key.prefix(), address)
    }

    /// Returns whether a record that was read is still that of its key, at the same address.
    #[must_use]
    pub fn is_current(&self, key: RecordKey, record: &StoredRecord) -> bool {
        let segment = self.segment(record.address.slot());
        segment.is_some_and(|segment| segment.id == record.segment)
            && self.index.contains(key.prefix(), record.address)
    }

    /// Returns the size of the segments that were begun since a record was written, in bytes. A record that was moved when its
    /// segment was cleaned counts as written then.
    #[must_use]
    pub fn n_bytes_since(&self, record: &StoredRecord) -> usize {
        let n_segments = self.open_id.load(Ordering::Relaxed).saturating_sub(record.segment);
        usize::try_from(n_segments).unwrap_or(usize::MAX).saturating_mul(SEGMENT_BYTES)
    }

    /// Reads the record of a key; `None` when it has none.
    ///
    /// # Errors
    /// When a file cannot be read or the record is damaged.
    pub fn read(&self, key: RecordKey) -> Result<Option<StoredRecord>, ReadError> {
        loop {
            let entries = self.index.find(key);
            let mut damaged = None;
            for entry in &entries {
                match self.read_entry(key, *entry)? {
                    Found::Record(bytes, segment) => {
                        return Ok(Some(StoredRecord { bytes, address: entry.address(), segment }));
                    }
                    Found::Other => {}
                    Found::Moved => break,
                    Found::Damaged(file) => damaged = Some((file, entry.address().offset())),
                }
            }
            if self.index.find(key) == entries {
                // The record that cannot be read may be that of this key.
                return match damaged {
                    Some((file, offset)) => Err(ReadError::Damaged { file, offset }),
                    None => Ok(None),
                };
            }
        }
    }

    fn read_entry(&self, key: RecordKey, entry: IndexEntry) -> Result<Found, ReadError> {
        let address = entry.address();
        let Some(segment) = self.segment(address.slot()) else { return Ok(Found::Moved) };
        let found = self.read_in(&segment, key, entry)?;
        // Otherwise the slot may have another segment by now, or the key another record.
        let is_current = self.segment(address.slot()).is_some_and(|now| Arc::ptr_eq(&now, &segment));
        Ok(if is_current && self.index.contains(key.prefix(), address) { found } else { Found::Moved })
    }

    fn read_in(&self, segment: &Segment, key: RecordKey, entry: IndexEntry) -> Result<Found, ReadError> {
        let offset = entry.address().offset();
        if offset >= segment.n_written() {
            let open = self.open.lock();
            if let Some(bytes) = open.pending_from(segment, offset) {
                return Ok(found(bytes, key, segment));
            }
        }
        let failed = |source| ReadError::Io { file: segment.name(), source };
        let read = segment.read(offset, entry.n_bytes().max(HEAD_BYTES)).map_err(failed)?;
        // Also of another key, since only its checksum tells that it is another one.
        if let Some(head) = RecordHead::read(read.bytes())
            && head.n_stored_bytes() > read.bytes().len()
        {
            let whole = segment.read(offset, head.n_stored_bytes()).map_err(failed)?;
            return Ok(found(whole.bytes(), key, segment));
        }
        Ok(found(read.bytes(), key, segment))
    }

    /// Returns the keys of all records. Reads all files.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn keys(&self) -> Result<Vec<RecordKey>, ReadError> {
        let mut keys = Vec::new();
        let failed = |segment: &Segment, source| ReadError::Io { file: segment.name(), source };
        let mut open = self.open.lock();
        open.write_pending().map_err(|source| failed(&open.segment, source))?;
        for segment in self.segments() {
            let read = segment.each_record(|offset, head, _| {
                let address = Address::new(segment.slot, offset);
                if !head.is_removal && self.index.contains(head.key.prefix(), address) {
                    keys.push(head.key);
                }
                true
            });
            read.map_err(|source| failed(&segment, source))?;
        }
        Ok(keys)
    }

    /// Appends a record, in place of the one at `replaces`. `None` means that the key has none: the caller has read so.
    ///
    /// # Errors
    /// When the record is too long, a file cannot be written, or the record to be replaced has moved. Nothing changed.
    pub fn append(
        &self,
        key: RecordKey,
        replaces: Option<Address>,
        bytes: &[u8],
    ) -> Result<Address, AppendError> {
        if bytes.is_empty() || bytes.len() > RECORD_BYTES_MAX {
            return Err(AppendError::TooLong { n_bytes: bytes.len() });
        }
        let mut open = self.open.lock();
        self.append_in(&mut open, key, replaces, bytes)
    }

    /// Removes the record at an address.
    ///
    /// # Errors
    /// When a file cannot be written, or the record has moved. Nothing changed.
    pub fn remove(&self, key: RecordKey, address: Address) -> Result<(), AppendError> {
        let mut open = self.open.lock();
        if !self.index.contains(key.prefix(), address) {
            return Err(AppendError::Moved);
        }
        self.append_bytes(&mut open, key, Some(address), &[])?;
        if let Some(gone) = self.index.remove(key.prefix(), address) {
            self.discount(gone);
        }
        Ok(())
    }

    pub(crate) fn append_in(
        &self,
        open: &mut OpenSegment,
        key: RecordKey,
        replaces: Option<Address>,
        bytes: &[u8],
    ) -> Result<Address, AppendError> {
        if replaces.is_some_and(|address| !self.index.contains(key.prefix(), address)) {
            return Err(AppendError::Moved);
        }
        let Appended { address, n_bytes } = self.append_bytes(open, key, replaces, bytes)?;
        let (entry, gone) = self.index.put(key.prefix(), replaces, address, n_bytes);
        open.segment.count(entry);
        if let Some(gone) = gone {
            self.discount(gone);
        }
        Ok(address)
    }

    /// Appends a record to the open segment, or to a new one, and leaves the index as it is.
    pub(crate) fn append_bytes(
        &self,
        open: &mut OpenSegment,
        key: RecordKey,
        replaces: Option<Address>,
        bytes: &[u8],
    ) -> Result<Appended, AppendError> {
        let file = || open_name(open);
        if !open.has_room(bytes.len()) {
            let slot = free_slot(&self.slots.read()).ok_or(AppendError::Full)?;
            let name = file();
            let next = open.go_on_in(&*self.folder, slot, self.origin.digest());
            let next = next.map_err(|source| AppendError::Io { file: name, source })?;
            self.open_id.store(next.id, Ordering::Relaxed);
            put(&mut self.slots.write(), next);
        }
        let name = open_name(open);
        open.append(key, replaces, bytes).map_err(|source| AppendError::Io { file: name, source })
    }

    fn discount(&self, gone: IndexEntry) {
        if let Some(segment) = self.segment(gone.address().slot()) {
            segment.discount(gone);
        }
    }

    pub(crate) fn segment(&self, slot: usize) -> Option<Arc<Segment>> {
        self.slots.read().get(slot).cloned().flatten()
    }

    pub(crate) fn segments(&self) -> SmallVec<[Arc<Segment>; 64]> {
        self.slots.read().iter().flatten().cloned().collect()
    }

    /// Checks whether the disk has so much free space that records may be added.
    ///
    /// # Errors
    /// [`AppendError::NoSpace`] when it has not; what exists may still be replaced, removed and cleaned, which frees space.
    pub fn check_space(&self) -> Result<(), AppendError> {
        self.folder.check_space().map_err(|source| match source.kind() {
            ErrorKind::StorageFull => AppendError::NoSpace,
            _ => AppendError::Io { file: "the directory".into(), source },
        })
    }

    /// Returns the number of records.
    #[must_use]
    pub fn n_records(&self) -> usize {
        self.index.n_records()
    }

    /// Returns the memory of the index, in bytes.
    #[must_use]
    pub fn n_index_bytes(&self) -> usize {
        self.index.n_bytes()
    }

    /// Returns the bytes in files.
    #[must_use]
    pub fn n_file_bytes(&self) -> usize {
        self.segments().iter().map(|segment| segment.n_written()).sum()
    }

    /// Returns what the store holds and takes.
    #[must_use]
    pub fn size(&self) -> RecordsSize {
        let mut size = RecordsSize {
            n_records: self.index.n_records(),
            n_index_bytes: self.index.n_bytes(),
            ..RecordsSize::default()
        };
        let is_in_use = |segment: &&Arc<Segment>| !segment.is_cleaned.load(Ordering::Relaxed);
        for segment in self.segments().iter().filter(is_in_use) {
            let n_all = segment.n_record_bytes.load(Ordering::Relaxed);
            size.n_file_bytes += segment.n_written();
            size.n_replaced_bytes += n_all.saturating_sub(segment.n_live_bytes.load(Ordering::Relaxed));
        }
        size
    }
}

fn open_name(open: &OpenSegment) -> String {
    open.segment.name()
}

fn found(bytes: &[u8], key: RecordKey, segment: &Segment) -> Found {
    match record::read(bytes) {
        Some((head, bytes)) if head.key == key && !head.is_removal => {
            Found::Record(bytes.to_vec(), segment.id)
        }
        Some(_) => Found::Other,
        None => Found::Damaged(segment.name()),
    }
}
