//! A snapshot is written: beside everything that goes on, and put in its place when it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::block::{BlockWriter, PART_ENTRIES_MAX};
use super::layout::{BLOCK_BYTES_MAX, Block, Forgotten, Head, Section, checksum, table_to_bytes};
use super::{SnapshotError, SnapshotMark, failed};
use crate::history::History;
use crate::history::key::ExportKey;
use crate::history::series::Series;
use crate::history::timeline::Entry;
use crate::sequence::Sequence;

/// A block this large is written.
const BLOCK_BYTES: usize = 512 << 10;
/// Keys taken from a series at once: its lock is held for no longer than it takes to copy their handles.
const KEYS_PER_STEP: usize = 64;
/// Most entries of a part when they have cells, which may be large.
const PART_ENTRIES_WITH_CELLS_MAX: usize = 128;
/// The file is for its owner alone.
const FILE_MODE: u32 = 0o600;

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Of what.
    pub mark: SnapshotMark,
    /// Size of the file.
    pub n_bytes: u64,
    /// Entries of all series together.
    pub n_entries: u64,
    /// Transactions they are of.
    pub n_transactions: u64,
}

/// The file as it grows.
struct Growing<'a> {
    file: File,
    path: PathBuf,
    at: u64,
    go_on: &'a dyn Fn() -> bool,
}

/// The part of one series as it grows.
struct SectionWriter<'g, 'a> {
    growing: &'g mut Growing<'a>,
    through: Sequence,
    block: Option<BlockWriter>,
    section: Section,
    /// Why it cannot be gone on with; the series lacks in the file then.
    stopped: Option<Stopped>,
}

enum Stopped {
    /// Its entries are not what they were when it was begun.
    Changed,
    /// The file does not take them.
    Failed(SnapshotError),
}

impl History {
    /// Writes a snapshot of what is settled into this file, in place of the one that is there; `None` when there is
    /// nothing to write, or nothing new `since`. It asks after every block whether to go on. Takes long, and holds no lock
    /// for more than a moment.
    ///
    /// # Errors
    /// When the file cannot be written or the past cannot be asked; the file that was there is still there then.
    pub fn write_snapshot(
        &self,
        file: &Path,
        since: Option<&SnapshotMark>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Written>, SnapshotError> {
        let settled = self.admission.lock().settled_part();
        let mark = SnapshotMark::new(settled.through, settled.series.iter().map(|series| series.identity()));
        if settled.through == Sequence::default() || since == Some(&mark) {
            return Ok(None);
        }
        let past = self.past.as_ref().ok_or(SnapshotError::NoTestimony)?;
        let testimony = past.testimony(settled.through)?.ok_or(SnapshotError::NoTestimony)?;
        let head = Head { through: settled.through, n_transactions: settled.n_transactions, testimony };
        let unfinished = beside(file);
        let written = write(&unfinished, &head, &settled.series, go_on)
            .and_then(|written| {
                // What was taken back on the way may have been in the one place and in the other, or in neither.
                let is_unchanged = self.admission.lock().n_retractions() == settled.n_retractions;
                if is_unchanged { Ok(written) } else { Err(SnapshotError::TakenBack) }
            })
            .and_then(|written| put_in_place(&unfinished, file).map_err(failed(file)).map(|()| written));
        match written {
            Ok((n_bytes, sections)) => Ok(Some(Written {
                mark: SnapshotMark::new(
                    head.through,
                    sections.iter().map(|section| section.identity.clone()),
                ),
                n_bytes,
                n_entries: sections.iter().map(|section| section.n_entries).sum(),
                n_transactions: head.n_transactions,
            })),
            Err(error) => {
                // It takes room and is good for nothing; the next one begins anew anyway.
                let _ = fs::remove_file(&unfinished);
                Err(error)
            }
        }
    }
}

fn write(
    path: &Path,
    head: &Head,
    series: &[Arc<Series>],
    go_on: &dyn Fn() -> bool,
) -> Result<(u64, Vec<Section>), SnapshotError> {
    let mut growing = Growing::create(path, go_on)?;
    let head_bytes = head.to_bytes();
    growing.append(&head_bytes)?;
    let mut sections = Vec::new();
    for series in series {
        sections.extend(write_series(&mut growing, series, head.through)?);
    }
    growing.append(&table_to_bytes(&head_bytes, &sections))?;
    growing.file.sync_all().map_err(failed(path))?;
    Ok((growing.at, sections))
}

/// `None` when the series was rebuilt in between, or cannot be read: it will be built from the past.
fn write_series(
    growing: &mut Growing<'_>,
    series: &Series,
    through: Sequence,
) -> Result<Option<Section>, SnapshotError> {
    let identity = series.identity();
    let section = Section { identity: identity.clone(), ..Section::default() };
    let mut writer = SectionWriter { growing, through, block: None, section, stopped: None };
    let mut next = Some(0);
    while let Some(from) = next {
        match series.export(from, KEYS_PER_STEP, &mut |key, entries| writer.add(key, entries)) {
            Ok(behind) => next = behind,
            Err(error) => {
                tracing::warn!(error = %error, "a series cannot be read, so it is not in the snapshot");
                writer.stopped = Some(Stopped::Changed);
            }
        }
        match writer.stopped.take() {
            None => {}
            Some(Stopped::Changed) => break,
            Some(Stopped::Failed(error)) => return Err(error),
        }
    }
    if next.is_some() {
        return Ok(None);
    }
    writer.finish_block()?;
    // Now that nothing more is taken from it: what went on the way is missing too.
    let longest_window = series.longest_window();
    writer.section.forgotten =
        series.forgotten_through().map(|through| Forgotten { through, longest_window });
    // Its columns may have become more on the way; then the entries are of two kinds.
    Ok((series.identity() == identity).then_some(writer.section))
}

impl SectionWriter<'_, '_> {
    fn add(&mut self, key: &ExportKey, entries: &[Entry]) {
        if self.stopped.is_some() {
            return;
        }
        let is_in = |entry: &Entry| entry.sequence <= self.through;
        let stopped = if entries.iter().all(is_in) {
            self.add_all(key, entries)
        } else {
            let settled: Vec<Entry> = entries.iter().filter(|entry| is_in(entry)).cloned().collect();
            self.add_all(key, &settled)
        };
        self.stopped = stopped.err();
    }

    fn add_all(&mut self, key: &ExportKey, entries: &[Entry]) -> Result<(), Stopped> {
        let Some(first) = entries.first() else { return Ok(()) };
        let n_columns = first.cells.len();
        let n_entries_max = if n_columns == 0 { PART_ENTRIES_MAX } else { PART_ENTRIES_WITH_CELLS_MAX };
        let key = key.to_bytes();
        for part in entries.chunks(n_entries_max) {
            let block = self.block.get_or_insert_with(|| {
                self.section.n_columns = n_columns;
                BlockWriter::new(n_columns)
            });
            if !block.add(key, part) {
                return Err(Stopped::Changed);
            }
            self.section.n_entries += part.len() as u64;
            if block.len() >= BLOCK_BYTES {
                self.finish_block().map_err(Stopped::Failed)?;
            }
        }
        Ok(())
    }

    fn finish_block(&mut self) -> Result<(), SnapshotError> {
        let bytes = self.block.as_mut().map(BlockWriter::take).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(());
        }
        if bytes.len() > BLOCK_BYTES_MAX {
            self.stopped = Some(Stopped::Changed);
            return Ok(());
        }
        let block = Block { at: self.growing.at, n_bytes: bytes.len(), checksum: checksum(&bytes) };
        self.growing.append(&bytes)?;
        self.section.blocks.push(block);
        if (self.growing.go_on)() { Ok(()) } else { Err(SnapshotError::GivenUp) }
    }
}

impl<'a> Growing<'a> {
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

fn beside(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".new");
    path.into()
}

/// Durably: the name is safe when the directory it stands in has been written.
fn put_in_place(unfinished: &Path, file: &Path) -> io::Result<()> {
    fs::rename(unfinished, file)?;
    match file.parent() {
        Some(directory) if directory != Path::new("") => File::open(directory)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}
