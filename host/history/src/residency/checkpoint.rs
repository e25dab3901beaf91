//! Checkpoints: what a start opens instead of reading all stored transactions.
//!
//! ```text
//!  anchors in memory ──those that changed──▶ records ─┐
//!  keys that are not in records ──▶ resident-N ───────┼──▶ manifest: all of it, and the number R up to which it is complete
//!  anchors on the disk: their records ────────────────┘
//! ```
//!
//! Everything is complete up to the number R, which was settled when the checkpoint began, and may hold settled rows beyond
//! it. A start applies the stored steps behind R again; a row that is there stays as it is, and a status change that is
//! there ends in the same state.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tollgate_model::sequence::Sequence;
use tollgate_records::{DiskFolder, MANIFEST_FILE, OpenRecordsError, RecordStore};

use super::record::{self, AnchorInMemory, remove, replace};
use super::{Residency, origin, unusable};
use crate::anchor::{Anchor, AnchorDomain};
use crate::forgotten::HistoryForgotten;
use crate::key_table::TableState;
use crate::series::Series;
use crate::snapshot::{SnapshotError, failed};
use crate::spill::{Spill, SpillError};

/// Name of the files with the keys that are not in records, before their number.
const RESIDENT_FILE: &str = "resident-";
/// More tables than a process of an earlier version made, which did not write how many these were.
const TABLES_OF_A_PROCESS: u64 = 1 << 20;
/// More tables than are made while a checkpoint is concluded.
const TABLES_MEANWHILE: u64 = 1 << 10;
/// Slots whose anchors are copied between two looks at whether to go on.
const SLOTS_PER_STEP: usize = 64;
/// Maximum number of looks whether status changes are durable, and the pause between them.
const SETTLING_LOOKS_MAX: usize = 200;
const SETTLING_PAUSE: Duration = Duration::from_millis(5);

/// The state of the history in the manifest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointState {
    /// Name of the file with the keys that are not in records.
    resident: String,
    /// Upper bound of the numbers of all rows.
    sequence_max: u64,
    /// Higher than the number of any table that a record names, also of series that are gone. Earlier versions did not
    /// write it.
    next_table: Option<u64>,
    /// By the identity of their series.
    tables: BTreeMap<String, CheckpointedTable>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointedTable {
    id: u64,
    n_with_numbers: usize,
    /// End of the range from which rows were discarded, and the longest window then, in microseconds.
    forgotten: Option<(i64, i64)>,
}

/// The files of a checkpoint, opened.
#[derive(Debug)]
pub(crate) struct CheckpointedHistory {
    store: RecordStore,
    state: CheckpointState,
    /// The file with the keys that are not in records.
    pub(crate) resident: PathBuf,
}

/// A series of which a checkpoint is written.
pub(crate) struct CheckpointSeries {
    pub(crate) series: Arc<Series>,
    identity: String,
    table: u64,
}

/// Outcome of an attempt to copy an anchor into a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    /// Its record has everything that is settled, with about so many bytes written for it.
    Done(usize),
    /// It has a status change that is not settled yet.
    Unsettled,
    /// It is too long for a record.
    TooLong,
}

/// Lets long anchors leave again when it is dropped.
pub(crate) struct LongAnchors<'r>(&'r Residency);

impl Drop for LongAnchors<'_> {
    fn drop(&mut self) {
        self.0.long.lock().clear();
    }
}

impl LongAnchors<'_> {
    /// Returns whether a key of a series is in no record.
    pub(crate) fn keeps(&self, series: &Series, key: &[u8]) -> bool {
        series.anchor_of(key).is_none_or(|anchor| self.0.long.lock().contains(&anchor))
    }
}

impl CheckpointSeries {
    pub(crate) fn of(series: Arc<Series>) -> Self {
        Self { identity: series.identity(), table: series.table_id(), series }
    }
}

/// Returns the folder of a directory with a checkpoint.
fn folder_of(directory: &Path) -> Result<Option<DiskFolder>, SnapshotError> {
    if !directory.join(MANIFEST_FILE).exists() {
        return Ok(None);
    }
    DiskFolder::open(directory).map(Some).map_err(failed(directory))
}

/// Returns the path of the file with the keys that are not in records, for the last checkpoint in a directory; `None` when
/// there is none.
///
/// # Errors
/// When the checkpoint cannot be read.
pub(crate) fn resident_file_of(directory: &Path) -> Result<Option<PathBuf>, SnapshotError> {
    let Some(folder) = folder_of(directory)? else { return Ok(None) };
    let (_, state) = RecordStore::last_checkpoint(&folder, &origin())?;
    Ok(Some(directory.join(CheckpointState::read(&state)?.resident)))
}

impl CheckpointState {
    fn read(json: &str) -> Result<Self, OpenRecordsError> {
        let bad = |error: serde_json::Error| OpenRecordsError::BadManifest { reason: error.to_string() };
        serde_json::from_str(json).map_err(bad)
    }
}

impl CheckpointedHistory {
    /// Returns a number that is higher than that of any table which a record names.
    pub(crate) fn next_table(&self) -> u64 {
        let highest = self.state.tables.values().map(|table| table.id).max().unwrap_or_default();
        self.state.next_table.unwrap_or(highest + TABLES_OF_A_PROCESS)
    }

    /// Returns what is known of a table beside its keys, by the identity of its series.
    pub(crate) fn table(&self, identity: &str) -> Option<TableState> {
        let table = self.state.tables.get(identity)?;
        let forgotten =
            table.forgotten.map(|(through, longest_window)| HistoryForgotten { through, longest_window });
        Some(TableState {
            id: table.id,
            n_with_numbers: table.n_with_numbers,
            sequence_max: Sequence(self.state.sequence_max),
            forgotten,
        })
    }
}

impl Residency {
    /// Opens the files of the last checkpoint; `None` when there is none.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub(crate) fn open(&self) -> Result<Option<CheckpointedHistory>, SnapshotError> {
        let Some(folder) = folder_of(&self.directory)? else { return Ok(None) };
        let opened = RecordStore::open(Arc::new(folder), origin())?;
        let state = CheckpointState::read(&opened.state)?;
        let resident = self.directory.join(&state.resident);
        Ok(Some(CheckpointedHistory { store: opened.store, state, resident }))
    }

    /// Returns whether there is a checkpoint for the next start.
    pub(crate) fn has_checkpoint(&self) -> bool {
        self.directory.join(MANIFEST_FILE).exists()
    }

    /// Takes over the records of a checkpoint, whose series were filled from it.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(crate) fn take_over(&self, opened: CheckpointedHistory) -> Result<(), SpillError> {
        self.start(opened.store)?;
        self.begin();
        Ok(())
    }

    /// Makes the next start read all stored transactions.
    pub(crate) fn discard_checkpoint(&self) {
        if let Err(error) = fs::remove_file(self.directory.join(MANIFEST_FILE))
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(%error, "the manifest of the history cannot be removed");
        }
    }

    /// Copies all anchors in memory that changed since their record was written into new records, without what is not
    /// settled. Returns those that are too long for one; they stay in memory until the value is dropped.
    ///
    /// # Errors
    /// When a file cannot be read or written, or `go_on` returns false.
    pub(crate) fn copy_changed(
        &self,
        spill: &Spill,
        series: &[CheckpointSeries],
        go_on: &dyn Fn() -> bool,
    ) -> Result<LongAnchors<'_>, SnapshotError> {
        if self.has_damaged_records() {
            return Err(SnapshotError::Damaged { what: "a record" });
        }
        let long = LongAnchors(self);
        // Those that were copied without what is not settled, so that they seem to have changed.
        let mut seen = HashSet::new();
        let mut waiting = Vec::new();
        // Those with a record that lacks a change made before the checkpoint began, until they are met.
        let mut unmet: HashSet<u64> =
            self.shards.changed_since(*self.generation.read()).into_iter().collect();
        for series in series.iter().map(|one| &one.series).filter(|series| series.has_anchors()) {
            let mut before = Some(usize::MAX);
            while let Some(slot) = before {
                let (anchors, next) = series.anchors_before(slot, SLOTS_PER_STEP);
                let mut n_bytes = 0;
                for anchor in anchors {
                    unmet.remove(&anchor.hash);
                    if !seen.contains(&anchor) {
                        match self.copy(spill, anchor, &mut seen)? {
                            Copied::Done(n_more) => n_bytes += n_more,
                            Copied::Unsettled => waiting.push(anchor),
                            Copied::TooLong => {}
                        }
                    }
                }
                before = next;
                self.clean(n_bytes);
                // Those who accept payments make room themselves; this thread may be slower than they are.
                if !spill.has_room_to_fill() {
                    spill.make_room();
                }
                if !go_on() {
                    return Err(SnapshotError::GivenUp);
                }
            }
        }
        self.drop_all_emptied(unmet.into_iter().collect())?;
        self.copy_when_settled(spill, waiting, &mut seen)?;
        Ok(long)
    }

    /// Removes the records of anchors that have no key left, and waits until the changes that removed them are durable.
    fn drop_all_emptied(&self, mut hashes: Vec<u64>) -> Result<(), SnapshotError> {
        for _ in 0..SETTLING_LOOKS_MAX {
            let mut left = Vec::new();
            for hash in hashes {
                if !self.drop_emptied(hash)? {
                    left.push(hash);
                }
            }
            if left.is_empty() {
                return Ok(());
            }
            hashes = left;
            thread::sleep(SETTLING_PAUSE);
        }
        Err(SnapshotError::TakenBack)
    }

    /// Removes the record of an anchor that is in memory and has no key left in any series. One that left memory meanwhile
    /// was written then. Returns false when a change is not durable yet.
    fn drop_emptied(&self, hash: u64) -> Result<bool, SnapshotError> {
        let domains: Vec<AnchorDomain> = self.series.read().keys().copied().collect();
        let anchors = || domains.iter().map(|domain| Anchor { domain: *domain, hash });
        let Some(anchor) = anchors().next() else { return Ok(true) };
        let mut shards = self.shards.hold(&[anchor]);
        let Some(copy) = shards.copy_of(anchor).map(|copy| *copy) else { return Ok(true) };
        let has_keys =
            |anchor: Anchor| self.series_of(anchor.domain).iter().any(|series| series.has_keys_of(anchor));
        if anchors().any(has_keys) {
            return Ok(true);
        }
        let settled = self.settled();
        if shards.shard_of(anchor).is_some_and(|shard| shard.last_update > settled) {
            return Ok(false);
        }
        remove(self.records()?.store(), anchor, copy.address)?;
        shards.remove_copy(anchor);
        Ok(true)
    }

    fn copy_when_settled(
        &self,
        spill: &Spill,
        mut waiting: Vec<Anchor>,
        seen: &mut HashSet<Anchor>,
    ) -> Result<(), SnapshotError> {
        for _ in 0..SETTLING_LOOKS_MAX {
            let mut left = Vec::new();
            for anchor in waiting {
                if self.copy(spill, anchor, seen)? == Copied::Unsettled {
                    left.push(anchor);
                }
            }
            if left.is_empty() {
                return Ok(());
            }
            waiting = left;
            thread::sleep(SETTLING_PAUSE);
        }
        Err(SnapshotError::TakenBack)
    }

    fn copy(
        &self,
        spill: &Spill,
        anchor: Anchor,
        seen: &mut HashSet<Anchor>,
    ) -> Result<Copied, SnapshotError> {
        let mut shards = self.shards.hold(&[anchor]);
        spill.fail_if_full()?;
        let records = self.records()?;
        while self.is_cold(&mut shards, anchor) {
            // Rows came beside its record.
            drop(shards);
            let read = self.read(anchor).map_err(|error| unusable(&error))?;
            shards = self.shards.hold(&[anchor]);
            self.put_back(&mut shards, anchor, read.as_ref())?;
        }
        let generation = self.generation.read();
        let copy = shards.copy_of(anchor).map(|copy| *copy);
        let address = copy.and_then(|copy| copy.address);
        if copy.is_some_and(|copy| copy.current_in == *generation) {
            return Ok(Copied::Done(0));
        }
        let settled = self.settled();
        if shards.shard_of(anchor).is_some_and(|shard| shard.last_update > settled) {
            return Ok(Copied::Unsettled);
        }
        let series = self.series_of(anchor.domain);
        let record = match record::find(anchor, series.iter().map(|series| &**series), true) {
            AnchorInMemory::Parts(parts) => record::write(&parts, spill, settled)?,
            AnchorInMemory::TooLong | AnchorInMemory::InUse => None,
        };
        let record = match record {
            Some(record) if !record.bytes.is_empty() => record,
            // All of it is newer than the checkpoint.
            Some(record) if record.is_partial => {
                remove(records.store(), anchor, address)?;
                if address.is_some() {
                    shards.set_copy(anchor, None, 0);
                }
                seen.insert(anchor);
                return Ok(Copied::Done(0));
            }
            no_record => {
                remove(records.store(), anchor, address)?;
                shards.remove_copy(anchor);
                if no_record.is_some() {
                    return Ok(Copied::Done(0));
                }
                self.long.lock().insert(anchor);
                seen.insert(anchor);
                return Ok(Copied::TooLong);
            }
        };
        let n_bytes = record.bytes.len();
        let address = replace(records.store(), anchor, address, &record.bytes)?;
        shards.set_copy(anchor, Some(address), if record.is_partial { 0 } else { *generation });
        if record.is_partial {
            seen.insert(anchor);
        }
        Ok(Copied::Done(n_bytes))
    }

    /// Returns the path of a file for the keys that are not in records; no manifest names it yet.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub(crate) fn next_resident_file(&self) -> Result<PathBuf, SnapshotError> {
        let numbers = self.resident_files()?.into_iter().map(|(number, _)| number);
        Ok(self.directory.join(format!("{RESIDENT_FILE}{}", numbers.max().unwrap_or(0) + 1)))
    }

    fn resident_files(&self) -> Result<Vec<(u64, PathBuf)>, SnapshotError> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(failed(&self.directory))? {
            let path = entry.map_err(failed(&self.directory))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let number = name.and_then(|name| name.strip_prefix(RESIDENT_FILE)?.parse().ok());
            files.extend(number.map(|number| (number, path.clone())));
        }
        Ok(files)
    }

    /// Makes records and the keys of a file the checkpoint for the next start, complete up to `through`.
    ///
    /// # Errors
    /// When a file cannot be written; the former checkpoint holds.
    pub(crate) fn conclude(
        &self,
        spill: &Spill,
        through: Sequence,
        last: Sequence,
        series: &[CheckpointSeries],
        resident: &Path,
        identities: &[String],
    ) -> Result<(), SnapshotError> {
        if self.has_damaged_records() {
            return Err(SnapshotError::Damaged { what: "a record" });
        }
        // Rows that were forgotten until now may be missing in a record.
        let _nothing_is_forgotten = self.forgetting.lock();
        let mut tables = BTreeMap::new();
        for CheckpointSeries { series, identity, table } in series {
            if !identities.contains(identity) {
                continue;
            }
            // Otherwise it was filled anew meanwhile.
            if let Some(TableState { n_with_numbers, forgotten, .. }) =
                series.table_state().filter(|state| state.id == *table)
            {
                let forgotten = forgotten.map(|gone| (gone.through, gone.longest_window));
                tables.insert(identity.clone(), CheckpointedTable { id: *table, n_with_numbers, forgotten });
            }
        }
        let named: HashSet<String> = tables.keys().cloned().collect();
        let name = resident.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let next_table = Some(spill.tables_end() + TABLES_MEANWHILE);
        let state = CheckpointState { resident: name.into(), sequence_max: last.0, next_table, tables };
        let state = serde_json::to_string(&state).map_err(|error| unusable(&error))?;
        self.records()?.store().checkpoint(through.0, &state).map_err(|error| unusable(&error))?;
        if series.iter().any(|one| named.contains(&one.identity) && one.series.table_id() != one.table) {
            // Records that were written last may lack the keys of a table that was replaced.
            self.discard_checkpoint();
            return Err(SnapshotError::TakenBack);
        }
        for (_, path) in self.resident_files()? {
            if path != resident {
                fs::remove_file(&path).map_err(failed(&path))?;
            }
        }
        Ok(())
    }

    /// Writes the index of the records, so that the next start need not read all feet; does nothing when records were
    /// written since the last checkpoint.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn write_index(&self) -> Result<(), SpillError> {
        let Some(records) = self.records.get() else { return Ok(()) };
        records.store().write_index().map(drop).map_err(|error| unusable(&error))
    }
}
