//! The segment to which records are appended.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::address::{Address, N_SLOTS, SEGMENT_BYTES};
use crate::folder::RecordFolder;
use crate::record::{self, HEAD_BYTES, RecordHead, RecordKey};
use crate::segment::{FootEntry, Segment, foot_bytes, foot_bytes_max};

/// Bytes that are collected in memory before they are written.
const PENDING_BYTES: usize = if cfg!(test) { 4 << 10 } else { 1 << 20 };

/// The end of the records, and what follows from appending.
#[derive(Debug)]
pub(crate) struct OpenSegment {
    pub(crate) segment: Arc<Segment>,
    /// Bytes behind those in the file.
    pending: Vec<u8>,
    foot: Vec<FootEntry>,
    /// Number of the next segment.
    pub(crate) next_id: u64,
    /// Complete segments that may not be on the disk yet.
    pub(crate) unsynced: Vec<Arc<Segment>>,
    /// Cleaned segments, to be removed once the manifest no longer names them.
    pub(crate) cleaned: Vec<Arc<Segment>>,
}

/// A record was appended here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Appended {
    pub(crate) address: Address,
    /// Length of the whole record, in bytes.
    pub(crate) n_bytes: usize,
}

impl OpenSegment {
    pub(crate) fn new(segment: Segment, next_id: u64, unsynced: Vec<Arc<Segment>>) -> Self {
        Self {
            segment: Arc::new(segment),
            pending: Vec::with_capacity(PENDING_BYTES),
            foot: Vec::new(),
            next_id,
            unsynced,
            cleaned: Vec::new(),
        }
    }

    /// Returns the offset of the next record, in bytes.
    pub(crate) fn end(&self) -> usize {
        self.segment.n_written() + self.pending.len()
    }

    /// Returns whether a record of so many bytes fits into the segment.
    pub(crate) fn has_room(&self, n_bytes: usize) -> bool {
        let n_record_bytes = (HEAD_BYTES + n_bytes).next_multiple_of(crate::address::UNIT);
        self.end() + n_record_bytes + foot_bytes_max(self.foot.len() + 1) <= SEGMENT_BYTES
    }

    /// Appends a record; [`OpenSegment::has_room`] must hold for it. Without bytes it is a removal.
    ///
    /// # Errors
    /// When former records cannot be written; nothing was appended.
    pub(crate) fn append(
        &mut self,
        key: RecordKey,
        replaces: Option<Address>,
        bytes: &[u8],
    ) -> io::Result<Appended> {
        if self.pending.len() >= PENDING_BYTES {
            self.write_pending()?;
        }
        let offset = self.end();
        record::write(&mut self.pending, key, replaces, bytes);
        let head = RecordHead { key, n_bytes: bytes.len(), replaces, is_removal: bytes.is_empty() };
        self.foot.push(FootEntry::new(offset, &head));
        Ok(Appended { address: Address::new(self.segment.slot, offset), n_bytes: head.n_stored_bytes() })
    }

    /// Writes what is in memory to the file.
    pub(crate) fn write_pending(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.segment.file.write_at(&self.pending, self.segment.n_written() as u64)?;
        self.segment.n_written.fetch_add(self.pending.len(), Ordering::Release);
        self.pending.clear();
        Ok(())
    }

    /// Returns the bytes from an offset of the open segment on that are not in the file yet.
    pub(crate) fn pending_from(&self, segment: &Segment, offset: usize) -> Option<&[u8]> {
        let is_open = std::ptr::eq(segment, Arc::as_ptr(&self.segment));
        if !is_open {
            return None;
        }
        self.pending.get(offset.checked_sub(self.segment.n_written())?..)
    }

    /// Completes the segment with its foot, and goes on in a new one in this slot. Returns the new one.
    ///
    /// # Errors
    /// When a file cannot be written; the segment stays open.
    pub(crate) fn go_on_in(
        &mut self,
        folder: &dyn RecordFolder,
        slot: usize,
        origin: u64,
    ) -> io::Result<Arc<Segment>> {
        self.write_pending()?;
        let n_bytes = self.segment.n_written();
        let foot = foot_bytes(self.segment.id, n_bytes, &self.foot);
        self.segment.file.write_at(&foot, n_bytes as u64)?;
        let next = Arc::new(Segment::create(folder, self.next_id, slot, origin)?);
        self.segment.n_written.fetch_add(foot.len(), Ordering::Release);
        self.next_id += 1;
        self.foot.clear();
        let complete = std::mem::replace(&mut self.segment, Arc::clone(&next));
        self.unsynced.push(complete);
        Ok(next)
    }
}

/// The segments by slot.
pub(crate) type Slots = Vec<Option<Arc<Segment>>>;

/// Returns a slot without a segment.
pub(crate) fn free_slot(slots: &Slots) -> Option<usize> {
    (0..N_SLOTS).find(|slot| slots.get(*slot).is_none_or(Option::is_none))
}

/// Puts a segment into its slot.
pub(crate) fn put(slots: &mut Slots, segment: Arc<Segment>) {
    let slot = segment.slot;
    if slots.len() <= slot {
        slots.resize(slot + 1, None);
    }
    if let Some(place) = slots.get_mut(slot) {
        *place = Some(segment);
    }
}
