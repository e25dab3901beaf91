//! The layout of the snapshot file.
//!
//! ```text
//!  head      magic · version · store · through · transactions · last · rows · key of the digests · checksum
//!  block …   contiguous
//!  table     checksum of the head · per series: identity, entries, discarded range, blocks (length, checksum)
//!  foot      length of the table · checksum of the table · magic
//! ```
//!
//! Every byte is covered by a checksum stored elsewhere, or compared with its only valid value.

use tollgate_model::sequence::Sequence;
use xxhash_rust::xxh3::xxh3_64;

use super::SnapshotError;
use super::bytes::{ByteReader, put_bytes, put_number};
use crate::forgotten::HistoryForgotten;
use crate::past::PastSummary;

const MAGIC: [u8; 8] = *b"TOLGHIST";
const END: [u8; 8] = *b"HISTTOLG";
/// Version of the file format and of the contents of a series.
const VERSION: u32 = 3;

pub(super) const HEAD_BYTES: usize = 8 + 4 + 16 + 3 * 8 + 32 + 32 + 8;
pub(super) const FOOT_BYTES: usize = 8 + 8 + 8;
/// Maximum size of the table, in bytes. It has a few bytes for each block, and there are few blocks.
pub(super) const TABLE_BYTES_MAX: usize = 64 << 20;
/// Maximum size of a block, in bytes. A block is closed at about a hundredth of this, unless a single part is larger.
pub(super) const BLOCK_BYTES_MAX: usize = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SnapshotHead {
    /// Everything up to this number is in the file.
    pub(super) through: Sequence,
    /// Number of transactions up to `through`.
    pub(super) n_transactions: u64,
    /// Summary of the store up to the same number.
    pub(super) testimony: PastSummary,
    /// Key of the digests of long texts.
    pub(super) digest_key: [u8; 32],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) at: u64,
    pub(super) n_bytes: usize,
    pub(super) checksum: u64,
}

/// The part of the file for one series.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Section {
    pub(super) identity: String,
    pub(super) n_entries: u64,
    pub(super) forgotten: Option<HistoryForgotten>,
    pub(super) blocks: Vec<Block>,
}

pub(super) fn checksum(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

impl SnapshotHead {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.testimony.store);
        bytes.extend(self.through.0.to_le_bytes());
        bytes.extend(self.n_transactions.to_le_bytes());
        bytes.extend(self.testimony.last.0.to_le_bytes());
        bytes.extend(self.testimony.rows);
        bytes.extend(self.digest_key);
        bytes.extend(checksum(&bytes).to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; HEAD_BYTES]) -> Result<Self, SnapshotError> {
        let damaged = || SnapshotError::Damaged { what: "its head" };
        let mut rest = ByteReader(bytes);
        if rest.array() != Some(MAGIC) {
            return Err(SnapshotError::Foreign);
        }
        let version = rest.array().map(u32::from_le_bytes).ok_or_else(damaged)?;
        if version != VERSION {
            return Err(SnapshotError::Version { found: version, known: VERSION });
        }
        let (head, expected) = Self::read(&mut rest).ok_or_else(damaged)?;
        let covered = bytes.get(..HEAD_BYTES - 8).unwrap_or_default();
        if checksum(covered) == expected { Ok(head) } else { Err(damaged()) }
    }

    /// Reads the fields after the version, and the checksum.
    fn read(rest: &mut ByteReader<'_>) -> Option<(Self, u64)> {
        let store = rest.array()?;
        let through = Sequence(u64::from_le_bytes(rest.array()?));
        let n_transactions = u64::from_le_bytes(rest.array()?);
        let last = Sequence(u64::from_le_bytes(rest.array()?));
        let testimony = PastSummary { store, last, rows: rest.array()? };
        let digest_key = rest.array()?;
        let head = Self { through, n_transactions, testimony, digest_key };
        Some((head, u64::from_le_bytes(rest.array()?)))
    }
}

pub(super) fn table_to_bytes(head: &[u8], sections: &[Section]) -> Vec<u8> {
    let mut bytes = checksum(head).to_le_bytes().to_vec();
    put_number(&mut bytes, sections.len() as u64);
    for section in sections {
        put_bytes(&mut bytes, section.identity.as_bytes());
        put_number(&mut bytes, section.n_entries);
        put_number(&mut bytes, u64::from(section.forgotten.is_some()));
        if let Some(HistoryForgotten { through, longest_window }) = section.forgotten {
            bytes.extend(through.to_le_bytes());
            bytes.extend(longest_window.to_le_bytes());
        }
        put_number(&mut bytes, section.blocks.len() as u64);
        for block in &section.blocks {
            put_number(&mut bytes, block.n_bytes as u64);
            bytes.extend(block.checksum.to_le_bytes());
        }
    }
    let (length, sum) = (bytes.len() as u64, checksum(&bytes));
    bytes.extend(length.to_le_bytes());
    bytes.extend(sum.to_le_bytes());
    bytes.extend(END);
    bytes
}

/// Returns the length of the table and its checksum; `None` when the bytes are not a foot.
pub(super) fn read_foot(bytes: &[u8; FOOT_BYTES]) -> Option<(usize, u64)> {
    let mut rest = ByteReader(bytes);
    let length = usize::try_from(u64::from_le_bytes(rest.array()?)).ok()?;
    let sum = u64::from_le_bytes(rest.array()?);
    (rest.array() == Some(END) && length <= TABLE_BYTES_MAX).then_some((length, sum))
}

/// Returns the sections of a table with a correct checksum. Returns `None` when it does not belong to this head, or the
/// blocks do not extend exactly to the table.
pub(super) fn read_table(bytes: &[u8], head: &[u8], table_at: u64) -> Option<Vec<Section>> {
    let mut rest = ByteReader(bytes);
    if u64::from_le_bytes(rest.array()?) != checksum(head) {
        return None;
    }
    let mut at = HEAD_BYTES as u64;
    let n_sections = rest.count()?;
    let mut sections = Vec::with_capacity(n_sections);
    for _ in 0..n_sections {
        let identity = rest.text()?.to_owned();
        let n_entries = rest.number()?;
        let forgotten = match rest.number()? {
            0 => None,
            _ => Some(HistoryForgotten {
                through: i64::from_le_bytes(rest.array()?),
                longest_window: i64::from_le_bytes(rest.array()?),
            }),
        };
        let n_blocks = rest.count()?;
        let mut blocks = Vec::with_capacity(n_blocks);
        for _ in 0..n_blocks {
            let n_bytes = usize::try_from(rest.number()?).ok().filter(|bytes| *bytes <= BLOCK_BYTES_MAX)?;
            blocks.push(Block { at, n_bytes, checksum: u64::from_le_bytes(rest.array()?) });
            at += n_bytes as u64;
        }
        sections.push(Section { identity, n_entries, forgotten, blocks });
    }
    (rest.is_empty() && at == table_at).then_some(sections)
}
