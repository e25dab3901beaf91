//! Which anchors are in memory, and which are records on the disk.
//!
//! ```text
//!            ┌───────────── leave: not used lately, the limit is exceeded ─────────────┐
//!  in memory │                                                                        ▼ on the disk
//!  keys of all series ◀── come back: a row is inserted or changed, a query finds no key ── a record
//! ```
//!
//! An anchor is in one of the two places: it has a record exactly while its keys are not in memory. Both ways hold the lock
//! of the anchor, and so does everything that changes a row of it. In each series all its keys leave, and come back, under
//! the lock of the series, so a query that finds a key has all of it. A query that finds none asks here, if anything ever
//! left.
//!
//! The files have no names and end with the process.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{Mutex, MutexGuard, RwLock};
use smallvec::SmallVec;
use tollgate_guest_abi::Semantics;
use tollgate_model::transaction::{FieldAccess, Transaction};
use tollgate_records::{
    AppendError, DiskFolder, ReadResult, RecordKey, RecordOrigin, RecordReaders, RecordStore, StoredRecord,
};

use crate::History;
use crate::anchor::{Anchor, AnchorDomain, AnchorField};
use crate::key::{ExportKey, Key};
use crate::key_table::AnchorPart;
use crate::layout::Layout;
use crate::lookup_error::LookupError;
use crate::series::Series;
use crate::snapshot::{ByteReader, put_bytes, put_number};
use crate::spill::{Spill, SpillError};
use crate::timeline::DeferredBytes;

/// Locks that all anchors share.
const N_LOCKS: usize = 1_024;
/// Threads that read records.
const N_READERS: usize = 8;
/// Memory of the index for a record, in bytes, by which it is laid out.
const INDEX_BYTES: usize = 12;
/// The limit divided by this is what the index may take in its layout.
const INDEX_SHARE: usize = 4;
/// Maximum length of a record, in bytes. A longer anchor stays in memory.
const RECORD_BYTES_MAX: usize = 64 << 10;
/// Bytes that are cleaned for each byte that is written, as a divisor.
const CLEANED_SHARE: usize = 1;

/// The anchors of one history.
#[derive(Debug)]
pub(super) struct Residency {
    directory: PathBuf,
    limit_bytes: usize,
    /// Made when the first anchor leaves.
    records: OnceLock<RecordReaders>,
    creating: Mutex<()>,
    has_records: AtomicBool,
    /// Whether a row was inserted while the other rows of its key could not be read.
    has_partial_keys: AtomicBool,
    // Lock order: a lock of anchors, in order; then a series.
    locks: Box<[Mutex<()>]>,
    series: RwLock<HashMap<AnchorDomain, Vec<Weak<Series>>>>,
    /// How series in use read their anchors.
    readers: RwLock<Vec<Arc<AnchorReader>>>,
    /// Anchors that left so far.
    n_left: AtomicU64,
}

/// Reads the anchor of a transaction.
#[derive(Debug)]
pub(super) struct AnchorReader {
    pub(super) field: AnchorField,
    access: FieldAccess,
    semantics: Semantics,
}

/// Outcome of an attempt to let an anchor leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Departure {
    /// It left, with about so many bytes.
    Left(usize),
    /// It is in use.
    InUse,
    /// It is too long to leave as a whole.
    TooLong,
}

/// Anchors that stay in memory, and that nobody else changes, until this is dropped.
#[derive(Debug)]
pub(super) struct HeldAnchors<'r> {
    _locks: SmallVec<[MutexGuard<'r, ()>; 8]>,
    /// The reason one of them could not come back. Rows may be added; of others nobody knows where they are.
    pub(super) error: Option<SpillError>,
}

/// Different anchors.
pub(super) type Anchors = SmallVec<[Anchor; 8]>;

impl Anchor {
    const fn key(self) -> RecordKey {
        RecordKey((self.hash as u128) << 64 | self.hash as u128)
    }

    const fn lock(self) -> usize {
        self.hash as usize % N_LOCKS
    }
}

impl AnchorReader {
    fn reads_as(&self, other: &Self) -> bool {
        (self.field, self.semantics, &self.access) == (other.field, other.semantics, &other.access)
    }

    pub(super) fn anchor_of(&self, transaction: &Transaction) -> Option<Anchor> {
        let mut key = Key::default();
        let value = [self.access.read(transaction)];
        key.fill(&value, |key, value| key.add(value, self.semantics, transaction))?;
        self.field.anchor_of_value(key.bytes())
    }
}

impl Residency {
    pub(super) fn within(limit_bytes: usize, directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            limit_bytes,
            records: OnceLock::new(),
            creating: Mutex::default(),
            has_records: AtomicBool::new(false),
            has_partial_keys: AtomicBool::new(false),
            locks: (0..N_LOCKS).map(|_| Mutex::default()).collect(),
            series: RwLock::default(),
            readers: RwLock::default(),
            n_left: AtomicU64::new(0),
        }
    }

    /// Returns whether any anchor ever left memory.
    #[inline]
    pub(super) fn has_records(&self) -> bool {
        self.has_records.load(Ordering::Acquire)
    }

    /// Returns whether keys in memory may lack rows that could not be read.
    #[inline]
    pub(super) fn has_partial_keys(&self) -> bool {
        self.has_partial_keys.load(Ordering::Acquire)
    }

    /// Returns the memory of the index, in bytes.
    pub(super) fn n_index_bytes(&self) -> usize {
        self.records.get().map_or(0, |records| records.store().n_index_bytes())
    }

    /// Returns the bytes in files.
    pub(super) fn n_file_bytes(&self) -> usize {
        self.records.get().map_or(0, |records| records.store().n_file_bytes())
    }

    /// Adds a series whose keys may leave memory.
    pub(super) fn register(&self, domain: AnchorDomain, series: &Arc<Series>) {
        let mut all = self.series.write();
        let of_domain = all.entry(domain).or_default();
        of_domain.retain(|series| series.strong_count() > 0);
        of_domain.push(Arc::downgrade(series));
    }

    /// Returns what reads the anchors of a series with this layout; equal ones are shared.
    pub(super) fn reader_of(&self, layout: &Layout) -> Option<Arc<AnchorReader>> {
        let (field, access) = (layout.anchor()?, layout.anchor_access()?.clone());
        let reader = AnchorReader { field, access, semantics: layout.semantics() };
        let mut readers = self.readers.write();
        readers.retain(|reader| Arc::strong_count(reader) > 1);
        let known = readers.iter().find(|known| known.reads_as(&reader)).map(Arc::clone);
        Some(known.unwrap_or_else(|| {
            let reader = Arc::new(reader);
            readers.push(Arc::clone(&reader));
            reader
        }))
    }

    /// Returns the anchors of a transaction that are on the disk.
    pub(super) fn elsewhere(&self, transaction: &Transaction) -> Anchors {
        let Some(records) = self.records.get() else { return Anchors::new() };
        let mut anchors = Anchors::new();
        for anchor in self.readers.read().iter().filter_map(|reader| reader.anchor_of(transaction)) {
            if !anchors.contains(&anchor) && records.store().may_contain(anchor.key()) {
                anchors.push(anchor);
            }
        }
        anchors
    }

    /// Returns how many anchors left so far.
    pub(super) fn n_left(&self) -> u64 {
        self.n_left.load(Ordering::Acquire)
    }

    fn series_of(&self, domain: AnchorDomain) -> SmallVec<[Arc<Series>; 16]> {
        let series = self.series.read();
        series.get(&domain).into_iter().flatten().filter_map(Weak::upgrade).collect()
    }

    fn lock_of(&self, anchor: Anchor) -> Option<&Mutex<()>> {
        self.locks.get(anchor.lock())
    }

    /// Holds anchors for a change of their rows. Those that are on the disk come back first.
    pub(super) fn hold(&self, anchors: &[Anchor]) -> HeldAnchors<'_> {
        let mut places: SmallVec<[usize; 8]> = anchors.iter().map(|anchor| anchor.lock()).collect();
        places.sort_unstable();
        places.dedup();
        let locks = places.iter().filter_map(|place| self.locks.get(*place)).map(Mutex::lock).collect();
        let mut held = HeldAnchors { _locks: locks, error: None };
        if self.has_records()
            && let Err(error) = self.bring_back(anchors)
        {
            tracing::error!(%error, "transactions of the history cannot be read back");
            self.has_partial_keys.store(true, Ordering::Release);
            held.error = Some(error);
        }
        held
    }

    /// Runs a query while its anchor is in memory.
    ///
    /// # Errors
    /// When the anchor cannot be read back.
    pub(super) fn while_resident<T>(
        &self,
        anchor: Anchor,
        ask: impl FnOnce() -> Result<T, LookupError>,
    ) -> Result<T, LookupError> {
        let _held = self.lock_of(anchor).map(Mutex::lock);
        self.bring_back(&[anchor])?;
        ask()
    }

    /// Brings anchors back before a lock is held, so that those who need them then do not wait for the disk.
    pub(super) fn prepare(&self, anchors: &[Anchor]) {
        let Some(records) = self.records.get() else { return };
        let keys: SmallVec<[RecordKey; 8]> = anchors.iter().map(|anchor| anchor.key()).collect();
        for (anchor, read) in anchors.iter().zip(records.read_all(&keys)) {
            let Ok(Some(record)) = read else { continue };
            let _held = self.lock_of(*anchor).map(Mutex::lock);
            // A record that cannot be used is read again, and reported, when it is needed.
            self.put_back(records.store(), *anchor, &record).ok();
        }
    }

    /// Brings anchors back that are on the disk; their locks must be held.
    fn bring_back(&self, anchors: &[Anchor]) -> Result<(), SpillError> {
        let Some(records) = self.records.get() else { return Ok(()) };
        let cold: Anchors =
            anchors.iter().copied().filter(|anchor| records.store().may_contain(anchor.key())).collect();
        if cold.is_empty() {
            return Ok(());
        }
        let keys: SmallVec<[RecordKey; 8]> = cold.iter().map(|anchor| anchor.key()).collect();
        let mut result = Ok(());
        for (anchor, read) in cold.iter().zip(records.read_all(&keys)) {
            result = result.and(self.take_in(records.store(), *anchor, read));
        }
        result
    }

    fn take_in(&self, store: &RecordStore, anchor: Anchor, read: ReadResult) -> Result<(), SpillError> {
        let mut read = read;
        while let Some(record) = read.map_err(|error| unusable(&error))? {
            if self.put_back(store, anchor, &record)? {
                break;
            }
            read = store.read(anchor.key());
        }
        Ok(())
    }

    /// Puts the keys of a record into their series, and removes the record. The lock of the anchor must be held. Returns
    /// whether the record was still there; it may have moved.
    fn put_back(
        &self,
        store: &RecordStore,
        anchor: Anchor,
        record: &StoredRecord,
    ) -> Result<bool, SpillError> {
        if !store.is_current(anchor.key(), record) {
            return Ok(false);
        }
        let parts = decode(&record.bytes).ok_or_else(|| unusable(&"a record is damaged"))?;
        let series = self.series_of(anchor.domain);
        for (table, keys) in parts {
            // The others were dropped, or filled anew from the store.
            let Some(series) = series.iter().find(|series| series.table_id() == table) else { continue };
            if !series.come_back(table, &keys) {
                return Err(unusable(&"a key of a record is damaged"));
            }
        }
        // Last: a query that finds no key waits for the lock while the record is there.
        match store.remove(anchor.key(), record.address) {
            Ok(()) => Ok(true),
            Err(AppendError::Moved) => Ok(false),
            Err(error) => Err(unusable(&error)),
        }
    }

    /// Lets an anchor leave memory, unless it is in use.
    ///
    /// # Errors
    /// When it cannot be written; it stays.
    pub(super) fn leave(&self, spill: &Spill, anchor: Anchor) -> Result<Departure, SpillError> {
        let Some(_held) = self.lock_of(anchor).and_then(Mutex::try_lock) else { return Ok(Departure::InUse) };
        spill.fail_if_full()?;
        let records = self.records()?;
        // A series that was filled meanwhile has keys of an anchor that is on the disk.
        if records.store().may_contain(anchor.key()) && self.bring_back(&[anchor]).is_err() {
            return Ok(Departure::InUse);
        }
        let series = self.series_of(anchor.domain);
        let mut parts: SmallVec<[(&Series, u64, Vec<ExportKey>); 16]> = SmallVec::new();
        let mut bytes = Vec::new();
        for series in &series {
            let (table, part) = series.part_of(anchor);
            match part {
                AnchorPart::InUse => return Ok(Departure::InUse),
                AnchorPart::TooLong => return Ok(Departure::TooLong),
                AnchorPart::Keys(keys) if keys.is_empty() => {}
                AnchorPart::Keys(keys) => {
                    if !encode(&mut bytes, table, &keys, spill)? || bytes.len() > RECORD_BYTES_MAX {
                        return Ok(Departure::TooLong);
                    }
                    parts.push((series, table, keys.into_iter().map(|(key, _)| key).collect()));
                }
            }
        }
        if parts.is_empty() {
            return Ok(Departure::Left(0));
        }
        // Before the record exists: a query that finds no key looks for it.
        self.has_records.store(true, Ordering::Release);
        records.store().append(anchor.key(), None, &bytes).map_err(|error| unusable(&error))?;
        self.n_left.fetch_add(1, Ordering::Release);
        for (series, table, keys) in parts {
            series.leave(table, &keys);
        }
        Ok(Departure::Left(bytes.len()))
    }

    /// Returns whether an anchor is on the disk now.
    pub(super) fn is_any_elsewhere(&self) -> bool {
        self.records.get().is_some_and(|records| records.store().n_records() > 0)
    }

    /// Brings everything back.
    #[cfg(test)]
    pub(super) fn bring_all_back(&self) {
        let Some(records) = self.records.get() else { return };
        let domains: Vec<AnchorDomain> = self.series.read().keys().copied().collect();
        for key in records.store().keys().unwrap() {
            let record = records.store().read(key).unwrap().unwrap();
            for (table, keys) in decode(&record.bytes).unwrap() {
                for domain in &domains {
                    let series = self.series_of(*domain);
                    let series = series.iter().find(|series| series.table_id() == table);
                    series.into_iter().for_each(|series| assert!(series.come_back(table, &keys)));
                }
            }
            records.store().remove(key, record.address).unwrap();
        }
    }

    /// Cleans files, after so many bytes were written.
    pub(super) fn clean(&self, n_written: usize) {
        let Some(records) = self.records.get() else { return };
        match records.store().clean(n_written / CLEANED_SHARE) {
            Ok(_) => records.store().discard_cleaned(),
            Err(error) => tracing::error!(%error, "files of the history cannot be cleaned"),
        }
    }

    fn records(&self) -> Result<&RecordReaders, SpillError> {
        if let Some(records) = self.records.get() {
            return Ok(records);
        }
        let _creating = self.creating.lock();
        if let Some(records) = self.records.get() {
            return Ok(records);
        }
        let folder = DiskFolder::open(&self.directory).map_err(|error| unusable(&error))?.of_unnamed_files();
        let origin = RecordOrigin { log: String::new(), contents: String::new() };
        let n_records = self.limit_bytes / INDEX_SHARE / INDEX_BYTES;
        let store = RecordStore::create(Arc::new(folder), origin, n_records);
        let store = Arc::new(store.map_err(|error| unusable(&error))?);
        let records = RecordReaders::start(store, N_READERS).map_err(|error| unusable(&error))?;
        Ok(self.records.get_or_init(|| records))
    }
}

impl History {
    /// Same as [`History::bounded`], and keys leave memory with all their rows when they take half of the limit. There are
    /// no snapshots then.
    ///
    /// # Errors
    /// When the spill file cannot be created.
    pub fn bounded_with_keys(self, limit_bytes: usize, directory: &Path) -> Result<Self, SpillError> {
        Ok(Self { spill: Arc::new(Spill::bounded(limit_bytes, directory, true)?), ..self })
    }

    /// Returns whether the history of a transaction must be read from the disk before it is accepted; see
    /// [`History::prepare`].
    #[must_use]
    pub fn is_elsewhere(&self, transaction: &Transaction) -> bool {
        let residency = self.spill.residency().filter(|residency| residency.has_records());
        residency.is_some_and(|residency| !residency.elsewhere(transaction).is_empty())
    }

    /// Reads the history of a transaction from the disk, so that nobody waits for the disk once it is accepted. Waits for
    /// the disk.
    pub fn prepare(&self, transaction: &Transaction) {
        if let Some(residency) = self.spill.residency() {
            residency.prepare(&residency.elsewhere(transaction));
        }
    }
}

fn unusable(error: &dyn std::fmt::Display) -> SpillError {
    SpillError { reason: error.to_string() }
}

/// Appends the keys of one series to a record. Returns whether they can leave.
fn encode(
    record: &mut Vec<u8>,
    table: u64,
    keys: &[(ExportKey, DeferredBytes)],
    spill: &Spill,
) -> Result<bool, SpillError> {
    put_number(record, table);
    put_number(record, keys.len() as u64);
    for (key, bytes) in keys {
        let runs = bytes.runs(|extent| spill.read(extent)).map_err(|miss| miss.error)?;
        if !runs.is_in_order() {
            return Ok(false);
        }
        put_bytes(record, key.to_bytes());
        put_number(record, runs.chunks.len() as u64);
        runs.chunks.iter().for_each(|chunk| put_bytes(record, chunk.bytes()));
        put_bytes(record, runs.latest.as_ref().map_or(&[][..], |latest| latest.bytes()));
    }
    Ok(true)
}

/// A key of a record, with its chunks and its latest run.
pub(super) struct KeptKey<'r> {
    pub(super) key: ExportKey,
    pub(super) chunks: Vec<&'r [u8]>,
    pub(super) latest: Option<&'r [u8]>,
}

/// Returns the keys of a record by their tables; `None` when it is damaged.
fn decode(record: &[u8]) -> Option<Vec<(u64, Vec<KeptKey<'_>>)>> {
    let mut rest = ByteReader(record);
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (table, n_keys) = (rest.number()?, rest.number()?);
        let mut keys = Vec::new();
        for _ in 0..n_keys {
            let key = ExportKey::from_bytes(rest.bytes()?)?;
            let n_chunks = rest.number()?;
            let chunks = (0..n_chunks).map(|_| rest.bytes()).collect::<Option<Vec<_>>>()?;
            let latest = Some(rest.bytes()?).filter(|latest| !latest.is_empty());
            keys.push(KeptKey { key, chunks, latest });
        }
        parts.push((table, keys));
    }
    Some(parts)
}
