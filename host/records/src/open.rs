//! Opening a folder: after a clean stop from its index, otherwise from the feet of its segments.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::{Mutex, RwLock};

use crate::address::{Address, N_SLOTS};
use crate::checkpoint::{INDEX_FILE, LastCheckpoint, read_index};
use crate::clean::Cleaning;
use crate::error::OpenRecordsError;
use crate::folder::RecordFolder;
use crate::index::{IndexEntry, RecordIndex};
use crate::manifest::{MANIFEST_FILE, ManifestSegment, RecordOrigin, RecordsManifest};
use crate::open_segment::{OpenSegment, Slots, free_slot, put};
use crate::segment::{FootEntry, Segment, file_name, foot_bytes, id_of};
use crate::store::RecordStore;

/// A store that was opened, and what its last checkpoint said.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: RecordStore,
    /// Number up to which the caller's log was contained in it.
    pub through: u64,
    /// State of the caller at the checkpoint.
    pub state: String,
}

impl RecordStore {
    /// Creates an empty store in a folder, whose files are removed. The index is laid out for so many records, and takes
    /// more.
    ///
    /// # Errors
    /// When a file cannot be removed or written.
    pub fn create(
        folder: Arc<dyn RecordFolder>,
        origin: RecordOrigin,
        n_records: usize,
    ) -> Result<Self, OpenRecordsError> {
        // First, so that no start believes in what remains if this one ends here.
        remove(&*folder, MANIFEST_FILE)?;
        sync(&*folder)?;
        for name in folder.names().map_err(in_folder)? {
            if id_of(&name).is_some() || name == INDEX_FILE {
                remove(&*folder, &name)?;
            }
        }
        Self::with(folder, origin, RecordIndex::new(n_records), Slots::new(), 0, Vec::new(), 0)
    }

    /// Returns the number and the state of the last checkpoint of a folder, and changes nothing.
    ///
    /// # Errors
    /// When there is none, or it has another origin.
    pub fn last_checkpoint(
        folder: &dyn RecordFolder,
        origin: &RecordOrigin,
    ) -> Result<(u64, String), OpenRecordsError> {
        let RecordsManifest { through, state, .. } = manifest_of(folder, origin)?;
        Ok((through, state))
    }

    /// Opens the store of a folder as it was at its last checkpoint. What was appended since is removed.
    ///
    /// # Errors
    /// When there is none, it has another origin, or a file is missing or damaged. [`RecordStore::create`] begins anew.
    pub fn open(folder: Arc<dyn RecordFolder>, origin: RecordOrigin) -> Result<Opened, OpenRecordsError> {
        let manifest = manifest_of(&*folder, &origin)?;
        let Some((last, complete)) = manifest.segments.split_last() else {
            return Err(OpenRecordsError::BadManifest { reason: "it names no segment".into() });
        };
        let index = read_index(&*folder, manifest.n_checkpoints);
        let index = index.filter(|index| index.n_tables() == manifest.n_tables);
        // It is good once: what is appended from now on is not in it.
        remove(&*folder, INDEX_FILE)?;
        remove_others(&*folder, &manifest)?;
        sync(&*folder)?;
        let mut replay = SegmentReplay {
            is_complete: index.is_some(),
            index: index.unwrap_or_else(|| RecordIndex::with_tables(manifest.n_tables)),
            slots: Slots::new(),
        };
        for segment in complete {
            replay.add_complete(&*folder, *segment, origin.digest())?;
        }
        let unsynced = replay.add_open(&*folder, *last, origin.digest())?;
        if replay.is_complete {
            replay.count_live();
        }
        let SegmentReplay { index, slots, .. } = replay;
        let store =
            Self::with(folder, origin, index, slots, last.id, vec![unsynced], manifest.n_checkpoints)?;
        Ok(Opened { store, through: manifest.through, state: manifest.state })
    }

    fn with(
        folder: Arc<dyn RecordFolder>,
        origin: RecordOrigin,
        index: RecordIndex,
        mut slots: Slots,
        last_id: u64,
        unsynced: Vec<Arc<Segment>>,
        n_checkpoints: u64,
    ) -> Result<Self, OpenRecordsError> {
        let id = last_id + 1;
        let slot = free_slot(&slots).unwrap_or(N_SLOTS);
        let created = Segment::create(&*folder, id, slot, origin.digest());
        let segment = created.map_err(|source| OpenRecordsError::Io { file: file_name(id), source })?;
        let open = OpenSegment::new(segment, id + 1, unsynced);
        put(&mut slots, Arc::clone(&open.segment));
        Ok(Self {
            folder,
            origin,
            index,
            cleaning: Mutex::new(Cleaning::default()),
            open_id: AtomicU64::new(open.segment.id),
            open: Mutex::new(open),
            slots: RwLock::new(slots),
            checkpoint: Mutex::new(LastCheckpoint::of_start(n_checkpoints)),
        })
    }
}

fn manifest_of(
    folder: &dyn RecordFolder,
    origin: &RecordOrigin,
) -> Result<RecordsManifest, OpenRecordsError> {
    let manifest = RecordsManifest::read(folder)?;
    if manifest.origin == *origin {
        return Ok(manifest);
    }
    Err(OpenRecordsError::BadManifest { reason: "the records belong to something else".into() })
}

fn remove(folder: &dyn RecordFolder, name: &str) -> Result<(), OpenRecordsError> {
    folder.remove(name).map_err(|source| OpenRecordsError::Io { file: name.into(), source })
}

fn sync(folder: &dyn RecordFolder) -> Result<(), OpenRecordsError> {
    folder.sync().map_err(in_folder)
}

const fn in_folder(source: std::io::Error) -> OpenRecordsError {
    OpenRecordsError::Io { file: String::new(), source }
}

/// Removes the segments that the manifest does not name: they were cleaned before it, or begun after it.
fn remove_others(folder: &dyn RecordFolder, manifest: &RecordsManifest) -> Result<(), OpenRecordsError> {
    for id in folder.names().map_err(in_folder)?.iter().filter_map(|name| id_of(name)) {
        if !manifest.segments.iter().any(|segment| segment.id == id) {
            remove(folder, &file_name(id))?;
        }
    }
    Ok(())
}

/// The segments and the index while they are put together.
struct SegmentReplay {
    index: RecordIndex,
    /// Whether the index has everything already.
    is_complete: bool,
    slots: Slots,
}

impl SegmentReplay {
    fn add_complete(
        &mut self,
        folder: &dyn RecordFolder,
        named: ManifestSegment,
        origin: u64,
    ) -> Result<(), OpenRecordsError> {
        let file = file_name(named.id);
        let bad = |reason| OpenRecordsError::BadSegment { file: file.clone(), reason };
        let opened = Segment::open(folder, named.id, origin);
        let opened = opened.map_err(|source| OpenRecordsError::Io { file: file.clone(), source })?;
        let segment = Arc::new(opened.ok_or_else(|| bad("it is damaged, or belongs to something else"))?);
        if segment.n_written() != named.n_bytes {
            return Err(bad("it has another length than the manifest says"));
        }
        segment.n_record_bytes.store(named.n_record_bytes, std::sync::atomic::Ordering::Relaxed);
        put(&mut self.slots, Arc::clone(&segment));
        if !self.is_complete {
            segment.n_record_bytes.store(0, std::sync::atomic::Ordering::Relaxed);
            let foot =
                segment.foot().map_err(|source| OpenRecordsError::Io { file: file.clone(), source })?;
            let foot = foot.ok_or_else(|| bad("its foot is damaged"))?;
            foot.iter().for_each(|entry| self.apply(&segment, entry));
        }
        Ok(())
    }

    /// Adds the segment that was open, and completes it where the manifest says that it ended.
    fn add_open(
        &mut self,
        folder: &dyn RecordFolder,
        named: ManifestSegment,
        origin: u64,
    ) -> Result<Arc<Segment>, OpenRecordsError> {
        let file = file_name(named.id);
        let bad = |reason| OpenRecordsError::BadSegment { file: file.clone(), reason };
        let failed = |source| OpenRecordsError::Io { file: file.clone(), source };
        let opened = Segment::open(folder, named.id, origin).map_err(failed)?;
        let segment = opened.ok_or_else(|| bad("it is damaged, or belongs to something else"))?;
        let mut foot = Vec::new();
        let n_bytes = segment.each_record(|offset, head, _| {
            let is_named = offset < named.n_bytes;
            if is_named {
                foot.push(FootEntry::new(offset, head));
            }
            is_named
        });
        if n_bytes.map_err(failed)? != named.n_bytes {
            return Err(bad("a record is damaged"));
        }
        let bytes = foot_bytes(segment.id, named.n_bytes, &foot);
        let end = named.n_bytes + bytes.len();
        segment.file.write_at(&bytes, named.n_bytes as u64).map_err(failed)?;
        segment.file.truncate(end as u64).map_err(failed)?;
        let segment = Arc::new(Segment::new(segment.id, segment.slot, segment.file, end));
        put(&mut self.slots, Arc::clone(&segment));
        for entry in &foot {
            if self.is_complete {
                segment.count_record(entry.n_bytes);
            } else {
                self.apply(&segment, entry);
            }
        }
        Ok(segment)
    }

    fn apply(&self, segment: &Segment, entry: &FootEntry) {
        let gone = if entry.is_removal() {
            entry.replaces.and_then(|replaced| self.index.remove(entry.prefix, replaced))
        } else {
            let address = Address::new(segment.slot, entry.offset);
            let (new, gone) = self.index.put(entry.prefix, entry.replaces, address, entry.n_bytes);
            segment.count(new);
            gone
        };
        if let Some(gone) = gone {
            self.segment_of(gone, |segment| segment.discount(gone));
        }
    }

    fn segment_of(&self, entry: IndexEntry, change: impl FnOnce(&Segment)) {
        if let Some(Some(segment)) = self.slots.get(entry.address().slot()) {
            change(segment);
        }
    }

    /// Counts the records that the index names.
    fn count_live(&self) {
        self.index.each(|entry| self.segment_of(entry, |segment| segment.count_live(entry)));
    }
}
