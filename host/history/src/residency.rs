//! Which anchors are in memory, and which are records on the disk.
//!
//! ```text
//!            ┌───────────── leave: not used lately, the limit is exceeded ─────────────┐
//!  in memory │                                                                        ▼ on the disk
//!  keys of all series ◀── come back: a row is inserted or changed, a query finds no key ── a record
//! ```
//!
//! An anchor is in one of the two places. One that came back keeps its record, as a *copy*: while nothing changed, it leaves
//! memory without being written again. Both ways hold the lock of the anchor, and so does everything that changes a row of
//! it. In each series all its keys leave, and come back, under the lock of the series, so a query that finds a key has all
//! of it. A query that finds none asks here, if anything ever left.
//!
//! A row that is accepted never waits for the disk. If its anchor could not be brought back before, the anchor is *partial*:
//! rows of it are in both places, and the next query, or attempt to let it leave, joins them.
//!
//! A record holds settled rows alone, so that a start can open the files ([`checkpoint`]).

mod checkpoint;
mod in_use;
mod of_history;
mod reading;
mod record;
mod shard;
mod unread;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;
use tempfile::TempDir;
use tollgate_model::sequence::Sequence;
use tollgate_records::{DiskFolder, RecordKey, RecordOrigin, RecordReaders, RecordStore, StoredRecord};

use crate::anchor::{Anchor, AnchorDomain};
use crate::lookup_error::LookupError;
use crate::series::Series;
use crate::spill::{Spill, SpillError};

use record::{AnchorInMemory, remove, replace};
use shard::{AnchorShards, HeldShards};
use unread::UnreadAnchors;

pub(super) use checkpoint::{CheckpointSeries, CheckpointedHistory, resident_file_of};
pub(super) use in_use::AnchorReader;
pub(super) use record::KeptKey;

/// Threads that read records.
const N_READERS: usize = 8;
/// Maximum time to wait for records.
const PATIENCE: Duration = Duration::from_secs(1);
/// Memory of the index for a record, in bytes, by which it is laid out.
pub(super) const INDEX_BYTES: usize = 12;
/// The limit divided by this is what the index may take in its layout.
const INDEX_SHARE: usize = 4;
/// An anchor left lately while no more than the limit divided by this was written since.
const LATELY_SHARE: usize = 2;
/// The bytes written divided by this are the bytes that are cleaned.
const CLEANED_SHARE: usize = 2;
/// Memory that a key takes at least, in bytes.
const KEY_BYTES: usize = 128;
/// Name of the contents of the records, and of their format.
const CONTENTS: &str = "anchors 2";

/// The anchors of one history.
#[derive(Debug)]
pub(super) struct Residency {
    directory: PathBuf,
    /// The directory, if it goes with this history: its files have no names, and no start finds them.
    temporary: Option<TempDir>,
    limit_bytes: usize,
    /// Made when the first anchor leaves, or when a start opens the files.
    records: OnceLock<RecordReaders>,
    creating: Mutex<()>,
    /// Whether anchors leave memory, or did in an earlier process.
    has_records: AtomicBool,
    /// Read by those who change rows before the first anchor leaves.
    beginning: RwLock<()>,
    // Lock order: shards of anchors, in order; the generation; then a series.
    shards: AnchorShards,
    /// Rises when the key table of a series is replaced, since records then lack what is in the new one.
    generation: RwLock<u64>,
    series: RwLock<HashMap<AnchorDomain, Vec<Weak<Series>>>>,
    /// How series in use read their anchors.
    readers: RwLock<Vec<Arc<AnchorReader>>>,
    /// Everything up to this number is durable.
    settled: AtomicU64,
    /// Number of the status change that is being made; 0 when there is none.
    update: AtomicU64,
    /// Anchors that a checkpoint keeps in memory until it has ended.
    long: Mutex<HashSet<Anchor>>,
    /// Records that were read while locks of anchors were held.
    n_held_reads: AtomicU64,
    unread: UnreadAnchors,
    /// Held while rows are forgotten, and while a checkpoint records what was.
    forgetting: Mutex<()>,
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
    /// Until the first anchor leaves, all of them together.
    _all: Option<RwLockReadGuard<'r, ()>>,
    _shards: Option<HeldShards<'r>>,
    /// The reason one of them could not come back. Rows may be added; of others nobody knows where they are.
    pub(super) error: Option<SpillError>,
}

/// Different anchors.
pub(super) type Anchors = SmallVec<[Anchor; 8]>;

impl Anchor {
    const fn key(self) -> RecordKey {
        RecordKey((self.hash as u128) << 64 | self.hash as u128)
    }
}

impl Residency {
    /// Creates the anchors of an empty history, with their records in this directory. Everything up to `settled` counts as
    /// durable.
    fn new(limit_bytes: usize, directory: &Path, settled: Sequence) -> Self {
        Self {
            directory: directory.to_owned(),
            temporary: None,
            limit_bytes,
            records: OnceLock::new(),
            creating: Mutex::default(),
            has_records: AtomicBool::new(false),
            beginning: RwLock::default(),
            shards: AnchorShards::within(limit_bytes),
            generation: RwLock::new(1),
            series: RwLock::default(),
            readers: RwLock::default(),
            settled: AtomicU64::new(settled.0),
            update: AtomicU64::new(0),
            long: Mutex::default(),
            n_held_reads: AtomicU64::new(0),
            unread: UnreadAnchors::default(),
            forgetting: Mutex::default(),
        }
    }

    /// Returns whether any anchor ever left memory.
    #[inline]
    pub(super) fn has_records(&self) -> bool {
        self.has_records.load(Ordering::Acquire)
    }

    /// Returns whether keys in memory may lack rows that are on the disk.
    #[inline]
    pub(super) fn has_partial_keys(&self) -> bool {
        self.shards.n_partial() > 0
    }

    /// Returns the memory of the index, in bytes.
    pub(super) fn n_index_bytes(&self) -> usize {
        self.records.get().map_or(0, |records| records.store().n_index_bytes()) + self.shards.n_bytes()
    }

    fn n_records(&self) -> usize {
        self.records.get().map_or(0, |records| records.store().n_records())
    }

    fn n_held_reads(&self) -> u64 {
        self.n_held_reads.load(Ordering::Relaxed)
    }

    fn n_unread(&self) -> u64 {
        self.unread.n_noted()
    }

    /// Returns the bytes in files.
    pub(super) fn n_file_bytes(&self) -> usize {
        self.records.get().map_or(0, |records| records.store().n_file_bytes())
    }

    /// Records that everything up to this number is durable.
    fn settle(&self, through: Sequence) {
        self.settled.fetch_max(through.0, Ordering::AcqRel);
    }

    fn settled(&self) -> Sequence {
        Sequence(self.settled.load(Ordering::Acquire))
    }

    /// Returns whether every row that may be removed is in no record, because rows become durable later than they are accepted.
    pub(super) fn keeps_removable_rows(&self) -> bool {
        self.settled() < Sequence(u64::MAX)
    }

    pub(super) fn note_update(&self, number: Option<Sequence>) {
        self.update.store(number.map_or(0, |number| number.0), Ordering::Release);
    }

    /// Returns a lock that is held while rows are forgotten.
    pub(super) const fn forgetting(&self) -> &Mutex<()> {
        &self.forgetting
    }

    /// Returns a lock to hold while a key table is replaced.
    pub(super) fn new_generation(&self) -> RwLockWriteGuard<'_, u64> {
        let mut generation = self.generation.write();
        *generation += 1;
        generation
    }

    /// Returns a lock to hold while tables change their series: records name tables, and the tables of all series are looked
    /// up when one is read or written.
    pub(super) fn hold_generation(&self) -> RwLockWriteGuard<'_, u64> {
        self.generation.write()
    }

    /// Holds all anchors, if none ever left memory.
    pub(super) fn hold_all(&self) -> Option<HeldAnchors<'_>> {
        if self.has_records() {
            return None;
        }
        let all = self.beginning.read();
        (!self.has_records()).then_some(HeldAnchors { _all: Some(all), _shards: None, error: None })
    }

    /// Holds anchors to add rows. What is on the disk stays there, so that nobody waits for it: rows of such an anchor are
    /// in memory beside its record until a query brings it back.
    pub(super) fn hold_to_add(&self, anchors: &[Anchor]) -> HeldAnchors<'_> {
        let mut shards = self.shards.hold(anchors);
        if let Some(records) = self.records.get() {
            for anchor in anchors {
                if shards.copy_of(*anchor).is_some() {
                    shards.mark_changed(*anchor);
                } else if records.store().may_contain(anchor.key()) {
                    shards.mark_partial(*anchor);
                }
            }
        }
        HeldAnchors { _all: None, _shards: Some(shards), error: None }
    }

    /// Holds anchors for a change of their rows. Those that are on the disk come back first.
    pub(super) fn hold_to_change(&self, anchors: &[Anchor]) -> HeldAnchors<'_> {
        let mut shards = self.shards.hold(anchors);
        let error = self.bring_back(&mut shards, anchors).err();
        if let Some(error) = &error {
            tracing::error!(%error, "transactions of the history cannot be read back");
        }
        let update = Sequence(self.update.load(Ordering::Acquire));
        for anchor in anchors {
            shards.mark_changed(*anchor);
            if let Some(shard) = shards.shard_of(*anchor).filter(|_| update > Sequence::default()) {
                shard.last_update = shard.last_update.max(update);
            }
        }
        HeldAnchors { _all: None, _shards: Some(shards), error }
    }

    /// Runs a query while its anchor is in memory. No lock is held while it is read.
    ///
    /// # Errors
    /// When the anchor cannot be read back.
    pub(super) fn while_resident<T>(
        &self,
        anchor: Anchor,
        ask: impl FnOnce() -> Result<T, LookupError>,
    ) -> Result<T, LookupError> {
        let _held = self.hold_resident(anchor)?;
        ask()
    }

    /// Returns whether rows of an anchor are on the disk alone, or may be.
    fn is_cold(&self, shards: &mut HeldShards<'_>, anchor: Anchor) -> bool {
        self.records.get().is_some_and(|records| {
            records.store().may_contain(anchor.key()) && shards.copy_of(anchor).is_none()
        })
    }

    /// Brings anchors back while their locks are held.
    fn bring_back(&self, shards: &mut HeldShards<'_>, anchors: &[Anchor]) -> Result<(), SpillError> {
        for anchor in anchors {
            while self.is_cold(shards, *anchor) {
                self.n_held_reads.fetch_add(1, Ordering::Relaxed);
                let read = self.read(*anchor).map_err(|error| unusable(&error))?;
                self.put_back(shards, *anchor, read.as_ref())?;
            }
        }
        Ok(())
    }

    /// Puts the keys of a record into their series, while the lock of the anchor is held. Does nothing when the record is no
    /// longer what was read. `None` means that the anchor has none.
    fn put_back(
        &self,
        shards: &mut HeldShards<'_>,
        anchor: Anchor,
        record: Option<&StoredRecord>,
    ) -> Result<(), SpillError> {
        let Some(store) = self.records.get().map(RecordReaders::store) else { return Ok(()) };
        if shards.copy_of(anchor).is_some() {
            return Ok(());
        }
        let again;
        let record = match record {
            Some(record) => record,
            // The index took another one for it, which is rare; or it left since it was read.
            None => match store.read(anchor.key()).map_err(|error| unusable(&error))? {
                Some(record) => {
                    again = record;
                    &again
                }
                None => {
                    shards.set_copy(anchor, None, 0);
                    shards.mark_whole(anchor);
                    return Ok(());
                }
            },
        };
        if !store.is_current(anchor.key(), record) {
            return Ok(());
        }
        let Some(parts) = record::read(&record.bytes) else {
            self.note_damaged();
            return Err(unusable(&"a record is damaged"));
        };
        let left_lately = store.n_bytes_since(record) <= self.limit_bytes / LATELY_SHARE;
        let generation = self.generation.read();
        let series = self.series_of(anchor.domain);
        // A series that was filled meanwhile has keys that the record lacks.
        let is_current = !series.iter().any(|series| series.has_keys_of(anchor));
        for (table, keys) in parts {
            // The others were dropped, or filled anew from the store.
            let Some(series) = series.iter().find(|series| series.table_id() == table) else { continue };
            if !series.come_back(table, &keys, left_lately) {
                self.note_damaged();
                return Err(unusable(&"a key of a record is damaged"));
            }
        }
        // Last: a query that finds no key waits for the lock while the anchor counts as one on the disk.
        shards.set_copy(anchor, Some(record.address), if is_current { *generation } else { 0 });
        shards.mark_whole(anchor);
        Ok(())
    }

    /// Lets an anchor leave memory, unless it is in use or has rows that are not settled.
    ///
    /// # Errors
    /// When it cannot be written; it stays.
    pub(super) fn leave(&self, spill: &Spill, anchor: Anchor) -> Result<Departure, SpillError> {
        let Some(mut shards) = self.shards.try_hold(anchor) else { return Ok(Departure::InUse) };
        spill.fail_if_full()?;
        let records = self.records()?;
        if self.is_cold(&mut shards, anchor) {
            let series = self.series_of(anchor.domain);
            if !series.iter().any(|series| series.has_keys_of(anchor)) {
                // It left with another of its keys.
                return Ok(Departure::Left(0));
            }
            // Rows came beside its record, which leaves with them the next time.
            drop(shards);
            self.prepare(&[anchor]);
            return Ok(Departure::InUse);
        }
        let settled = self.settled();
        if shards.shard_of(anchor).is_some_and(|shard| shard.last_update > settled)
            || self.long.lock().contains(&anchor)
        {
            return Ok(Departure::InUse);
        }
        let generation = self.generation.read();
        let series = self.series_of(anchor.domain);
        let parts = match record::find(anchor, series.iter().map(|series| &**series), false) {
            AnchorInMemory::InUse => return Ok(Departure::InUse),
            AnchorInMemory::TooLong => return Ok(Departure::TooLong),
            AnchorInMemory::Parts(parts) => parts,
        };
        let copy = shards.copy_of(anchor).map(|copy| *copy);
        let address = copy.and_then(|copy| copy.address);
        if parts.is_empty() {
            remove(records.store(), anchor, address)?;
            shards.remove_copy(anchor);
            return Ok(Departure::Left(0));
        }
        let mut n_bytes = parts.iter().map(|part| part.keys.len() * KEY_BYTES).sum();
        if copy.is_none_or(|copy| copy.current_in != *generation) {
            let Some(record) = record::write(&parts, spill, settled)? else { return Ok(Departure::TooLong) };
            if record.is_partial || record.bytes.is_empty() {
                return Ok(Departure::InUse);
            }
            records.store().check_space().map_err(|error| unusable(&error))?;
            replace(records.store(), anchor, address, &record.bytes)?;
            n_bytes = record.bytes.len();
        }
        shards.remove_copy(anchor);
        for part in parts {
            part.series.leave(part.table, part.keys.iter().map(|(key, _)| key));
        }
        Ok(Departure::Left(n_bytes))
    }

    /// Checks whether files may grow, once there are some.
    ///
    /// # Errors
    /// When the disk has too little free space.
    pub(super) fn check_space(&self) -> Result<(), SpillError> {
        let Some(records) = self.records.get() else { return Ok(()) };
        records.store().check_space().map_err(|error| unusable(&error))
    }

    /// Cleans files, after so many bytes were written.
    pub(super) fn clean(&self, n_written: usize) {
        let Some(records) = self.records.get() else { return };
        if let Err(error) = records.store().clean(n_written / CLEANED_SHARE) {
            tracing::error!(%error, "files of the history cannot be cleaned");
        }
    }

    /// Brings everything back.
    #[cfg(test)]
    pub(super) fn bring_all_back(&self) {
        let Some(records) = self.records.get() else { return };
        let domains: Vec<AnchorDomain> = self.series.read().keys().copied().collect();
        for key in records.store().keys().unwrap() {
            let record = records.store().read(key).unwrap().unwrap();
            let tables: Vec<u64> =
                record::read(&record.bytes).unwrap().iter().map(|(table, _)| *table).collect();
            let is_of = |domain: &AnchorDomain| {
                self.series_of(*domain).iter().any(|series| tables.contains(&series.table_id()))
            };
            let hash = u64::try_from(key.0 >> u64::BITS).unwrap();
            let anchor = domains.iter().copied().find(is_of).map(|domain| Anchor { domain, hash });
            let Some(anchor) = anchor else { continue };
            let mut shards = self.shards.hold(&[anchor]);
            self.bring_back(&mut shards, &[anchor]).unwrap();
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
        let opened = match &self.temporary {
            None => DiskFolder::open(&self.directory),
            Some(_) => DiskFolder::open_unnamed(&self.directory),
        };
        let folder = opened.map_err(|error| unusable(&error))?;
        let n_records = self.limit_bytes / INDEX_SHARE / INDEX_BYTES;
        let store = RecordStore::create(Arc::new(folder), origin(), n_records);
        self.start(store.map_err(|error| unusable(&error))?)
    }

    /// Same as [`Residency::new`], in a directory that goes with this history.
    fn temporary(limit_bytes: usize, directory: TempDir, settled: Sequence) -> Self {
        let residency = Self::new(limit_bytes, directory.path(), settled);
        Self { temporary: Some(directory), ..residency }
    }

    fn start(&self, store: RecordStore) -> Result<&RecordReaders, SpillError> {
        let records = RecordReaders::start(Arc::new(store), N_READERS).map_err(|error| unusable(&error))?;
        Ok(self.records.get_or_init(|| records))
    }
}

fn origin() -> RecordOrigin {
    RecordOrigin { log: String::new(), contents: CONTENTS.into() }
}

pub(super) fn unusable(error: &dyn std::fmt::Display) -> SpillError {
    SpillError { reason: error.to_string() }
}
