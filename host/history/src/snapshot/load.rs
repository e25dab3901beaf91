//! Loading of a snapshot. It is used only when all of it is intact and the store still matches.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use parking_lot::Mutex;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::adopt_digest_key;

use super::block::{BlockPart, BlockReader};
use super::layout::{Block, FOOT_BYTES, HEAD_BYTES, Section, SnapshotHead, checksum, read_foot, read_table};
use super::{RECORDS_DIRECTORY, SNAPSHOT_FILE, SnapshotError, SnapshotMark, failed};
use crate::filling_table::FillingTable;
use crate::key::ExportKey;
use crate::past::Past;
use crate::residency::resident_file_of;
use crate::series::Series;
use crate::timeline::{OpenRun, Rows};

/// Bytes of chunks from which they are imported, so that a key with many of them stays within the memory limit.
const PENDING_BYTES_MAX: usize = 32 << 10;

/// The contents of a snapshot for the requested series.
#[derive(Debug)]
pub(crate) struct LoadedSnapshot {
    /// Mark of everything in the file, whether requested or not.
    pub(crate) mark: SnapshotMark,
    pub(crate) n_transactions: u64,
    /// Each series found, with its identity and contents.
    pub(crate) shelves: Vec<(Arc<Series>, String, FillingTable)>,
}

struct FillJob {
    series: Arc<Series>,
    section: Section,
}

struct BlockSource<'a> {
    file: &'a File,
    path: &'a Path,
    go_on: &'a (dyn Fn() -> bool + Sync),
    is_over: AtomicBool,
}

impl LoadedSnapshot {
    pub(crate) const fn through(&self) -> Sequence {
        self.mark.through
    }
}

/// Reads the contents of a snapshot for these series, in parallel; returns `None` when there is no file. The head is
/// checked against the store first, and nothing is returned before everything was read.
pub(crate) fn load(
    path: &Path,
    past: &dyn Past,
    wanted: Vec<Arc<Series>>,
    n_threads: usize,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<Option<LoadedSnapshot>, SnapshotError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed(path))?,
    };
    let (head, mut sections) = read_frame(&file, path)?;
    check_against(past, &head)?;
    if !adopt_digest_key(head.digest_key) {
        return Err(SnapshotError::OtherKey);
    }
    let mark = SnapshotMark::new(head.through, sections.iter().map(|section| section.identity.clone()));
    let mut jobs: Vec<FillJob> = wanted
        .into_iter()
        .filter_map(|series| {
            let identity = series.identity();
            let longest_window = series.longest_window();
            // A series that discarded entries when its windows were shorter than now is read from the store.
            let suffices = |section: &Section| {
                section.forgotten.is_none_or(|forgotten| longest_window <= forgotten.longest_window)
            };
            let place =
                sections.iter().position(|section| section.identity == identity && suffices(section))?;
            Some(FillJob { series, section: sections.swap_remove(place) })
        })
        .collect();
    // Jobs are taken from the end: the largest first, so that it does not finish last.
    jobs.sort_by_key(|job| job.section.n_entries);
    let source = BlockSource { file: &file, path, go_on, is_over: AtomicBool::new(false) };
    let shelves = fill_all(&source, jobs, n_threads)?;
    Ok(Some(LoadedSnapshot { mark, n_transactions: head.n_transactions, shelves }))
}

/// The head of a snapshot, which was not compared with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotSummary {
    /// Name of the store that it was made from.
    pub store: [u8; 16],
    /// Number up to which it claims to be complete.
    pub through: Sequence,
    /// Number of transactions up to `through`.
    pub n_transactions: u64,
}

/// Returns the summary of the snapshot beside a store, in its data directory; `None` when there is none. Reads only head and
/// table, and does not query the store.
///
/// # Errors
/// When the file is not a snapshot, or its head, table or foot is damaged.
pub fn recognise(data_dir: &Path) -> Result<Option<SnapshotSummary>, SnapshotError> {
    let resident = resident_file_of(&data_dir.join(RECORDS_DIRECTORY))?;
    let path = &resident.unwrap_or_else(|| data_dir.join(SNAPSHOT_FILE));
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed(path))?,
    };
    let (head, _) = read_frame(&file, path)?;
    let SnapshotHead { through, n_transactions, testimony, .. } = head;
    Ok(Some(SnapshotSummary { store: testimony.store, through, n_transactions }))
}

/// Reads head and table, and verifies their checksums.
fn read_frame(file: &File, path: &Path) -> Result<(SnapshotHead, Vec<Section>), SnapshotError> {
    let damaged = |what| SnapshotError::Damaged { what };
    let n_bytes = file.metadata().map_err(failed(path))?.len();
    let mut head_bytes = [0; HEAD_BYTES];
    read_at(file, path, &mut head_bytes, 0, "its head")?;
    let head = SnapshotHead::from_bytes(&head_bytes)?;
    let foot_at = n_bytes.checked_sub(FOOT_BYTES as u64).ok_or_else(|| damaged("its end"))?;
    let mut foot = [0; FOOT_BYTES];
    read_at(file, path, &mut foot, foot_at, "its end")?;
    let (length, sum) = read_foot(&foot).ok_or_else(|| damaged("its end"))?;
    let table_at = foot_at.checked_sub(length as u64).ok_or_else(|| damaged("its end"))?;
    let mut table = vec![0; length];
    read_at(file, path, &mut table, table_at, "its table")?;
    if checksum(&table) != sum {
        return Err(damaged("its table"));
    }
    let sections = read_table(&table, &head_bytes, table_at).ok_or_else(|| damaged("its table"))?;
    Ok((head, sections))
}

/// Reads bytes at an offset; a file that is too short is damaged.
fn read_at(
    file: &File,
    path: &Path,
    bytes: &mut [u8],
    at: u64,
    what: &'static str,
) -> Result<(), SnapshotError> {
    match file.read_exact_at(bytes, at) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(SnapshotError::Damaged { what }),
        read => read.map_err(failed(path)),
    }
}

/// Checks that the store still has the summary it had when the snapshot was made.
fn check_against(past: &dyn Past, head: &SnapshotHead) -> Result<(), SnapshotError> {
    let said = past.testimony(head.through)?.ok_or(SnapshotError::NoTestimony)?;
    if said.store != head.testimony.store {
        return Err(SnapshotError::OtherStore);
    }
    if said.last < head.testimony.last {
        return Err(SnapshotError::Rewound { through: head.through, last: said.last });
    }
    if said == head.testimony { Ok(()) } else { Err(SnapshotError::OtherRows) }
}

type FilledSeries = Vec<(Arc<Series>, String, FillingTable)>;

/// Fills the series in parallel, taking jobs from the end.
fn fill_all(
    source: &BlockSource<'_>,
    jobs: Vec<FillJob>,
    n_threads: usize,
) -> Result<FilledSeries, SnapshotError> {
    let n_threads = n_threads.clamp(1, jobs.len().max(1));
    let jobs = Mutex::new(jobs);
    let work = || {
        let mut filled = Vec::new();
        loop {
            let next = jobs.lock().pop();
            let Some(FillJob { series, section }) = next else { return Ok(filled) };
            match fill(source, &series, &section) {
                Ok(key_table) => filled.push((series, section.identity, key_table)),
                Err(error) => {
                    source.is_over.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    let outcomes: Vec<Result<FilledSeries, SnapshotError>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        let ended = |worker: thread::ScopedJoinHandle<'_, _>| {
            worker.join().unwrap_or(Err(SnapshotError::Damaged { what: "a block" }))
        };
        workers.into_iter().map(ended).collect()
    });
    // A thread that was cancelled must not hide the error of the thread that caused it.
    let (filled, errors): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    let errors = errors.into_iter().filter_map(Result::err);
    match errors.min_by_key(|error| matches!(error, SnapshotError::GivenUp)) {
        Some(error) => Err(error),
        None => Ok(filled.into_iter().flatten().flatten().collect()),
    }
}

/// Reads the contents of one series. The parts of a key are contiguous.
fn fill(source: &BlockSource<'_>, series: &Series, section: &Section) -> Result<FillingTable, SnapshotError> {
    let damaged = || SnapshotError::Damaged { what: "a block" };
    let filling = series.filling_table(series.columns());
    let mut n_entries = 0;
    let mut bytes = Vec::new();
    for block in &section.blocks {
        source.read(block, &mut bytes)?;
        n_entries += fill_from(&filling, &bytes).ok_or_else(damaged)?;
    }
    if let Some(forgotten) = section.forgotten {
        filling.fill(|key_table| key_table.lacks(forgotten));
    }
    if n_entries == section.n_entries { Ok(filling) } else { Err(damaged()) }
}

/// Imports a block; returns the number of entries, `None` when the block is invalid.
pub(super) fn fill_from(filling: &FillingTable, bytes: &[u8]) -> Option<u64> {
    let mut block = BlockReader::new(bytes);
    let mut n_entries = 0;
    let mut runs = PendingRuns::default();
    while !block.is_empty() {
        let (key, part) = block.part()?;
        if runs.key != Some(key) || runs.latest.is_some() || runs.n_bytes >= PENDING_BYTES_MAX {
            n_entries += runs.import(filling)?;
            runs.key = Some(key);
        }
        match part {
            BlockPart::Chunk(chunk) => {
                if runs.is_behind(chunk) {
                    // The key moved during the export, so it was exported twice.
                    n_entries += runs.import(filling)?;
                }
                runs.add_chunk(chunk);
            }
            BlockPart::Latest(latest) => runs.latest = Some(latest),
            BlockPart::Entries(entries) => {
                n_entries += runs.import(filling)?;
                n_entries += entries.len() as u64;
                let key = ExportKey::from_bytes(key)?;
                filling.fill(|key_table| key_table.import(&key, &entries));
            }
        }
    }
    Some(n_entries + runs.import(filling)?)
}

/// Runs of one key that are imported together.
#[derive(Debug, Default)]
struct PendingRuns<'a> {
    key: Option<&'a [u8]>,
    chunks: Vec<&'a [u8]>,
    latest: Option<&'a [u8]>,
    /// Bytes of the chunks.
    n_bytes: usize,
}

impl<'a> PendingRuns<'a> {
    /// Returns whether a chunk belongs before the last one.
    fn is_behind(&self, chunk: &[u8]) -> bool {
        let last = |bytes: &[u8]| Rows::of(bytes).ends().map(|(_, last)| last);
        self.chunks.last().is_some_and(|behind| last(behind) >= last(chunk))
    }

    fn add_chunk(&mut self, chunk: &'a [u8]) {
        self.chunks.push(chunk);
        self.n_bytes += chunk.len();
    }

    /// Imports the pending runs and returns the number of entries; `None` when they are invalid.
    fn import(&mut self, filling: &FillingTable) -> Option<u64> {
        let Some(key) = self.key.filter(|_| !self.chunks.is_empty() || self.latest.is_some()) else {
            return Some(0);
        };
        let runs = self.chunks.iter().chain(&self.latest);
        let n_entries = runs.map(|bytes| OpenRun::of(bytes, &[]).rows().len() as u64).sum();
        let key = ExportKey::from_bytes(key)?;
        let is_sound = filling.fill(|key_table| key_table.import_runs(&key, &self.chunks, self.latest));
        self.chunks.clear();
        self.n_bytes = 0;
        self.latest = None;
        is_sound.then_some(n_entries)
    }
}

impl BlockSource<'_> {
    fn read(&self, block: &Block, bytes: &mut Vec<u8>) -> Result<(), SnapshotError> {
        if self.is_over.load(Ordering::Relaxed) || !(self.go_on)() {
            return Err(SnapshotError::GivenUp);
        }
        bytes.resize(block.n_bytes, 0);
        read_at(self.file, self.path, bytes, block.at, "a block")?;
        if checksum(bytes) == block.checksum {
            Ok(())
        } else {
            Err(SnapshotError::Damaged { what: "a block" })
        }
    }
}
