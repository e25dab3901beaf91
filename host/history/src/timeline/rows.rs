//! The entries of a run as bytes: rows of equal width, in order, with each number relative to a base.
//!
//! ```text
//!  head, 48 bytes ─ row ─ row ─ … ─ 7 bytes of padding        row: time ─ sequence number ─ amount ─ a code per column
//! ```
//!
//! A number takes as many bytes as the largest of its kind in the run needs. A row is therefore found by index, and an
//! edge of a window by bisection. An entry added at the end is appended. An entry that does not fit the widths causes a
//! rewrite of the rows, a few times in the life of a run. Amounts are whole numbers of units of one scale, or are
//! written in full where that is impossible.

mod head;

use smallvec::SmallVec;
use tollgate_model::decimal::Decimal;
use tollgate_model::sequence::Sequence;

use super::{Entry, EntryPosition};

use head::{EXACT_BYTES, HEAD_BYTES, RowNumbers, RowsHead};

/// Padding, because a number is read as a full word.
const PAD_BYTES: usize = 7;
/// Maximum width of amounts whose sum is kept; wider ones could overflow it.
const SUMMED_BYTES_MAX: u8 = 7;
/// Maximum number of rows for which an edge of a window is searched from the end.
const SHORT_ROWS_MAX: usize = 32;

/// A view of encoded rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'b> {
    head: RowsHead,
    bytes: &'b [u8],
}

/// One entry with codes in place of its cells.
#[derive(Debug, Clone)]
pub(super) struct EncodedRow {
    pub(super) micros: i64,
    pub(super) sequence: Sequence,
    pub(super) amount: Decimal,
    pub(super) codes: SmallVec<[u8; 8]>,
}

impl<'b> Rows<'b> {
    /// Reads rows from bytes; ignores what follows them.
    #[inline]
    pub(crate) fn of(bytes: &'b [u8]) -> Self {
        match bytes.split_first_chunk() {
            Some((head, bytes)) => Self { head: RowsHead::read(head), bytes },
            None => Self { head: RowsHead::default(), bytes: &[] },
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.head.n_rows)
    }

    /// Returns the rows as bytes, which [`Rows::of`] reads.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![0; HEAD_BYTES];
        bytes.extend_from_slice(self.bytes.get(..self.n_bytes() - HEAD_BYTES).unwrap_or(self.bytes));
        self.head.write(&mut bytes);
        bytes
    }

    pub(super) fn n_bytes(&self) -> usize {
        HEAD_BYTES + self.len() * self.head.stride() + PAD_BYTES
    }

    pub(super) fn n_columns(&self) -> usize {
        usize::from(self.head.n_columns)
    }

    #[inline]
    pub(super) fn micros(&self, position: usize) -> i64 {
        let above = self.number(position, 0, self.head.micros_width);
        self.head.micros.wrapping_add(above.wrapping_mul(self.head.unit()).cast_signed())
    }

    #[inline]
    pub(super) fn sequence(&self, position: usize) -> Sequence {
        let above = self.number(position, usize::from(self.head.micros_width), self.head.sequence_width);
        Sequence(self.head.sequence.wrapping_add(above))
    }

    pub(super) fn place(&self, position: usize) -> EntryPosition {
        (self.micros(position), self.sequence(position))
    }

    pub(super) const fn sequence_min(&self) -> Sequence {
        Sequence(self.head.sequence)
    }

    pub(crate) const fn sequence_max(&self) -> Sequence {
        Sequence(self.head.sequence.wrapping_add(self.head.above))
    }

    /// Returns the event times of the first and the last row; `None` when there is none.
    #[inline]
    pub(super) fn times(&self) -> Option<(i64, i64)> {
        // Times are stored relative to the first.
        Some((self.head.micros, self.micros(self.len().checked_sub(1)?)))
    }

    /// Returns the places of the first and the last row; `None` when there is none.
    #[inline]
    pub(crate) fn ends(&self) -> Option<(EntryPosition, EntryPosition)> {
        Some((self.place(0), self.place(self.len().checked_sub(1)?)))
    }

    pub(super) fn amount(&self, position: usize) -> Decimal {
        match self.scale() {
            Some(scale) => Decimal::of_units(self.units(position), scale),
            None => self.exact_amount(position).unwrap_or(Decimal::ZERO),
        }
    }

    /// Returns the number of decimal places of the units of amounts; `None` when amounts are written in full.
    pub(super) const fn scale(&self) -> Option<u8> {
        if self.head.amount_width == EXACT_BYTES { None } else { Some(self.head.scale) }
    }

    /// Returns an amount in units, where there are units.
    #[inline]
    pub(super) fn units(&self, position: usize) -> i64 {
        self.head.units.wrapping_add(self.amount_above(position))
    }

    #[inline]
    fn amount_above(&self, position: usize) -> i64 {
        let width = self.head.amount_width;
        if width == 0 || width == EXACT_BYTES {
            return 0;
        }
        let unused = 64 - 8 * u32::from(width.min(8));
        let above = self.number(position, self.head.amount_at(), width) << unused;
        above.cast_signed() >> unused
    }

    /// Returns the sum of some amounts in units, where there are units.
    #[inline]
    pub(super) fn total_units(&self, positions: std::ops::Range<usize>) -> i128 {
        if self.head.amount_width > SUMMED_BYTES_MAX {
            return positions.map(|position| i128::from(self.units(position))).sum();
        }
        let n_rows = positions.len();
        let above = if 2 * n_rows <= self.len() {
            self.total_above(positions)
        } else {
            // Fewer rows are left out than taken.
            self.head.sum - self.total_above(0..positions.start) - self.total_above(positions.end..self.len())
        };
        i128::from(self.head.units) * n_rows as i128 + i128::from(above)
    }

    /// Returns the sum of some amounts relative to the base. It cannot overflow: fewer than 256 numbers of seven bytes
    /// fit eight.
    #[inline]
    fn total_above(&self, positions: std::ops::Range<usize>) -> i64 {
        positions.map(|position| self.amount_above(position)).fold(0, i64::wrapping_add)
    }

    /// Returns the number of rows from a time on, and the sum of their amounts in units, in one pass from the end.
    /// Returns `None` where there are too many rows or the amounts are too wide.
    #[expect(clippy::inline_always, reason = "a twentieth of the time of a query")]
    #[inline(always)]
    pub(super) fn total_since(&self, from: i64) -> Option<(u64, i128)> {
        let n_rows = self.len();
        if n_rows > SHORT_ROWS_MAX || self.head.amount_width > SUMMED_BYTES_MAX {
            return None;
        }
        let (mut position, mut above) = (n_rows, 0_i64);
        while let Some(before) = position.checked_sub(1)
            && self.micros(before) >= from
        {
            above = above.wrapping_add(self.amount_above(before));
            position = before;
        }
        let n_since = n_rows - position;
        Some((n_since as u64, i128::from(self.head.units) * n_since as i128 + i128::from(above)))
    }

    /// Returns how many of some rows have this number or a higher one, usually few, and the sum of their amounts in
    /// units.
    #[inline]
    pub(super) fn total_from(&self, positions: std::ops::Range<usize>, as_of: Sequence) -> (u64, i128) {
        let above = as_of.0.saturating_sub(self.head.sequence);
        let (mut n_rows, mut units) = (0, 0);
        for position in positions {
            let at = usize::from(self.head.micros_width);
            if self.number(position, at, self.head.sequence_width) >= above {
                n_rows += 1;
                units += i128::from(self.units(position));
            }
        }
        (n_rows, units)
    }

    pub(super) fn code(&self, position: usize, column: usize) -> u8 {
        let at = position * self.head.stride() + self.head.codes_at() + column;
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// Returns the number of leading rows for which `is_before` holds.
    #[inline]
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

    pub(super) fn row(&self, position: usize) -> EncodedRow {
        EncodedRow {
            micros: self.micros(position),
            sequence: self.sequence(position),
            amount: self.amount(position),
            codes: (0..self.n_columns()).map(|column| self.code(position, column)).collect(),
        }
    }

    /// Returns whether the row at this index precedes another.
    #[inline]
    fn is_before(&self, position: usize, row: &EncodedRow) -> bool {
        let micros = self.micros(position);
        micros < row.micros || (micros == row.micros && self.sequence(position) < row.sequence)
    }

    /// Rewrites all rows under a head with larger widths, with capacity for one more row.
    fn rewritten(&self, wider: &RowsHead) -> Vec<u8> {
        let n_bytes = HEAD_BYTES + self.len() * wider.stride() + PAD_BYTES;
        let mut bytes = Vec::with_capacity(roomy(n_bytes + wider.stride()));
        bytes.resize(n_bytes, 0);
        for position in 0..self.len() {
            let numbers = RowNumbers {
                micros: self.number(position, 0, self.head.micros_width),
                sequence: self.number(
                    position,
                    usize::from(self.head.micros_width),
                    self.head.sequence_width,
                ),
                amount: self.amount_above(position),
            };
            let from = position * self.head.stride() + self.head.codes_at();
            let codes = self.bytes.get(from..from + self.n_columns()).unwrap_or_default();
            let exact = if self.scale().is_none() { self.amount(position) } else { Decimal::ZERO };
            wider.put_last(&mut bytes, HEAD_BYTES + position * wider.stride(), exact, &numbers, codes);
        }
        bytes
    }

    fn exact_amount(&self, position: usize) -> Option<Decimal> {
        let at = position * self.head.stride() + self.head.amount_at();
        let (mantissa, rest) = self.bytes.get(at..)?.split_first_chunk()?;
        Decimal::of_parts(i128::from_le_bytes(*mantissa), *rest.first()?)
    }

    #[inline]
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

/// Inserts a row. No row has its place yet, and all have the same number of codes.
pub(super) fn insert(bytes: &mut Vec<u8>, row: &EncodedRow) {
    let rows = Rows::of(bytes);
    let (n_rows, mut head) = (rows.len(), rows.head);
    if n_rows == 0 {
        return write(bytes, std::slice::from_ref(row));
    }
    let is_last = rows.is_before(n_rows - 1, row);
    let position = if is_last { n_rows } else { rows.partition_point(|at| rows.is_before(at, row)) };
    let Some(numbers) = head.measure(row) else {
        let mut all: Vec<EncodedRow> = (0..n_rows).map(|at| rows.row(at)).collect();
        all.insert(position, row.clone());
        return write(bytes, &all);
    };
    if !head.fits(&numbers) {
        head = head.widened_for(&numbers);
        *bytes = rows.rewritten(&head);
    }
    let (stride, end) = (head.stride(), HEAD_BYTES + n_rows * head.stride() + PAD_BYTES);
    head.count(&numbers);
    if end + stride > bytes.capacity() {
        bytes.reserve_exact(roomy(end + stride) - bytes.len());
    }
    bytes.resize(end + stride, 0);
    let at = HEAD_BYTES + position * stride;
    if is_last {
        head.put_last(bytes, at, row.amount, &numbers, &row.codes);
    } else {
        bytes.copy_within(at..end - PAD_BYTES, at + stride);
        head.put(bytes, at, row.amount, &numbers, &row.codes);
    }
    head.write(bytes);
}

/// Replaces the contents by rows, which are in order.
pub(super) fn write(bytes: &mut Vec<u8>, rows: &[EncodedRow]) {
    let mut head = RowsHead::fitting(rows);
    let stride = head.stride();
    let n_bytes = HEAD_BYTES + rows.len() * stride + PAD_BYTES;
    bytes.clear();
    if n_bytes > bytes.capacity() {
        bytes.reserve_exact(roomy(n_bytes));
    }
    bytes.resize(n_bytes, 0);
    for (position, row) in rows.iter().enumerate() {
        // Never fails: the widths are those of these rows.
        let Some(numbers) = head.measure(row) else { continue };
        head.count(&numbers);
        head.put_last(bytes, HEAD_BYTES + position * stride, row.amount, &numbers, &row.codes);
    }
    head.write(bytes);
}

/// Returns the size to allocate for these bytes and some more: a multiple of 16, plus 8.
const fn roomy(n_bytes: usize) -> usize {
    let more = if n_bytes < 192 { 48 } else { n_bytes / 4 };
    (n_bytes + more).next_multiple_of(16) + 8
}

impl EncodedRow {
    pub(super) fn of(entry: &Entry, codes: SmallVec<[u8; 8]>) -> Self {
        Self { micros: entry.micros, sequence: entry.sequence, amount: entry.amount, codes }
    }
}

#[cfg(test)]
mod tests;
