//! Cleaning: what remains of a segment that is mostly replaced is appended again, so that its file can go.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::address::{Address, SEGMENT_BYTES};
use crate::error::AppendError;
use crate::record;
use crate::segment::{FootEntry, Segment, SegmentBytes, key_of_prefix};
use crate::store::RecordStore;

/// Share of replaced bytes in all files from which a segment is cleaned: one in so many.
const REPLACED_SHARE: usize = 4;
/// A segment is worth cleaning while at most this many of its bytes are not replaced.
const WORTH_BYTES_MAX: usize = SEGMENT_BYTES / 10 * 9;
/// Bytes that are read at a time.
const WINDOW_BYTES: usize = 1 << 20;

/// The segment that is being cleaned.
#[derive(Debug, Default)]
pub(crate) struct Cleaning {
    current: Option<Current>,
}

#[derive(Debug)]
struct Current {
    segment: Arc<Segment>,
    foot: Vec<FootEntry>,
    /// Entries of the foot that are done.
    n_done: usize,
    window: Option<(usize, SegmentBytes)>,
}

impl Current {
    /// Returns bytes from an offset on, which contain the record there.
    fn bytes(&mut self, offset: usize, n_bytes: usize) -> std::io::Result<&[u8]> {
        let holds = |(start, window): &(usize, SegmentBytes)| {
            *start <= offset && offset + n_bytes <= start + window.bytes().len()
        };
        if !self.window.as_ref().is_some_and(holds) {
            self.window = Some((offset, self.segment.read(offset, n_bytes.max(WINDOW_BYTES))?));
        }
        let (start, window) =
            self.window.as_ref().map_or((0, &[][..]), |(start, window)| (*start, window.bytes()));
        Ok(window.get(offset - start..).unwrap_or_default())
    }
}

impl RecordStore {
    /// Copies up to about `n_bytes` bytes of records from segments that are mostly replaced. Returns the bytes copied; 0
    /// when there is nothing to do.
    ///
    /// # Errors
    /// When a file cannot be read or written; nothing is lost.
    pub fn clean(&self, n_bytes: usize) -> Result<usize, AppendError> {
        // Another thread is already doing this.
        let Some(mut cleaning) = self.cleaning.try_lock() else { return Ok(0) };
        let mut n_copied = 0;
        while n_copied < n_bytes {
            let mut current = match cleaning.current.take() {
                Some(current) => current,
                None => match self.next_to_clean()? {
                    Some(current) => current,
                    None => break,
                },
            };
            let Some(entry) = current.foot.get(current.n_done).copied() else {
                self.finish(&current.segment);
                continue;
            };
            let copied = self.clean_entry(&mut current, entry);
            match copied {
                Ok(Some(n_more)) => {
                    n_copied += n_more;
                    current.n_done += 1;
                    cleaning.current = Some(current);
                }
                // It is damaged, and stays out of turn.
                Ok(None) => {}
                Err(error) => {
                    cleaning.current = Some(current);
                    return Err(error);
                }
            }
        }
        Ok(n_copied)
    }

    fn next_to_clean(&self) -> Result<Option<Current>, AppendError> {
        let size = self.size();
        if size.n_replaced_bytes * REPLACED_SHARE < size.n_file_bytes {
            return Ok(None);
        }
        let open = self.open.lock();
        let open_id = open.segment.id;
        drop(open);
        let live = |segment: &Segment| segment.n_live_bytes.load(Ordering::Relaxed);
        let is_candidate = |segment: &&Arc<Segment>| {
            segment.id != open_id
                && live(segment) <= WORTH_BYTES_MAX
                && !segment.is_damaged.load(Ordering::Relaxed)
                && !segment.is_cleaned.load(Ordering::Relaxed)
        };
        let segments = self.segments();
        let Some(segment) = segments.iter().filter(is_candidate).min_by_key(|segment| live(segment)) else {
            return Ok(None);
        };
        let failed = |source| AppendError::Io { file: segment.name(), source };
        match segment.foot().map_err(failed)? {
            Some(foot) => Ok(Some(Current { segment: Arc::clone(segment), foot, n_done: 0, window: None })),
            None => {
                self.give_up(segment, "its foot is damaged");
                Ok(None)
            }
        }
    }

    /// Copies a record that is still in use, and keeps in mind what it replaced. Returns the bytes copied; `None` when
    /// the record is damaged.
    fn clean_entry(&self, current: &mut Current, entry: FootEntry) -> Result<Option<usize>, AppendError> {
        let (id, slot) = (current.segment.id, current.segment.slot);
        let address = Address::new(slot, entry.offset);
        let mut n_copied = 0;
        if !entry.is_removal() && self.index.contains(entry.prefix, address) {
            let Some(n_bytes) = self.copy(current, entry, address)? else { return Ok(None) };
            n_copied += n_bytes;
        }
        // An older segment still lists what this record replaced: a start that reads the feet must not take it for valid.
        let is_older =
            |replaced: &Address| self.segment(replaced.slot()).is_some_and(|segment| segment.id < id);
        if let Some(replaced) = entry.replaces.filter(is_older) {
            let mut open = self.open.lock();
            n_copied +=
                self.append_bytes(&mut open, key_of_prefix(entry.prefix), Some(replaced), &[])?.n_bytes;
        }
        Ok(Some(n_copied))
    }

    fn copy(
        &self,
        current: &mut Current,
        entry: FootEntry,
        address: Address,
    ) -> Result<Option<usize>, AppendError> {
        let segment = Arc::clone(&current.segment);
        let failed = |source| AppendError::Io { file: segment.name(), source };
        let n_bytes = if entry.n_bytes == FootEntry::LONG { record::RECORD_BYTES_MAX } else { entry.n_bytes };
        let bytes = current.bytes(entry.offset, n_bytes).map_err(failed)?;
        let Some((head, bytes)) = record::read(bytes) else {
            self.give_up(&segment, "a record is damaged");
            return Ok(None);
        };
        let mut open = self.open.lock();
        match self.append_in(&mut open, head.key, Some(address), bytes) {
            Ok(_) => Ok(Some(head.n_stored_bytes())),
            // It was replaced meanwhile.
            Err(AppendError::Moved) => Ok(Some(0)),
            Err(error) => Err(error),
        }
    }

    fn finish(&self, segment: &Arc<Segment>) {
        if segment.n_live_bytes.load(Ordering::Relaxed) > 0 {
            return self.give_up(segment, "a record that is in use is not listed in its foot");
        }
        segment.is_cleaned.store(true, Ordering::Relaxed);
        self.open.lock().cleaned.push(Arc::clone(segment));
    }

    fn give_up(&self, segment: &Segment, reason: &str) {
        tracing::error!(file = segment.name(), reason, "a file of the history stays as it is");
        segment.is_damaged.store(true, Ordering::Relaxed);
    }
}
