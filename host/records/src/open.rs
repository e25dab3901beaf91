//! Opening a folder: after a clean stop from its index, otherwise from the feet of its segments.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use crate::address::{Address, N_SLOTS};
use crate::checkpoint::{INDEX_FILE, read_index};
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
    /// Everything in the caller's log up to this number is contained in it. Some of what follows may be, too.
    pub through: u64,
    /// State of the caller at that number.
    pub state: String,
    /// Whether it was closed, so that nothing that follows is contained.
    pub is_clean: bool,
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

    /// Opens the store of a folder.
    ///
    /// # Errors
    /// When there is none, it has another origin, or a file is missing or damaged. [`RecordStore::create`] begins anew.
    pub fn open(folder: Arc<dyn RecordFolder>, origin: RecordOrigin) -> Result<Opened, OpenRecordsError> {
        let manifest = RecordsManifest::read(&*folder)?;
        if manifest.origin != origin {
            return Err(OpenRecordsError::BadManifest {
                reason: "the records belong to something else".into(),
            });
        }
        let Some((last, complete)) = manifest.segments.split_last() else {
            return Err(OpenRecordsError::BadManifest { reason: "it names no segment".into() });
        };
        let later = later_segments(&*folder, &manifest, last.id)?;
        let index = match read_index(&*folder, manifest.n_checkpoints) {
            Some(index) if later.is_empty() && index.n_tables() == manifest.n_tables => Some(index),
            _ => None,
        };
        // It is good once: what is appended from now on is not in it.
        remove(&*folder, INDEX_FILE)?;
        sync(&*folder)?;
        let is_clean = index.is_some();
        let mut replay = SegmentReplay {
            is_complete: is_clean,
            index: index.unwrap_or_else(|| RecordIndex::with_tables(manifest.n_tables)),
            slots: Slots::new(),
        };
        for segment in complete {
            replay.add_complete(&*folder, *segment, origin.digest())?;
        }
        let opened = [(last.id, last.n_bytes)].into_iter().chain(later.iter().map(|id| (*id, 0)));
        let unsynced = replay.add_all_open(&*folder, opened, origin.digest())?;
        if is_clean {
            replay.count_live();
        }
        let next_id = later.last().copied().unwrap_or(last.id);
        let SegmentReplay { index, slots, .. } = replay;
        let store = Self::with(folder, origin, index, slots, next_id, unsynced, manifest.n_checkpoints)?;
        Ok(Opened { store, through: manifest.through, state: manifest.state, is_clean })
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
            open: Mutex::new(open),
            slots: RwLock::new(slots),
            n_checkpoints: Mutex::new(n_checkpoints),
        })
    }
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

/// Returns the numbers of the segments behind the last one of the manifest, in order, and removes those before that it
/// does not name: they were cleaned.
fn later_segments(
    folder: &dyn RecordFolder,
    manifest: &RecordsManifest,
    last: u64,
) -> Result<Vec<u64>, OpenRecordsError> {
    let mut later = Vec::new();
    for id in folder.names().map_err(in_folder)?.iter().filter_map(|name| id_of(name)) {
        if id > last {
            later.push(id);
        } else if !manifest.segments.iter().any(|segment| segment.id == id) {
            remove(folder, &file_name(id))?;
        }
    }
    later.sort_unstable();
    Ok(later)
}

/// The segments and the index while they are put together.
struct SegmentReplay {
    index: RecordIndex,
    /// Whether the index has everything already.
    is_complete: bool,
    slots: Slots,
}

/// The sound beginning of a segment.
struct FoundSegment {
    segment: Segment,
    foot: Vec<FootEntry>,
    /// Its length, in bytes.
    n_bytes: usize,
    /// Whether it ends with the foot of its records.
    is_complete: bool,
}

impl FoundSegment {
    /// Returns `None` when not even the head is sound.
    fn read(folder: &dyn RecordFolder, id: u64, origin: u64) -> Result<Option<Self>, OpenRecordsError> {
        let failed = |source| OpenRecordsError::Io { file: file_name(id), source };
        let Some(segment) = Segment::open(folder, id, origin).map_err(failed)? else { return Ok(None) };
        let mut foot = Vec::new();
        let n_bytes = segment.each_record(|offset, head, _| {
            foot.push(FootEntry::new(offset, head));
            true
        });
        let n_bytes = n_bytes.map_err(failed)?;
        let is_complete = segment.foot().map_err(failed)?.is_some_and(|listed| listed == foot);
        Ok(Some(Self { segment, foot, n_bytes, is_complete }))
    }
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

    /// Adds the segments that were open, or complete and perhaps not on the disk, each by its number and the bytes that
    /// must be sound: what is sound from the beginning of the first one on, without a gap.
    fn add_all_open(
        &mut self,
        folder: &dyn RecordFolder,
        opened: impl Iterator<Item = (u64, usize)>,
        origin: u64,
    ) -> Result<Vec<Arc<Segment>>, OpenRecordsError> {
        let (mut found, mut gone, mut is_cut_off) = (Vec::new(), Vec::new(), false);
        for (id, n_bytes_sure) in opened {
            match FoundSegment::read(folder, id, origin)? {
                Some(one) if !is_cut_off && one.n_bytes >= n_bytes_sure => {
                    is_cut_off = !one.is_complete;
                    found.push(one);
                }
                _ if n_bytes_sure > 0 => {
                    return Err(OpenRecordsError::BadSegment {
                        file: file_name(id),
                        reason: "a record is damaged",
                    });
                }
                _ => {
                    is_cut_off = true;
                    gone.push(id);
                }
            }
        }
        // Durable before the gap is closed: what lies behind it must not come back.
        gone.iter().try_for_each(|id| remove(folder, &file_name(*id)))?;
        sync(folder)?;
        found.into_iter().map(|one| self.add_open(one)).collect()
    }

    fn add_open(&mut self, found: FoundSegment) -> Result<Arc<Segment>, OpenRecordsError> {
        let FoundSegment { segment, foot, n_bytes, .. } = found;
        let bytes = foot_bytes(segment.id, n_bytes, &foot);
        let end = n_bytes + bytes.len();
        let written = segment.file.write_at(&bytes, n_bytes as u64);
        let written = written.and_then(|()| segment.file.truncate(end as u64));
        written.map_err(|source| OpenRecordsError::Io { file: segment.name(), source })?;
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
