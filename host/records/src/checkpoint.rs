//! Checkpoints: from then on a start finds everything that was appended before.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use xxhash_rust::xxh3::Xxh3Default;

use crate::buffer::{AlignedBuffer, PAGE_BYTES};
use crate::error::AppendError;
use crate::folder::RecordFolder;
use crate::index::{IndexReader, RecordIndex};
use crate::manifest::{MANIFEST_FILE, ManifestSegment, RecordsManifest};
use crate::segment::{Segment, file_name};
use crate::store::RecordStore;

/// The index of a clean stop.
pub(crate) const INDEX_FILE: &str = "index";

/// The last checkpoint of a store.
#[derive(Debug, Default)]
pub(crate) struct LastCheckpoint {
    /// Rises with each checkpoint.
    pub(crate) number: u64,
    /// The segment that was open, and its length in bytes; `None` before the first checkpoint of this process.
    end: Option<(u64, usize)>,
}

impl LastCheckpoint {
    /// The checkpoint that a start has read.
    pub(crate) const fn of_start(number: u64) -> Self {
        Self { number, end: None }
    }
}

impl RecordStore {
    /// Makes everything that was appended before durable. `through` is the number up to which the caller's log is
    /// contained in it; `state` is returned at the next start. Files of cleaned segments are removed.
    ///
    /// # Errors
    /// When a file cannot be written; the former checkpoint holds.
    pub fn checkpoint(&self, through: u64, state: &str) -> Result<(), AppendError> {
        let mut checkpoint = self.checkpoint.lock();
        let mut open = self.open.lock();
        let failed = |file: String| move |source| AppendError::Io { file, source };
        open.write_pending().map_err(failed(open.segment.name()))?;
        let unsynced = open.unsynced.clone();
        let cleaned = open.cleaned.clone();
        let last = Arc::clone(&open.segment);
        let last_n_bytes = last.n_written();
        drop(open);

        for segment in unsynced.iter().chain([&last]) {
            segment.file.sync().map_err(failed(segment.name()))?;
        }
        self.folder.sync().map_err(failed(String::new()))?;
        let is_cleaned = |segment: &Arc<Segment>| cleaned.iter().any(|gone| Arc::ptr_eq(gone, segment));
        let mut segments: Vec<ManifestSegment> = self
            .segments()
            .iter()
            .filter(|segment| segment.id < last.id && !is_cleaned(segment))
            .map(|segment| manifest_segment(segment, segment.n_written()))
            .collect();
        segments.push(manifest_segment(&last, last_n_bytes));
        segments.sort_unstable_by_key(|segment| segment.id);
        let number = checkpoint.number + 1;
        let caller = (through, state.to_owned());
        let manifest =
            RecordsManifest::new(self.origin.clone(), number, caller, self.index.n_tables(), segments);
        manifest.write(&*self.folder).map_err(failed(MANIFEST_FILE.into()))?;
        *checkpoint = LastCheckpoint { number, end: Some((last.id, last_n_bytes)) };

        let mut open = self.open.lock();
        open.unsynced.retain(|segment| !unsynced.iter().any(|synced| Arc::ptr_eq(synced, segment)));
        open.cleaned.retain(|segment| !is_cleaned(segment));
        let mut slots = self.slots.write();
        for segment in &cleaned {
            // A file that stays is removed at the next start, since no manifest names it.
            if let Err(error) = self.folder.remove(&file_name(segment.id)) {
                tracing::warn!(%error, file = segment.name(), "a file of the history cannot be removed");
            }
            if let Some(slot) = slots.get_mut(segment.slot) {
                *slot = None;
            }
        }
        Ok(())
    }

    /// Writes the index for a quick start. Returns whether it did: not when something was appended since the last
    /// checkpoint.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_index(&self) -> Result<bool, AppendError> {
        let checkpoint = self.checkpoint.lock();
        let open = self.open.lock();
        if checkpoint.end != Some((open.segment.id, open.end())) {
            return Ok(false);
        }
        let failed = |source| AppendError::Io { file: INDEX_FILE.into(), source };
        write_index(&*self.folder, &self.index, checkpoint.number).map_err(failed)?;
        Ok(true)
    }
}

fn manifest_segment(segment: &Segment, n_bytes: usize) -> ManifestSegment {
    let n_record_bytes = segment.n_record_bytes.load(Ordering::Relaxed);
    ManifestSegment { id: segment.id, n_bytes, n_record_bytes }
}

/// Length of the head of the index file, in bytes: number of the checkpoint, number of tables, length and hash of all
/// that follows.
const HEAD_BYTES: usize = PAGE_BYTES;
/// Bytes of the index that are written and read at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Writes the tables of an index, for the start after this checkpoint.
fn write_index(folder: &dyn RecordFolder, index: &RecordIndex, n_checkpoints: u64) -> io::Result<()> {
    let file = folder.create(INDEX_FILE)?;
    let (mut bytes, mut at, mut hash) = (Vec::new(), HEAD_BYTES as u64, Xxh3Default::new());
    for table in 0..index.n_tables() {
        index.write_table(table, &mut bytes);
        if bytes.len() >= PIECE_BYTES || table + 1 == index.n_tables() {
            hash.update(&bytes);
            file.write_at(&bytes, at)?;
            at += bytes.len() as u64;
            bytes.clear();
        }
    }
    let mut head = Vec::new();
    for word in [n_checkpoints, index.n_tables() as u64, at, hash.digest()] {
        head.extend_from_slice(&word.to_le_bytes());
    }
    head.resize(HEAD_BYTES, 0);
    file.write_at(&head, 0)?;
    file.sync()?;
    folder.sync()
}

/// Reads the index that was written at this checkpoint; `None` when there is none, or it is damaged.
pub(crate) fn read_index(folder: &dyn RecordFolder, n_checkpoints: u64) -> Option<RecordIndex> {
    let file = folder.open(INDEX_FILE).ok()?;
    let mut buffer = AlignedBuffer::new(PIECE_BYTES);
    let n_read = file.read_at(&mut buffer, 0).ok()?;
    let (words, _) = buffer.bytes().get(..n_read)?.as_chunks::<8>();
    let [number, n_tables, end, hash] = words.first_chunk::<4>()?.map(u64::from_le_bytes);
    if number != n_checkpoints || end != file.n_bytes().ok()? {
        return None;
    }
    let mut reader = IndexReader::new(usize::try_from(n_tables).ok()?)?;
    let (mut at, mut own_hash) = (0, Xxh3Default::new());
    while at < end {
        let n_read = file.read_at(&mut buffer, at).ok().filter(|n_read| *n_read > 0)?;
        let skipped = if at == 0 { HEAD_BYTES } else { 0 };
        let bytes = buffer.bytes().get(skipped..n_read)?;
        own_hash.update(bytes);
        reader.read(bytes)?;
        at += n_read as u64;
    }
    if own_hash.digest() == hash { reader.finish() } else { None }
}
