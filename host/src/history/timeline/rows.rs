//! The entries of one run in bytes: rows of one width, in order, each number above the smallest of its kind.
//!
//! ```text
//!  head, 48 bytes ─ row ─ row ─ … ─ 7 bytes of nothing        row: time ─ sequence number ─ amount ─ a code per column
//! ```
//!
//! A number takes as many bytes as the widest of its kind in the run. So a row is found by its position, an edge of a
//! window by bisection, and an entry added at the end is written at the end; one that does not fit the widths makes the
//! rows be written anew, a few times in the life of a run. Amounts are whole numbers of units of one scale; where that
//! cannot be, they are written out.

use smallvec::SmallVec;

use super::{Entry, Place};
use crate::decimal::Decimal;
use crate::sequence::Sequence;

/// What stands before the rows.
const HEAD_BYTES: usize = 48;
/// A number is read with the bytes behind it.
const PAD_BYTES: usize = 7;
/// The width of an amount that is written out: its digits, its scale.
const EXACT_BYTES: u8 = 17;
/// Up to this width of amounts their sum is kept, which fits then.
const SUMMED_BYTES_MAX: u8 = 7;
/// Units event times often are multiples of, in microseconds.
const UNITS: [u64; 3] = [1, 1_000, 1_000_000];

/// Rows, to look at.
#[derive(Debug, Clone, Copy)]
pub(in crate::history) struct Rows<'b> {
    head: Head,
    /// Behind the head.
    bytes: &'b [u8],
}

/// One entry, its cells replaced by their codes.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) micros: i64,
    pub(super) sequence: Sequence,
    pub(super) amount: Decimal,
    pub(super) codes: SmallVec<[u8; 8]>,
}

/// What all rows have in common.
#[derive(Debug, Clone, Copy, Default)]
struct Head {
    n_rows: u8,
    micros_width: u8,
    sequence_width: u8,
    amount_width: u8,
    n_columns: u16,
    /// Times are multiples of this of [`UNITS`] above the first.
    unit: u8,
    scale: u8,
    /// The first.
    micros: i64,
    /// The lowest.
    sequence: u64,
    /// Any amount: the others are more or less than it.
    units: i64,
    /// Of what the amounts are more or less, when they are no wider than [`SUMMED_BYTES_MAX`].
    sum: i64,
    /// How far the highest sequence number is above the lowest.
    above: u64,
}

impl<'b> Rows<'b> {
    /// Of their bytes; what follows them is left alone.
    pub(in crate::history) fn of(bytes: &'b [u8]) -> Self {
        match bytes.split_first_chunk() {
            Some((head, bytes)) => Self { head: Head::read(head), bytes },
            None => Self { head: Head::default(), bytes: &[] },
        }
    }

    pub(in crate::history) fn len(&self) -> usize {
        usize::from(self.head.n_rows)
    }

    /// How many bytes they are.
    pub(super) fn n_bytes(&self) -> usize {
        HEAD_BYTES + self.len() * self.head.stride() + PAD_BYTES
    }

    pub(super) fn n_columns(&self) -> usize {
        usize::from(self.head.n_columns)
    }

    pub(super) fn micros(&self, position: usize) -> i64 {
        let above = self.number(position, 0, self.head.micros_width);
        self.head.micros.wrapping_add(above.wrapping_mul(self.head.unit()).cast_signed())
    }

    pub(super) fn sequence(&self, position: usize) -> Sequence {
        let above = self.number(position, usize::from(self.head.micros_width), self.head.sequence_width);
        Sequence(self.head.sequence.wrapping_add(above))
    }

    pub(super) fn place(&self, position: usize) -> Place {
        (self.micros(position), self.sequence(position))
    }

    pub(super) const fn sequence_min(&self) -> Sequence {
        Sequence(self.head.sequence)
    }

    pub(super) const fn sequence_max(&self) -> Sequence {
        Sequence(self.head.sequence.wrapping_add(self.head.above))
    }

    /// The place of the first and of the last; `None` when there is none.
    pub(super) fn ends(&self) -> Option<(Place, Place)> {
        Some((self.place(0), self.place(self.len().checked_sub(1)?)))
    }

    pub(super) fn amount(&self, position: usize) -> Decimal {
        match self.scale() {
            Some(scale) => Decimal::of_units(self.units(position), scale),
            None => self.exact_amount(position).unwrap_or(Decimal::ZERO),
        }
    }

    /// How many digits behind the point the units of amounts have; `None` when amounts are written out.
    pub(super) const fn scale(&self) -> Option<u8> {
        if self.head.amount_width == EXACT_BYTES { None } else { Some(self.head.scale) }
    }

    /// An amount in units, when there are units.
    pub(super) fn units(&self, position: usize) -> i64 {
        let width = self.head.amount_width;
        if width == 0 {
            return self.head.units;
        }
        let unused = 64 - 8 * u32::from(width.min(8));
        let above = self.number(position, self.head.amount_at(), width) << unused;
        self.head.units.wrapping_add(above.cast_signed() >> unused)
    }

    /// The sum of some amounts, in units, when there are units.
    pub(super) fn total_units(&self, positions: std::ops::Range<usize>) -> i128 {
        if positions.len() == self.len() && self.head.amount_width <= SUMMED_BYTES_MAX {
            return i128::from(self.head.units) * i128::from(self.head.n_rows) + i128::from(self.head.sum);
        }
        positions.map(|position| i128::from(self.units(position))).sum()
    }

    /// Which of the values of a column.
    pub(super) fn code(&self, position: usize, column: usize) -> u8 {
        let at = position * self.head.stride() + self.head.codes_at() + column;
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// How many rows, from the first on, are so.
    pub(super) fn partition_point(&self, is_before: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if is_before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    pub(super) fn row(&self, position: usize) -> Row {
        Row {
            micros: self.micros(position),
            sequence: self.sequence(position),
            amount: self.amount(position),
            codes: (0..self.n_columns()).map(|column| self.code(position, column)).collect(),
        }
    }

    fn exact_amount(&self, position: usize) -> Option<Decimal> {
        let at = position * self.head.stride() + self.head.amount_at();
        let (mantissa, rest) = self.bytes.get(at..)?.split_first_chunk()?;
        Decimal::of_parts(i128::from_le_bytes(*mantissa), *rest.first()?)
    }

    fn number(&self, position: usize, at: usize, width: u8) -> u64 {
        if width == 0 {
            return 0;
        }
        let at = position * self.head.stride() + at;
        let word = self.bytes.get(at..at + 8).and_then(|bytes| bytes.first_chunk());
        let unused = 64 - 8 * u32::from(width);
        word.map_or(0, |word| u64::from_le_bytes(*word) << unused >> unused)
    }
}

/// Puts a row at its place. No row has the place yet, and all have as many codes.
pub(super) fn insert(bytes: &mut Vec<u8>, row: &Row) {
    let rows = Rows::of(bytes);
    let (n_rows, mut head) = (rows.len(), rows.head);
    let place = (row.micros, row.sequence);
    let is_last = n_rows == 0 || rows.place(n_rows - 1) < place;
    let position = if is_last { n_rows } else { rows.partition_point(|at| rows.place(at) < place) };
    let numbers = if n_rows == 0 { None } else { head.fit(row) };
    let Some(numbers) = numbers else {
        let mut all: Vec<Row> = (0..n_rows).map(|at| rows.row(at)).collect();
        all.insert(position, row.clone());
        write(bytes, &all);
        return;
    };
    let (stride, end) = (head.stride(), rows.n_bytes());
    head.count(row, &numbers);
    if end + stride > bytes.capacity() {
        bytes.reserve_exact(roomy(end + stride) - bytes.len());
    }
    bytes.resize(end + stride, 0);
    let at = HEAD_BYTES + position * stride;
    if at + stride < end {
        bytes.copy_within(at..end - PAD_BYTES, at + stride);
    }
    head.put(bytes, at, row, &numbers);
    head.write(bytes);
}

/// Writes rows, which are in order, in place of what was there.
pub(super) fn write(bytes: &mut Vec<u8>, rows: &[Row]) {
    let mut head = Head::fitting(rows);
    let stride = head.stride();
    let n_bytes = HEAD_BYTES + rows.len() * stride + PAD_BYTES;
    bytes.clear();
    if n_bytes > bytes.capacity() {
        bytes.reserve_exact(roomy(n_bytes));
    }
    bytes.resize(n_bytes, 0);
    for (position, row) in rows.iter().enumerate() {
        // Fits: the widths are those of these rows.
        let Some(numbers) = head.fit(row) else { continue };
        head.count(row, &numbers);
        head.put(bytes, HEAD_BYTES + position * stride, row, &numbers);
    }
    head.write(bytes);
}

/// A size of allocation for so many bytes, and some more: a whole one of the allocator's.
const fn roomy(n_bytes: usize) -> usize {
    let more = if n_bytes < 192 { 24 } else { n_bytes / 8 };
    (n_bytes + more).next_multiple_of(16) + 8
}

/// What is written of a row.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    micros: u64,
    sequence: u64,
    amount: i64,
}

impl Head {
    /// With the widths that these rows need.
    fn fitting(rows: &[Row]) -> Self {
        let micros = rows.first().map_or(0, |row| row.micros);
        let since = |row: &Row| row.micros.wrapping_sub(micros).cast_unsigned();
        let is_unit = |unit: u64| rows.iter().all(|row| since(row).is_multiple_of(unit));
        let unit = UNITS.into_iter().rposition(is_unit).unwrap_or(0);
        let sequence = rows.iter().map(|row| row.sequence.0).min().unwrap_or(0);
        let above = rows.iter().map(|row| row.sequence.0 - sequence).max().unwrap_or(0);
        let since_max = rows.iter().map(since).max().unwrap_or(0);
        let scale = rows.iter().map(|row| row.amount.scale()).max().unwrap_or(0);
        let first = rows.first().and_then(|row| row.amount.units(scale));
        let amount_width = first.and_then(|first| {
            let width = |row: &Row| Some(signed_width(row.amount.units(scale)?.checked_sub(first)?));
            rows.iter().map(width).try_fold(0, |widest, width| Some(width?.max(widest)))
        });
        let micros_width = width_of(since_max / UNITS.get(unit).unwrap_or(&1));
        let n_columns = rows.first().map_or(0, |row| row.codes.len());
        Self {
            n_rows: 0,
            micros_width,
            sequence_width: width_of(above),
            amount_width: amount_width.unwrap_or(EXACT_BYTES),
            n_columns: u16::try_from(n_columns).unwrap_or(u16::MAX),
            #[expect(clippy::cast_possible_truncation, reason = "there are three")]
            unit: unit as u8,
            scale,
            micros,
            sequence,
            units: first.unwrap_or(0),
            sum: 0,
            above: 0,
        }
    }

    /// What is written of a row; `None` when it takes other widths.
    fn fit(&self, row: &Row) -> Option<Numbers> {
        let since = row.micros.wrapping_sub(self.micros).cast_unsigned();
        let unit = self.unit();
        if row.micros < self.micros || !since.is_multiple_of(unit) {
            return None;
        }
        let (micros, sequence) = (since / unit, row.sequence.0.checked_sub(self.sequence)?);
        let amount = match self.amount_width {
            EXACT_BYTES => 0,
            _ => row.amount.units(self.scale)?.checked_sub(self.units)?,
        };
        let fits = width_of(micros) <= self.micros_width
            && width_of(sequence) <= self.sequence_width
            && signed_width(amount) <= self.amount_width;
        fits.then_some(Numbers { micros, sequence, amount })
    }

    /// With one row more.
    fn count(&mut self, _row: &Row, numbers: &Numbers) {
        self.n_rows += 1;
        self.above = self.above.max(numbers.sequence);
        self.sum = self.sum.wrapping_add(numbers.amount);
    }

    fn put(&self, bytes: &mut [u8], at: usize, row: &Row, numbers: &Numbers) {
        let mut at = at;
        let mut put = |number: &[u8]| {
            if let Some(place) = bytes.get_mut(at..at + number.len()) {
                place.copy_from_slice(number);
            }
            at += number.len();
        };
        let low = |width: u8| ..usize::from(width);
        put(numbers.micros.to_le_bytes().get(low(self.micros_width)).unwrap_or_default());
        put(numbers.sequence.to_le_bytes().get(low(self.sequence_width)).unwrap_or_default());
        if self.amount_width == EXACT_BYTES {
            put(&row.amount.mantissa().to_le_bytes());
            put(&[row.amount.scale()]);
        } else {
            put(numbers.amount.to_le_bytes().get(low(self.amount_width)).unwrap_or_default());
        }
        put(&row.codes);
    }

    fn unit(&self) -> u64 {
        UNITS.get(usize::from(self.unit)).copied().unwrap_or(1)
    }

    fn amount_at(&self) -> usize {
        usize::from(self.micros_width) + usize::from(self.sequence_width)
    }

    fn codes_at(&self) -> usize {
        self.amount_at() + usize::from(self.amount_width)
    }

    fn stride(&self) -> usize {
        self.codes_at() + usize::from(self.n_columns)
    }

    fn read(bytes: &[u8; HEAD_BYTES]) -> Self {
        let [n_rows, micros_width, sequence_width, amount_width, n_low, n_high, unit, scale, rest @ ..] =
            bytes;
        let (words, _) = rest.as_chunks();
        let word = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
        Self {
            n_rows: *n_rows,
            micros_width: (*micros_width).min(8),
            sequence_width: (*sequence_width).min(8),
            amount_width: *amount_width,
            n_columns: u16::from_le_bytes([*n_low, *n_high]),
            unit: *unit,
            scale: *scale,
            micros: word(0).cast_signed(),
            sequence: word(1),
            units: word(2).cast_signed(),
            sum: word(3).cast_signed(),
            above: word(4),
        }
    }

    fn write(&self, bytes: &mut [u8]) {
        let [n_low, n_high] = self.n_columns.to_le_bytes();
        let small = [
            self.n_rows,
            self.micros_width,
            self.sequence_width,
            self.amount_width,
            n_low,
            n_high,
            self.unit,
            self.scale,
        ];
        let words = [
            u64::from_le_bytes(small),
            self.micros.cast_unsigned(),
            self.sequence,
            self.units.cast_unsigned(),
            self.sum.cast_unsigned(),
            self.above,
        ];
        for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
    }
}

impl Row {
    pub(super) fn of(entry: &Entry, codes: SmallVec<[u8; 8]>) -> Self {
        Self { micros: entry.micros, sequence: entry.sequence, amount: entry.amount, codes }
    }
}

/// How many bytes a number needs.
const fn width_of(number: u64) -> u8 {
    // At most 8.
    (u64::BITS - number.leading_zeros()).div_ceil(8) as u8
}

/// How many bytes a number with a sign needs.
const fn signed_width(number: i64) -> u8 {
    if number == 0 {
        return 0;
    }
    let magnitude = if number < 0 { !number } else { number };
    // One bit for the sign; at most 8.
    (u64::BITS - magnitude.cast_unsigned().leading_zeros() + 1).div_ceil(8) as u8
}

#[cfg(test)]
mod tests;
