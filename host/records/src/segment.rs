//! A segment: a file of records with a foot that lists them.
//!
//! ```text
//!  seg-ID: head, a page │ record │ record │ … │ zeros │ foot: hash, offset, replaced address of each │ end mark
//! ```

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use crate::address::{ADDRESS_BITS, Address, SEGMENT_BYTES, UNIT};
use crate::buffer::{AlignedBuffer, PAGE_BYTES};
use crate::folder::{FolderFile, RecordFolder};
use crate::index::IndexEntry;
use crate::record::{self, HEAD_BYTES, RecordHead, RecordKey};

/// Size of the head of a segment, in bytes.
pub(crate) const SEGMENT_HEAD_BYTES: usize = PAGE_BYTES;
const FILE_PREFIX: &str = "seg-";
const MAGIC: &[u8; 16] = b"tollgate records";
const END_MAGIC: u64 = 0x746f_6c6c_666f_6f74;
/// Size of an entry of the foot, in bytes.
const FOOT_ENTRY_BYTES: usize = 16;
/// Size of the end mark, in bytes: number of entries, checksum of the foot, segment number, magic number.
const END_BYTES: usize = 32;
/// Bits of the offset of a record in its segment, in units.
const OFFSET_BITS: u32 = (SEGMENT_BYTES / UNIT).trailing_zeros();

/// A file of records, complete or open.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Rises with each segment; never used again.
    pub(crate) id: u64,
    pub(crate) slot: usize,
    pub(crate) file: Box<dyn FolderFile>,
    /// Bytes that are in the file; what lies behind them is in memory.
    pub(crate) n_written: AtomicUsize,
    /// Sizes of the records that the index names, as the index counts them, in bytes.
    pub(crate) n_live_bytes: AtomicUsize,
    /// Sizes of all records, as the index counts them, in bytes.
    pub(crate) n_record_bytes: AtomicUsize,
    /// Whether a record was damaged when it was cleaned; it then stays as it is.
    pub(crate) is_damaged: AtomicBool,
    /// Whether it was cleaned, so that its file goes with the next checkpoint.
    pub(crate) is_cleaned: AtomicBool,
}

/// What the foot says of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FootEntry {
    pub(crate) prefix: u64,
    /// Offset in the segment, in bytes.
    pub(crate) offset: usize,
    /// Length of the whole record, in bytes; a record that is long counts as [`FootEntry::LONG`]. 0 for a removal.
    pub(crate) n_bytes: usize,
    pub(crate) replaces: Option<Address>,
}

/// Returns the name of the file of a segment.
pub(crate) fn file_name(id: u64) -> String {
    format!("{FILE_PREFIX}{id:010}")
}

/// Returns the number of the segment that a file name means.
pub(crate) fn id_of(name: &str) -> Option<u64> {
    name.strip_prefix(FILE_PREFIX)?.parse().ok()
}

/// Returns the number of bytes that a foot of so many records takes, with the zeros before it.
pub(crate) const fn foot_bytes_max(n_records: usize) -> usize {
    n_records * FOOT_ENTRY_BYTES + END_BYTES + PAGE_BYTES
}

impl Segment {
    pub(crate) fn new(id: u64, slot: usize, file: Box<dyn FolderFile>, n_written: usize) -> Self {
        Self {
            id,
            slot,
            file,
            n_written: AtomicUsize::new(n_written),
            n_live_bytes: AtomicUsize::new(0),
            n_record_bytes: AtomicUsize::new(0),
            is_damaged: AtomicBool::new(false),
            is_cleaned: AtomicBool::new(false),
        }
    }

    /// Creates the file of a new segment, with its head. `origin` identifies the store that it belongs to.
    pub(crate) fn create(folder: &dyn RecordFolder, id: u64, slot: usize, origin: u64) -> io::Result<Self> {
        let file = folder.create(&file_name(id))?;
        file.write_at(&head(id, slot, origin), 0)?;
        Ok(Self::new(id, slot, file, SEGMENT_HEAD_BYTES))
    }

    /// Opens the file of a segment. Returns `None` when it is not one of this origin and number.
    pub(crate) fn open(folder: &dyn RecordFolder, id: u64, origin: u64) -> io::Result<Option<Self>> {
        let file = folder.open(&file_name(id))?;
        let mut buffer = AlignedBuffer::new(PAGE_BYTES);
        if file.read_at(&mut buffer, 0)? < SEGMENT_HEAD_BYTES {
            return Ok(None);
        }
        let slot =
            buffer.bytes().get(24..).and_then(<[u8]>::first_chunk).map(|slot| u64::from_le_bytes(*slot));
        let Some(slot) = slot.and_then(|slot| usize::try_from(slot).ok()) else { return Ok(None) };
        let is_sound = buffer.bytes() == head(id, slot, origin).as_slice();
        let n_written = usize::try_from(file.n_bytes()?).unwrap_or(usize::MAX);
        Ok((is_sound && n_written <= SEGMENT_BYTES).then(|| Self::new(id, slot, file, n_written)))
    }

    pub(crate) fn name(&self) -> String {
        file_name(self.id)
    }

    pub(crate) fn n_written(&self) -> usize {
        self.n_written.load(Ordering::Acquire)
    }

    /// Counts a record that the index names from now on.
    pub(crate) fn count(&self, entry: IndexEntry) {
        self.n_live_bytes.fetch_add(entry.n_bytes(), Ordering::Relaxed);
        self.n_record_bytes.fetch_add(entry.n_bytes(), Ordering::Relaxed);
    }

    /// Counts a record of this size, in bytes, whether the index names it or not.
    pub(crate) fn count_record(&self, n_bytes: usize) {
        self.n_record_bytes.fetch_add(IndexEntry::counted_bytes(n_bytes), Ordering::Relaxed);
    }

    /// Counts a record that the index names, and that was counted among all.
    pub(crate) fn count_live(&self, entry: IndexEntry) {
        self.n_live_bytes.fetch_add(entry.n_bytes(), Ordering::Relaxed);
    }

    /// Counts a record that the index no longer names.
    pub(crate) fn discount(&self, entry: IndexEntry) {
        self.n_live_bytes.fetch_sub(entry.n_bytes(), Ordering::Relaxed);
    }

    /// Reads whole pages that contain a range of the file. Returns the bytes from `offset` on; fewer at the end of the
    /// file.
    pub(crate) fn read(&self, offset: usize, n_bytes: usize) -> io::Result<SegmentBytes> {
        let start = offset / PAGE_BYTES * PAGE_BYTES;
        let mut buffer = AlignedBuffer::new(offset + n_bytes - start);
        let n_read = self.file.read_at(&mut buffer, start as u64)?;
        Ok(SegmentBytes { buffer, from: offset - start, to: n_read })
    }

    /// Reads the foot. Returns `None` when the file does not end with a sound one.
    pub(crate) fn foot(&self) -> io::Result<Option<Vec<FootEntry>>> {
        let length = self.n_written();
        let Some(end_at) = length.checked_sub(END_BYTES).filter(|at| *at >= SEGMENT_HEAD_BYTES) else {
            return Ok(None);
        };
        let end = self.read(end_at, END_BYTES)?;
        let (words, _) = end.bytes().as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let (Some(n_entries), Some(checksum), Some(id), Some(END_MAGIC)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Ok(None);
        };
        let n_foot_bytes = usize::try_from(n_entries).ok().and_then(|n| n.checked_mul(FOOT_ENTRY_BYTES));
        let foot_at = n_foot_bytes.and_then(|n_bytes| end_at.checked_sub(n_bytes));
        let (Some(foot_at), true) = (foot_at, id == self.id) else { return Ok(None) };
        let foot = self.read(foot_at, end_at - foot_at)?;
        let Some(bytes) = foot.bytes().get(..end_at - foot_at) else { return Ok(None) };
        if xxh3_64(bytes) != checksum {
            return Ok(None);
        }
        let (entries, _) = bytes.as_chunks::<FOOT_ENTRY_BYTES>();
        Ok(Some(entries.iter().map(FootEntry::from_bytes).collect()))
    }

    /// Passes the records from the head on to `take`, each with its offset, until it returns false or none follows.
    /// Returns the offset behind the last one.
    pub(crate) fn each_record(
        &self,
        mut take: impl FnMut(usize, &RecordHead, &[u8]) -> bool,
    ) -> io::Result<usize> {
        let (mut at, length) = (SEGMENT_HEAD_BYTES, self.n_written());
        while at < length {
            let piece = self.read(at, SCANNED_BYTES)?;
            let (mut rest, at_before) = (piece.bytes(), at);
            while let Some((head, bytes)) = record::read(rest) {
                if !take(at, &head, bytes) {
                    return Ok(at);
                }
                at += head.n_stored_bytes();
                rest = rest.get(head.n_stored_bytes()..).unwrap_or_default();
            }
            if at == at_before {
                break;
            }
        }
        Ok(at)
    }
}

/// Bytes that are read at a time while a segment is scanned; more than the longest record.
const SCANNED_BYTES: usize = record::RECORD_BYTES_MAX + (64 << 10);

const _: () = assert!(SCANNED_BYTES > record::RECORD_BYTES_MAX + HEAD_BYTES + UNIT, "a piece holds a record");

/// Bytes of a segment, in whole pages.
#[derive(Debug)]
pub(crate) struct SegmentBytes {
    buffer: AlignedBuffer,
    from: usize,
    to: usize,
}

impl SegmentBytes {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.bytes().get(self.from..self.to).unwrap_or_default()
    }
}

fn head(id: u64, slot: usize, origin: u64) -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&id.to_le_bytes());
    head.extend_from_slice(&(slot as u64).to_le_bytes());
    head.extend_from_slice(&origin.to_le_bytes());
    head.extend_from_slice(&xxh3_64(&head).to_le_bytes());
    head.resize(SEGMENT_HEAD_BYTES, 0);
    head
}

/// Returns the zeros, the foot and the end mark that follow `n_bytes` bytes of a segment.
pub(crate) fn foot_bytes(id: u64, n_bytes: usize, entries: &[FootEntry]) -> Vec<u8> {
    let n_foot_bytes = entries.len() * FOOT_ENTRY_BYTES + END_BYTES;
    // The file ends with a page, as direct reads need it.
    let n_zeros = (n_bytes + n_foot_bytes).next_multiple_of(PAGE_BYTES) - n_bytes - n_foot_bytes;
    let mut bytes = vec![0; n_zeros];
    entries.iter().for_each(|entry| bytes.extend_from_slice(&entry.to_bytes()));
    let checksum = xxh3_64(bytes.get(n_zeros..).unwrap_or_default());
    for word in [entries.len() as u64, checksum, id, END_MAGIC] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// Bits of the size in an entry of the foot, in units.
const FOOT_SIZE_BITS: u32 = u64::BITS - OFFSET_BITS - ADDRESS_BITS - 1;

impl FootEntry {
    /// Length of records that are at least as long, in bytes. An index counts such lengths alike.
    pub(crate) const LONG: usize = ((1 << FOOT_SIZE_BITS) - 1) * SIZE_STEP;

    pub(crate) fn new(offset: usize, head: &RecordHead) -> Self {
        let n_bytes = if head.is_removal { 0 } else { head.n_stored_bytes() };
        let n_bytes = n_bytes.next_multiple_of(SIZE_STEP).min(Self::LONG);
        Self { prefix: head.key.prefix(), offset, n_bytes, replaces: head.replaces }
    }

    pub(crate) const fn is_removal(&self) -> bool {
        self.n_bytes == 0
    }

    fn to_bytes(self) -> [u8; FOOT_ENTRY_BYTES] {
        let replaces = self.replaces.map_or(0, |address| 1 << ADDRESS_BITS | address.bits());
        let place = (self.offset / UNIT) as u64;
        let size = (self.n_bytes / SIZE_STEP) as u64;
        let word = size << (OFFSET_BITS + ADDRESS_BITS + 1) | place << (ADDRESS_BITS + 1) | replaces;
        let mut bytes = [0; FOOT_ENTRY_BYTES];
        if let Some((prefix, rest)) = bytes.split_first_chunk_mut() {
            *prefix = self.prefix.to_le_bytes();
            rest.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; FOOT_ENTRY_BYTES]) -> Self {
        let (words, _) = bytes.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let (prefix, word) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let has_replaced = word >> ADDRESS_BITS & 1 == 1;
        let place = word >> (ADDRESS_BITS + 1) & ((1 << OFFSET_BITS) - 1);
        let size = word >> (OFFSET_BITS + ADDRESS_BITS + 1);
        Self {
            prefix,
            offset: place as usize * UNIT,
            n_bytes: size as usize * SIZE_STEP,
            replaces: has_replaced.then(|| Address::from_bits(word)),
        }
    }
}

/// Step of the sizes in a foot, in bytes; the index rounds up to the same.
const SIZE_STEP: usize = 512;

/// Returns the key of a prefix alone, for what needs no more of it.
pub(crate) const fn key_of_prefix(prefix: u64) -> RecordKey {
    RecordKey((prefix as u128) << 64)
}
