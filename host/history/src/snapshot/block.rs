//! Blocks: the entries of some keys as bytes.
//!
//! ```text
//!  block ─┬─ part ── key · kind ─┬─ a run of entries, in the bytes it has in memory
//!         ├─ part                └─ a few entries: count · cells of each · scale · entry · entry · …
//!         └─ …                      entry: time · number, both relative to the entry before · amount · cells
//!                                   cell: 0 and the value if it is new in this block, otherwise its number
//! ```
//!
//! A key with many entries has several consecutive parts. A run is copied as it is, which is fast. For a few entries a
//! run would be mostly head; written individually they take about ten bytes each.

use std::collections::HashMap;

use tollgate_guest_abi::limits::NUMBER_DIGITS_MAX;
use tollgate_model::decimal::Decimal;
use tollgate_model::sequence::Sequence;

use super::bytes::{ByteReader, put_bytes, put_number, put_signed};
use crate::owned_value::OwnedValue;
use crate::timeline::Entry;

mod kind {
    pub(super) const ENTRIES: u8 = 0;
    pub(super) const CHUNK: u8 = 1;
    pub(super) const LATEST: u8 = 2;
}

/// Marker in place of a scale: every amount has its own.
const SCALES_DIFFER: u8 = u8::MAX;

pub(super) const PART_ENTRIES_MAX: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct BlockWriter {
    bytes: Vec<u8>,
    /// Cell values written so far, as bytes, numbered in order of appearance.
    cells: HashMap<Box<[u8]>, u64>,
}

/// A part of what a key holds.
#[derive(Debug, PartialEq)]
pub(super) enum BlockPart<'a> {
    Entries(Vec<Entry>),
    /// A full run.
    Chunk(&'a [u8]),
    Latest(&'a [u8]),
}

#[derive(Debug)]
pub(super) struct BlockReader<'a> {
    bytes: ByteReader<'a>,
    cells: Vec<OwnedValue>,
}

impl BlockWriter {
    pub(super) const fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn add_chunk(&mut self, key: &[u8], run: &[u8]) {
        self.begin(key, kind::CHUNK);
        put_bytes(&mut self.bytes, run);
    }

    pub(super) fn add_latest(&mut self, key: &[u8], run: &[u8]) {
        self.begin(key, kind::LATEST);
        put_bytes(&mut self.bytes, run);
    }

    fn begin(&mut self, key: &[u8], kind: u8) {
        put_bytes(&mut self.bytes, key);
        self.bytes.push(kind);
    }

    /// Adds at most [`PART_ENTRIES_MAX`] entries of a key, in order. Returns false, and adds nothing, when they differ
    /// in the number of cells.
    pub(super) fn add(&mut self, key: &[u8], entries: &[Entry]) -> bool {
        let n_cells = entries.first().map_or(0, |entry| entry.cells.len());
        if entries.iter().any(|entry| entry.cells.len() != n_cells) {
            return false;
        }
        self.begin(key, kind::ENTRIES);
        put_number(&mut self.bytes, entries.len() as u64);
        put_number(&mut self.bytes, n_cells as u64);
        let scale = shared_scale(entries);
        self.bytes.push(scale.unwrap_or(SCALES_DIFFER));
        let (mut micros, mut sequence) = (0_i64, 0_i64);
        for entry in entries {
            let number = entry.sequence.0.cast_signed();
            put_signed(&mut self.bytes, entry.micros.wrapping_sub(micros));
            put_signed(&mut self.bytes, number.wrapping_sub(sequence));
            match scale.and_then(|scale| entry.amount.units(scale)) {
                Some(units) => put_signed(&mut self.bytes, units),
                None => OwnedValue::Number(Box::new(entry.amount)).write(&mut self.bytes),
            }
            entry.cells.iter().for_each(|cell| self.add_cell(cell));
            (micros, sequence) = (entry.micros, number);
        }
        true
    }

    /// Returns the bytes of everything added, and empties the block.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.cells.clear();
        std::mem::take(&mut self.bytes)
    }

    fn add_cell(&mut self, cell: &OwnedValue) {
        let mut value = Vec::new();
        cell.write(&mut value);
        if let Some(known) = self.cells.get(&*value) {
            put_number(&mut self.bytes, *known);
        } else {
            put_number(&mut self.bytes, 0);
            self.bytes.extend_from_slice(&value);
            self.cells.insert(value.into(), self.cells.len() as u64 + 1);
        }
    }
}

/// Returns the largest scale when every amount is a 64-bit number of its units.
fn shared_scale(entries: &[Entry]) -> Option<u8> {
    let scale = entries.iter().map(|entry| entry.amount.scale()).max()?;
    entries.iter().all(|entry| entry.amount.units(scale).is_some()).then_some(scale)
}

impl<'a> BlockReader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: ByteReader(bytes), cells: Vec::new() }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the next part with its key; `None` when the bytes are invalid.
    pub(super) fn part(&mut self) -> Option<(&'a [u8], BlockPart<'a>)> {
        let key = self.bytes.bytes()?;
        let part = match self.bytes.byte()? {
            kind::ENTRIES => BlockPart::Entries(self.entries()?),
            kind::CHUNK => BlockPart::Chunk(self.bytes.bytes()?),
            kind::LATEST => BlockPart::Latest(self.bytes.bytes()?),
            _ => return None,
        };
        Some((key, part))
    }

    fn entries(&mut self) -> Option<Vec<Entry>> {
        let n_entries = self.bytes.count().filter(|count| *count <= PART_ENTRIES_MAX)?;
        let n_cells = self.bytes.count()?;
        let scale = match self.bytes.byte()? {
            SCALES_DIFFER => None,
            scale if usize::from(scale) <= NUMBER_DIGITS_MAX => Some(scale),
            _ => return None,
        };
        let mut entries: Vec<Entry> = Vec::with_capacity(n_entries);
        let mut place = (0_i64, 0_i64);
        for _ in 0..n_entries {
            let micros = place.0.wrapping_add(self.bytes.signed()?);
            let number = place.1.wrapping_add(self.bytes.signed()?);
            if !entries.is_empty() && (micros, number) <= place {
                return None;
            }
            place = (micros, number);
            entries.push(Entry {
                micros,
                sequence: Sequence(u64::try_from(number).ok()?),
                amount: self.amount(scale)?,
                cells: (0..n_cells).map(|_| self.cell()).collect::<Option<_>>()?,
            });
        }
        Some(entries)
    }

    fn amount(&mut self, scale: Option<u8>) -> Option<Decimal> {
        match scale {
            Some(scale) => Some(Decimal::of_units(self.bytes.signed()?, scale)),
            None => match OwnedValue::read(&mut self.bytes.0)? {
                OwnedValue::Number(number) => Some(*number),
                _ => None,
            },
        }
    }

    fn cell(&mut self) -> Option<OwnedValue> {
        let known = usize::try_from(self.bytes.number()?).ok()?;
        if let Some(place) = known.checked_sub(1) {
            return self.cells.get(place).cloned();
        }
        let cell = OwnedValue::read(&mut self.bytes.0)?;
        self.cells.push(cell.clone());
        Some(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(micros: i64, sequence: u64, amount: &str, cell: &str) -> Entry {
        let cells = [OwnedValue::Text(cell.into()), OwnedValue::Missing].into();
        let amount = Decimal::from_json(amount).unwrap();
        Entry { micros, sequence: Sequence(sequence), amount, cells }
    }

    fn read(bytes: &[u8]) -> Option<Vec<(Vec<u8>, Vec<Entry>)>> {
        let mut block = BlockReader::new(bytes);
        let mut parts = Vec::new();
        while !block.is_empty() {
            let (key, BlockPart::Entries(entries)) = block.part()? else { return None };
            parts.push((key.to_vec(), entries));
        }
        Some(parts)
    }

    fn parts() -> Vec<(Vec<u8>, Vec<Entry>)> {
        let far = i64::from(u32::MAX) * 1_000_000;
        vec![
            (b"one".to_vec(), vec![entry(-far, 9, "0.10", "applied"), entry(far, 4, "-12", "pending")]),
            (
                b"".to_vec(),
                vec![entry(5, 7, "1e30", "applied"), entry(5, 8, "0.00000000000000000000001", "")],
            ),
            (b"two".to_vec(), vec![entry(i64::MIN, 1, "0", "x"), entry(i64::MAX, 2, "1", "applied")]),
        ]
    }

    #[test]
    fn entries_are_read_as_they_were_written() {
        let mut writer = BlockWriter::default();
        for (key, entries) in parts() {
            assert!(writer.add(&key, &entries));
        }
        let bytes = writer.take();
        assert_eq!(read(&bytes).unwrap(), parts());
        assert_eq!(writer.len(), 0);
    }

    #[test]
    fn entries_with_different_cells_are_not_taken() {
        let mut writer = BlockWriter::default();
        let bare = Entry { cells: Box::default(), ..entry(2, 2, "1", "x") };
        assert!(!writer.add(b"key", &[entry(1, 1, "1", "x"), bare]));
        assert_eq!(writer.len(), 0);
    }

    #[test]
    fn runs_are_read_as_they_were_written() {
        let mut writer = BlockWriter::default();
        writer.add_chunk(b"one", b"a chunk");
        writer.add_latest(b"one", b"");
        let bytes = writer.take();
        let mut block = BlockReader::new(&bytes);
        assert_eq!(block.part(), Some((&b"one"[..], BlockPart::Chunk(b"a chunk"))));
        assert_eq!(block.part(), Some((&b"one"[..], BlockPart::Latest(b""))));
        assert!(block.is_empty());
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut writer = BlockWriter::default();
        for (key, entries) in parts() {
            assert!(writer.add(&key, &entries));
        }
        let bytes = writer.take();
        for place in 0..bytes.len() {
            read(&bytes[..place]);
            for change in [1, 0x80, 0xff] {
                let mut other = bytes.clone();
                other[place] ^= change;
                read(&other);
            }
        }
    }
}
