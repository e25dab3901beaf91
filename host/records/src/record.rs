//! A record as it lies in a segment: head, then the caller's bytes.
//!
//! ```text
//!  checksum 4 │ length 4 │ key 16 │ replaced address 8 │ bytes │ zeros up to a multiple of 16
//! ```

use xxhash_rust::xxh3::xxh3_64;

use crate::address::{Address, UNIT};

/// Maximum length of the caller's bytes.
pub const RECORD_BYTES_MAX: usize = if cfg!(test) { 16 << 10 } else { 1 << 20 };

/// Bytes of a record before the caller's.
pub(crate) const HEAD_BYTES: usize = 32;
/// Mark of a record that replaces none.
const REPLACES_NONE: u64 = u64::MAX;
/// Bit of the length that marks a removal: the key no longer exists.
const REMOVAL: u32 = 1 << 31;

/// The key of a record: a hash of 128 bits, evenly distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordKey(pub u128);

/// A record that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// The caller's bytes.
    pub bytes: Vec<u8>,
    /// Where they lie. [`RecordStore::append`](crate::RecordStore::append) needs it to replace the record.
    pub address: Address,
    /// Number of its segment, since another one may have the same addresses later.
    pub(crate) segment: u64,
}

/// What a segment says of one of its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordHead {
    pub(crate) key: RecordKey,
    /// Length of the caller's bytes.
    pub(crate) n_bytes: usize,
    pub(crate) replaces: Option<Address>,
    /// Whether the key no longer exists from here on.
    pub(crate) is_removal: bool,
}

impl RecordKey {
    /// Returns the bits by which the index finds it.
    pub(crate) const fn prefix(self) -> u64 {
        (self.0 >> 64) as u64
    }
}

impl RecordHead {
    /// Returns the number of bytes that the whole record takes in a segment.
    pub(crate) const fn n_stored_bytes(&self) -> usize {
        (HEAD_BYTES + self.n_bytes).next_multiple_of(UNIT)
    }

    /// Reads the head at the beginning of the bytes, without its checksum. Returns `None` where there is no record.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let head = bytes.first_chunk::<HEAD_BYTES>()?;
        let length = u32::from_le_bytes(*head.get(4..)?.first_chunk()?);
        let key = RecordKey(u128::from_le_bytes(*head.get(8..)?.first_chunk()?));
        let replaced = u64::from_le_bytes(*head.get(24..)?.first_chunk()?);
        let n_bytes = usize::try_from(length & !REMOVAL).ok()?;
        let is_removal = length & REMOVAL != 0;
        let is_sound = n_bytes <= RECORD_BYTES_MAX && (n_bytes > 0) != is_removal;
        let replaces = (replaced != REPLACES_NONE).then(|| Address::from_bits(replaced));
        is_sound.then_some(Self { key, n_bytes, replaces, is_removal })
    }
}

/// Returns the record at the beginning of the bytes, with the caller's bytes; `None` when it is damaged or not complete.
pub(crate) fn read(bytes: &[u8]) -> Option<(RecordHead, &[u8])> {
    let head = RecordHead::read(bytes)?;
    let all = bytes.get(..HEAD_BYTES + head.n_bytes)?;
    let (checksum, rest) = all.split_first_chunk()?;
    (checksum_of(rest) == u32::from_le_bytes(*checksum)).then_some((head, all.get(HEAD_BYTES..)?))
}

/// Appends a record to bytes that end at a multiple of 16. Without bytes of the caller it is a removal.
pub(crate) fn write(to: &mut Vec<u8>, key: RecordKey, replaces: Option<Address>, bytes: &[u8]) {
    let start = to.len();
    let length = u32::try_from(bytes.len()).unwrap_or_default();
    let length = if bytes.is_empty() { REMOVAL } else { length };
    to.extend_from_slice(&[0; 4]);
    to.extend_from_slice(&length.to_le_bytes());
    to.extend_from_slice(&key.0.to_le_bytes());
    to.extend_from_slice(&replaces.map_or(REPLACES_NONE, Address::bits).to_le_bytes());
    to.extend_from_slice(bytes);
    let checksum = checksum_of(to.get(start + 4..).unwrap_or_default());
    if let Some(place) = to.get_mut(start..start + 4) {
        place.copy_from_slice(&checksum.to_le_bytes());
    }
    to.resize(to.len().next_multiple_of(UNIT), 0);
}

/// Returns the lower half of a 64-bit hash.
fn checksum_of(bytes: &[u8]) -> u32 {
    xxh3_64(bytes) as u32
}
