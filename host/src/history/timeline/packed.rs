//! Entries at rest: columns of whole numbers above the smallest of each, in as few bits as the largest needs.
//!
//! ```text
//!  bits:  times, in order ─ sequence numbers ─ amounts ─ codes of column 0 ─ codes of column 1 ─ …
//! ```
//!
//! Every number is found by its position, so that an edge of a window is found by bisection and nothing is unpacked that
//! is not looked at. Only the numbers may leave memory; the tables of columns stay. A column has a table of the values that occur, and a code per entry.

use std::sync::Arc;

use super::bits::{self, BitsWriter, width_of};
use super::{Chunk, Entry, Stretch};
use crate::decimal::Decimal;
use crate::history::exact::ExactSum;
use crate::history::held::Held;
use crate::history::spill::{Page, Spill, SpillError};
use crate::sequence::Sequence;

/// What a chunk takes in memory besides its numbers, wherever these are: about so many bytes.
const BYTES_BESIDE: usize = size_of::<Chunk>() + size_of::<Packed>() + size_of::<Page>() + 64;
/// Units event times often are multiples of, in microseconds.
const UNITS: [u64; 3] = [1_000_000, 1_000, 1];

/// Some entries, in order. Their numbers are on a page, which may be out of memory.
#[derive(Debug)]
pub(in crate::history) struct Packed {
    n_entries: usize,
    micros: Frame,
    /// Times are multiples of this above the first.
    unit: u64,
    sequences: Frame,
    sequence_max: Sequence,
    amounts: Amounts,
    columns: Box<[Column]>,
    page: Arc<Page>,
}

/// Packed entries with their page at hand.
#[derive(Debug, Clone)]
pub(in crate::history) struct OpenPacked {
    packed: Arc<Packed>,
    words: Arc<[u64]>,
}

/// Numbers above a base.
#[derive(Debug, Clone, Copy)]
struct Frame {
    base: i64,
    width: u8,
    at_bit: usize,
}

#[derive(Debug)]
enum Amounts {
    /// Whole numbers of units of `10^-scale`.
    Units { frame: Frame, scale: u8 },
    /// Digits or scales too far apart to be whole numbers of one unit.
    Each(Box<[Decimal]>),
}

#[derive(Debug)]
struct Column {
    codes: Frame,
    values: Box<[Held]>,
}

impl Packed {
    /// Packs entries; they must be in order, and all have as many cells as the first.
    pub(super) fn of(entries: &[Entry], spill: &Arc<Spill>) -> Self {
        let mut bits = BitsWriter::default();
        let first = entries.first().map_or(0, |entry| entry.micros);
        let since: Vec<u64> =
            entries.iter().map(|entry| entry.micros.wrapping_sub(first).cast_unsigned()).collect();
        let is_unit = |unit: &u64| since.iter().all(|micros| micros.is_multiple_of(*unit));
        let unit = UNITS.into_iter().find(is_unit).unwrap_or(1);
        let micros = Frame::pack(&mut bits, first, since.iter().map(|micros| micros / unit));
        let lowest = entries.iter().map(|entry| entry.sequence.0).min().unwrap_or(0);
        let above = entries.iter().map(|entry| entry.sequence.0 - lowest);
        let sequences = Frame::pack(&mut bits, lowest.cast_signed(), above);
        let sequence_max = entries.iter().map(|entry| entry.sequence).max().unwrap_or_default();
        let amounts = Amounts::pack(&mut bits, entries);
        let n_columns = entries.first().map_or(0, |entry| entry.cells.len());
        let columns: Box<[Column]> =
            (0..n_columns).map(|column| Column::pack(&mut bits, entries, column)).collect();
        let n_bytes_beside = BYTES_BESIDE + columns.iter().map(Column::n_bytes).sum::<usize>();
        let page = Page::new(spill, bits.finish(), n_bytes_beside);
        Self { n_entries: entries.len(), micros, unit, sequences, sequence_max, amounts, columns, page }
    }

    /// How many entries.
    pub(in crate::history) const fn len(&self) -> usize {
        self.n_entries
    }

    /// With its page, read back if need be.
    pub(super) fn open(self: &Arc<Self>) -> Result<OpenPacked, SpillError> {
        Ok(OpenPacked { packed: Arc::clone(self), words: self.page.words()? })
    }

    /// With its page, if that is in memory.
    pub(super) fn open_resident(self: &Arc<Self>) -> Option<OpenPacked> {
        Some(OpenPacked { packed: Arc::clone(self), words: self.page.resident()? })
    }
}

impl OpenPacked {
    pub(super) fn len(&self) -> usize {
        self.packed.n_entries
    }

    /// Whether every entry has a lower number.
    pub(super) fn is_seen_by(&self, as_of: Sequence) -> bool {
        self.packed.sequence_max < as_of
    }

    pub(super) fn micros(&self, position: usize) -> i64 {
        let frame = self.packed.micros;
        let since = frame.read(&self.words, position).wrapping_mul(self.packed.unit);
        frame.base.wrapping_add(since.cast_signed())
    }

    pub(super) fn sequence(&self, position: usize) -> Sequence {
        let frame = self.packed.sequences;
        Sequence(frame.base.cast_unsigned() + frame.read(&self.words, position))
    }

    pub(super) fn amount(&self, position: usize) -> Decimal {
        match &self.packed.amounts {
            Amounts::Units { frame, scale } => Decimal::of_units(self.units(*frame, position), *scale),
            Amounts::Each(amounts) => amounts.get(position).copied().unwrap_or(Decimal::ZERO),
        }
    }

    fn units(&self, frame: Frame, position: usize) -> i64 {
        frame.base.wrapping_add(frame.read(&self.words, position).cast_signed())
    }

    /// The value of a column.
    pub(in crate::history) fn cell(&self, column: usize, position: usize) -> Option<&Held> {
        let column = self.packed.columns.get(column)?;
        column.values.get(usize::try_from(column.codes.read(&self.words, position)).ok()?)
    }

    /// The positions a stretch shows, as far as time decides.
    pub(super) fn positions(&self, stretch: Stretch) -> std::ops::Range<usize> {
        self.n_up_to(|micros| micros < stretch.from)..self.n_up_to(|micros| micros <= stretch.to)
    }

    /// The exact sum of some amounts.
    pub(super) fn sum(&self, positions: std::ops::Range<usize>) -> ExactSum {
        let mut sum = ExactSum::default();
        match &self.packed.amounts {
            Amounts::Units { frame, scale } => {
                let total: i128 = positions.map(|position| i128::from(self.units(*frame, position))).sum();
                sum.add_units_of(total, u32::from(*scale));
            }
            Amounts::Each(_) => positions.for_each(|position| sum.add(self.amount(position))),
        }
        sum
    }

    /// Everything, as it was.
    pub(super) fn unpack(&self) -> impl Iterator<Item = Entry> {
        let n_columns = self.packed.columns.len();
        (0..self.packed.n_entries).map(move |position| Entry {
            micros: self.micros(position),
            sequence: self.sequence(position),
            amount: self.amount(position),
            cells: (0..n_columns)
                .map(|column| self.cell(column, position).cloned().unwrap_or(Held::Missing))
                .collect(),
        })
    }

    fn n_up_to(&self, is_before: impl Fn(i64) -> bool) -> usize {
        let (mut low, mut high) = (0, self.packed.n_entries);
        while low < high {
            let middle = usize::midpoint(low, high);
            if is_before(self.micros(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl Frame {
    fn pack(bits: &mut BitsWriter, base: i64, above: impl Iterator<Item = u64> + Clone) -> Self {
        let width = width_of(above.clone().max().unwrap_or(0));
        let at_bit = bits.len();
        above.for_each(|number| bits.push(number, width));
        Self { base, width, at_bit }
    }

    fn read(self, words: &[u64], position: usize) -> u64 {
        bits::read(words, self.at_bit + position * usize::from(self.width), self.width)
    }
}

impl Amounts {
    fn pack(bits: &mut BitsWriter, entries: &[Entry]) -> Self {
        let scale = entries.iter().map(|entry| entry.amount.scale()).max().unwrap_or(0);
        let units: Option<Vec<i64>> = entries.iter().map(|entry| entry.amount.units(scale)).collect();
        let Some(units) = units else {
            return Amounts::Each(entries.iter().map(|entry| entry.amount).collect());
        };
        let base = units.iter().copied().min().unwrap_or(0);
        let above = units.iter().map(|units| units.wrapping_sub(base).cast_unsigned());
        Amounts::Units { frame: Frame::pack(bits, base, above), scale }
    }
}

impl Column {
    fn pack(bits: &mut BitsWriter, entries: &[Entry], column: usize) -> Self {
        let mut values: Vec<Held> = Vec::new();
        let mut codes: Vec<u64> = Vec::with_capacity(entries.len());
        for held in entries.iter().map(|entry| entry.cells.get(column).unwrap_or(&Held::Missing)) {
            let known = values.iter().position(|known| known.is_same_as(held));
            let code = known.unwrap_or_else(|| {
                values.push(held.clone());
                values.len() - 1
            });
            codes.push(code as u64);
        }
        Self { codes: Frame::pack(bits, 0, codes.iter().copied()), values: values.into() }
    }

    fn n_bytes(&self) -> usize {
        size_of::<Self>() + self.values.iter().map(Held::n_bytes).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(micros: i64, sequence: u64, amount: &str, cell: &str) -> Entry {
        let cell = if cell.is_empty() { Held::Missing } else { Held::Text(cell.into()) };
        let amount = Decimal::from_plain(amount).unwrap();
        Entry { micros, sequence: Sequence(sequence), amount, cells: [cell].into() }
    }

    #[track_caller]
    fn check(entries: &[Entry]) {
        let packed = Arc::new(Packed::of(entries, &Arc::default())).open().unwrap();
        assert_eq!(packed.unpack().collect::<Vec<_>>(), entries);
        let mut sum = ExactSum::default();
        entries.iter().for_each(|entry| sum.add(entry.amount));
        assert_eq!(packed.sum(0..entries.len()).to_f64(), sum.to_f64());
    }

    #[test]
    fn extremes_come_back() {
        check(&[
            entry(i64::MIN, 1, "9223372036854775807", "a"),
            entry(i64::MAX, 9_007_199_254_740_993, "-9223372036854775808", ""),
        ]);
        check(&[entry(0, 1, "0.00000000000000000000000000000000000001", "a"), entry(0, 2, "1", "a")]);
        check(&[entry(0, 3, "99999999999999999999999999999999999999", "a")]);
        check(&[entry(5, 3, "1.50", "")]);
    }

    #[test]
    fn a_full_chunk_of_a_cold_key_takes_at_most_twelve_bytes_an_entry() {
        let entries: Vec<Entry> = (0..128_i64)
            .map(|n| {
                let (at, cents) = (n * 4_725_000_123 + n * n % 977, (n * 7_919_993) % 2_500_000);
                let amount = Decimal::of_units(cents, 2);
                Entry { micros: at, sequence: Sequence((n * 78_125) as u64), amount, cells: [].into() }
            })
            .collect();
        let packed = Arc::new(Packed::of(&entries, &Arc::default())).open().unwrap();
        let n_bytes = size_of::<Packed>() + size_of_val(&*packed.words);
        assert!(n_bytes <= 12 * entries.len(), "{n_bytes}");
    }

    proptest! {
        #[test]
        fn whatever_is_packed_comes_back(
            rows in prop::collection::vec((any::<i32>(), 0_u64..1 << 40, any::<i64>(), 0_u8..6, "[a-c]?"), 1..128),
            unit in prop::sample::select(vec![1_i64, 1_000, 1_000_000, 7]),
        ) {
            let mut entries: Vec<Entry> = rows
                .into_iter()
                .map(|(at, sequence, units, scale, cell)| {
                    let cell = if cell.is_empty() { Held::Missing } else { Held::Text(cell.into()) };
                    let amount = Decimal::of_units(units, scale);
                    Entry { micros: i64::from(at) * unit, sequence: Sequence(sequence), amount, cells: [cell].into() }
                })
                .collect();
            entries.sort_by_key(Entry::place);
            check(&entries);
        }
    }
}
