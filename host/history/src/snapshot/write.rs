//! Writing of a snapshot, while the history is in use. The file takes its final name when it is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::digest_key;

use super::block::{BlockWriter, PART_ENTRIES_MAX};
use super::layout::{BLOCK_BYTES_MAX, Block, Section, SnapshotHead, checksum, table_to_bytes};
use super::{SnapshotError, SnapshotMark, failed};
use crate::History;
use crate::admission::SettledPart;
use crate::key::ExportKey;
use crate::residency::{CheckpointSeries, Residency};
use crate::series::Series;
use crate::spill::SpillError;
use crate::timeline::{Entry, TimelineRuns};

/// Size at which a block is written; small in tests, so that keys span several blocks.
const BLOCK_BYTES: usize = if cfg!(test) { 1 << 10 } else { 512 << 10 };
/// Keys exported from a series at a time; its lock is held only while their handles are copied.
const KEYS_PER_STEP: usize = 64;
/// Entries from which a run without chunks is written as it is; with fewer, its head would be most of it.
const RUN_ENTRIES_MIN: usize = 32;
/// Maximum number of entries in a part when they have cells, which may be large.
const PART_ENTRIES_WITH_CELLS_MAX: usize = 128;
/// Maximum number of times to check whether updates are durable, and the pause between checks.
const SETTLING_LOOKS_MAX: usize = 1_000;
const SETTLING_PAUSE: Duration = Duration::from_millis(5);
/// Only the owner may access the file.
const FILE_MODE: u32 = 0o600;

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenSnapshot {
    /// Mark of the snapshot.
    pub mark: SnapshotMark,
    /// Size of the file, in bytes.
    pub n_bytes: u64,
    /// Entries of all series together.
    pub n_entries: u64,
    /// Number of transactions in the snapshot.
    pub n_transactions: u64,
}

struct SnapshotFile<'a> {
    file: File,
    path: PathBuf,
    at: u64,
    go_on: &'a dyn Fn() -> bool,
}

struct SectionWriter<'g, 'a> {
    growing: &'g mut SnapshotFile<'a>,
    through: Sequence,
    block: BlockWriter,
    section: Section,
    /// Set when the section cannot be completed; the file then lacks the series.
    stopped: Option<WriteStopped>,
}

enum WriteStopped {
    /// Its columns changed, it cannot be read, or a part is too large; a restart builds the series from the store.
    Changed,
    Failed(SnapshotError),
}

impl History {
    /// Writes a snapshot of everything settled and replaces the file. Returns `None` when there is nothing to write, or
    /// nothing new `since`. Calls `go_on` after every block and stops when it returns false. Runs long, but holds no
    /// lock for more than a moment.
    ///
    /// # Errors
    /// When the file cannot be written, the store cannot be read, something was retracted meanwhile, or `go_on`
    /// returned false. The old file remains then, unless only the sync after its replacement failed.
    pub fn write_snapshot(
        &self,
        file: &Path,
        since: Option<&SnapshotMark>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<WrittenSnapshot>, SnapshotError> {
        let settled = self.admission.lock().settled_part();
        let mark = SnapshotMark::new(settled.through, settled.series.iter().map(|series| series.identity()));
        if settled.through == Sequence::default() || since == Some(&mark) {
            return Ok(None);
        }
        let past = self.past.as_ref().ok_or(SnapshotError::NoTestimony)?;
        let testimony = past.testimony(settled.through)?.ok_or(SnapshotError::NoTestimony)?;
        let head = SnapshotHead {
            through: settled.through,
            n_transactions: settled.n_transactions,
            testimony,
            digest_key: digest_key(),
        };
        let residency = self.spill.residency().filter(|residency| residency.has_records());
        let written = match residency {
            Some(residency) => self.write_checkpoint(residency, file, &head, settled, go_on),
            None => self.write_file(file, &head, &settled, go_on),
        };
        let (n_bytes, sections) = written?;
        let identities = sections.iter().map(|section| section.identity.clone());
        Ok(Some(WrittenSnapshot {
            mark: SnapshotMark::new(head.through, identities),
            n_bytes,
            n_entries: sections.iter().map(|section| section.n_entries).sum(),
            n_transactions: head.n_transactions,
        }))
    }

    /// Returns what identifies the contents of each series of rules in force, sorted.
    #[must_use]
    pub fn series_identities(&self) -> Vec<String> {
        let series = self.admission.lock().settled_part().series;
        let mut identities: Vec<String> = series.iter().map(|series| series.identity()).collect();
        identities.sort_unstable();
        identities
    }

    /// Leaves what the next start needs to open the records of keys on the disk quickly. Call it after the last snapshot.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_index(&self) -> Result<(), SpillError> {
        self.spill.residency().map_or(Ok(()), Residency::write_index)
    }

    /// Writes everything into one file.
    fn write_file(
        &self,
        file: &Path,
        head: &SnapshotHead,
        settled: &SettledPart,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(u64, Vec<Section>), SnapshotError> {
        let unfinished = beside(file);
        // A key that leaves memory meanwhile could be in neither place.
        let is_whole = || match self.spill.has_records() {
            true => Err(SnapshotError::TakenBack),
            false => Ok(()),
        };
        let written = write(&unfinished, head, &settled.series, &|_, _| true, go_on)
            .and_then(|written| self.wait_for_the_rest(settled, go_on).map(|()| written))
            .and_then(|written| is_whole().map(|()| written))
            .and_then(|written| put_in_place(&unfinished, file).map_err(failed(file)).map(|()| written));
        if written.is_err() {
            // A partial file is useless and takes space; a later attempt starts over.
            let _ = fs::remove_file(&unfinished);
        }
        written
    }

    /// Writes what changed of the keys that are in records, and a file of the others.
    fn write_checkpoint(
        &self,
        residency: &Residency,
        file: &Path,
        head: &SnapshotHead,
        settled: SettledPart,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(u64, Vec<Section>), SnapshotError> {
        let series: Vec<CheckpointSeries> =
            settled.series.iter().cloned().map(CheckpointSeries::of).collect();
        let long = residency.copy_changed(&self.spill, &series, go_on)?;
        let resident = residency.next_resident_file()?;
        let written = write(&resident, head, &settled.series, &|series, key| long.keeps(series, key), go_on)
            .and_then(|written| self.wait_for_the_rest(&settled, go_on).map(|()| written))
            .and_then(|(n_bytes, sections)| {
                let identities: Vec<String> =
                    sections.iter().map(|section| section.identity.clone()).collect();
                let last = self.admission.lock().last();
                residency.conclude(&self.spill, head.through, last, &series, &resident, &identities)?;
                Ok((n_bytes, sections))
            });
        match &written {
            // It would be opened after a start without these records.
            Ok(_) => remove_former(file),
            Err(_) => remove_former(&resident),
        }
        written
    }

    /// Waits until every update that may be in the file is durable; the sequence numbers of entries do not show
    /// updates. An update that is retracted meanwhile may have left its entries in two places, or in none.
    fn wait_for_the_rest(&self, begun: &SettledPart, go_on: &dyn Fn() -> bool) -> Result<(), SnapshotError> {
        let last = self.admission.lock().last();
        for _ in 0..SETTLING_LOOKS_MAX {
            let admission = self.admission.lock();
            if admission.n_retractions() != begun.n_retractions {
                return Err(SnapshotError::TakenBack);
            }
            if !admission.has_unsettled_update(last) {
                return Ok(());
            }
            drop(admission);
            if !go_on() {
                return Err(SnapshotError::GivenUp);
            }
            thread::sleep(SETTLING_PAUSE);
        }
        Err(SnapshotError::TakenBack)
    }
}

fn write(
    path: &Path,
    head: &SnapshotHead,
    series: &[Arc<Series>],
    wants: &dyn Fn(&Series, &[u8]) -> bool,
    go_on: &dyn Fn() -> bool,
) -> Result<(u64, Vec<Section>), SnapshotError> {
    let mut growing = SnapshotFile::create(path, go_on)?;
    let head_bytes = head.to_bytes();
    growing.append(&head_bytes)?;
    let mut sections = Vec::new();
    for series in series {
        sections.extend(write_series(&mut growing, series, wants, head.through)?);
    }
    growing.append(&table_to_bytes(&head_bytes, &sections))?;
    growing.file.sync_all().map_err(failed(path))?;
    Ok((growing.at, sections))
}

/// Returns `None` when the series was rebuilt during the write or cannot be written; a restart then builds it from the
/// store.
fn write_series(
    growing: &mut SnapshotFile<'_>,
    series: &Series,
    wants: &dyn Fn(&Series, &[u8]) -> bool,
    through: Sequence,
) -> Result<Option<Section>, SnapshotError> {
    let (identity, n_shelves) = (series.identity(), series.n_shelves());
    let section = Section { identity: identity.clone(), ..Section::default() };
    let mut writer =
        SectionWriter { growing, through, block: BlockWriter::default(), section, stopped: None };
    let mut next = Some(usize::MAX);
    while let Some(end) = next {
        let wants = |key: &ExportKey| wants(series, key.to_bytes());
        match series.export(end, KEYS_PER_STEP, &wants, &mut |key, runs| writer.add(key, runs)) {
            Ok(before) => next = before,
            Err(error) => {
                tracing::warn!(error = %error, "a series cannot be read; it is left out of the snapshot");
                writer.stopped = Some(WriteStopped::Changed);
            }
        }
        match writer.stopped.take() {
            None => {}
            Some(WriteStopped::Changed) => break,
            Some(WriteStopped::Failed(error)) => return Err(error),
        }
    }
    if next.is_some() {
        return Ok(None);
    }
    match writer.finish_block() {
        Ok(()) => {}
        Err(WriteStopped::Changed) => return Ok(None),
        Err(WriteStopped::Failed(error)) => return Err(error),
    }
    // Read last, because entries may have been discarded during the export.
    writer.section.forgotten = series.forgotten();
    // If the series was refilled during the export, its slots changed.
    Ok((series.n_shelves() == n_shelves).then_some(writer.section))
}

impl SectionWriter<'_, '_> {
    fn add(&mut self, key: &ExportKey, runs: &TimelineRuns) {
        if self.stopped.is_some() {
            return;
        }
        let key = key.to_bytes();
        let added = if runs.is_in_order() {
            self.add_runs(key, runs)
        } else {
            let is_in = |entry: &Entry| entry.sequence <= self.through;
            let entries: Vec<Entry> = runs.entries().into_iter().filter(is_in).collect();
            self.add_entries(key, &entries)
        };
        self.stopped = added.err();
    }

    fn add_runs(&mut self, key: &[u8], runs: &TimelineRuns) -> Result<(), WriteStopped> {
        let through = self.through;
        for chunk in runs.chunks.iter().filter_map(|chunk| chunk.up_to(through)) {
            self.section.n_entries += chunk.open().rows().len() as u64;
            self.block.add_chunk(key, chunk.bytes());
            self.finish_full_block()?;
        }
        match runs.latest.as_ref().and_then(|latest| latest.up_to(through)) {
            None => Ok(()),
            Some(latest) if runs.chunks.is_empty() && latest.open().rows().len() < RUN_ENTRIES_MIN => {
                self.add_entries(key, &latest.open().to_entries())
            }
            Some(latest) => {
                self.section.n_entries += latest.open().rows().len() as u64;
                self.block.add_latest(key, latest.bytes());
                self.finish_full_block()
            }
        }
    }

    fn add_entries(&mut self, key: &[u8], entries: &[Entry]) -> Result<(), WriteStopped> {
        let has_cells = entries.first().is_some_and(|entry| !entry.cells.is_empty());
        let n_entries_max = if has_cells { PART_ENTRIES_WITH_CELLS_MAX } else { PART_ENTRIES_MAX };
        for part in entries.chunks(n_entries_max) {
            if !self.block.add(key, part) {
                return Err(WriteStopped::Changed);
            }
            self.section.n_entries += part.len() as u64;
            self.finish_full_block()?;
        }
        Ok(())
    }

    fn finish_full_block(&mut self) -> Result<(), WriteStopped> {
        if self.block.len() < BLOCK_BYTES {
            return Ok(());
        }
        self.finish_block()
    }

    fn finish_block(&mut self) -> Result<(), WriteStopped> {
        let bytes = self.block.take();
        if bytes.is_empty() {
            return Ok(());
        }
        if bytes.len() > BLOCK_BYTES_MAX {
            return Err(WriteStopped::Changed);
        }
        let block = Block { at: self.growing.at, n_bytes: bytes.len(), checksum: checksum(&bytes) };
        self.growing.append(&bytes).map_err(WriteStopped::Failed)?;
        self.section.blocks.push(block);
        if (self.growing.go_on)() { Ok(()) } else { Err(WriteStopped::Failed(SnapshotError::GivenUp)) }
    }
}

impl<'a> SnapshotFile<'a> {
    fn create(path: &Path, go_on: &'a dyn Fn() -> bool) -> Result<Self, SnapshotError> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(path)(error)),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(FILE_MODE).open(path).map_err(failed(path))?;
        Ok(Self { file, path: path.to_owned(), at: 0, go_on })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        self.file.write_all(bytes).map_err(failed(&self.path))?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

fn remove_former(file: &Path) {
    if let Err(error) = fs::remove_file(file)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, file = %file.display(), "a file of the history cannot be removed");
    }
}

fn beside(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".new");
    path.into()
}

/// Renames the file durably: the name is safe once its directory has been synced.
fn put_in_place(unfinished: &Path, file: &Path) -> io::Result<()> {
    fs::rename(unfinished, file)?;
    match file.parent() {
        Some(directory) if directory != Path::new("") => File::open(directory)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}
