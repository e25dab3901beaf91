//! The head of encoded rows: widths, bases and the sum of the amounts.

use tollgate_model::decimal::Decimal;

use super::EncodedRow;

pub(super) const HEAD_BYTES: usize = 48;
/// Width of an amount written in full: its digits and its scale.
pub(super) const EXACT_BYTES: u8 = 17;
/// Units of which event times are often multiples, in microseconds.
const UNITS: [u64; 3] = [1, 1_000, 1_000_000];

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowsHead {
    pub(super) n_rows: u8,
    pub(super) micros_width: u8,
    pub(super) sequence_width: u8,
    pub(super) amount_width: u8,
    pub(super) n_columns: u16,
    /// Index into [`UNITS`]; each time is that of the first row plus a multiple of the unit.
    pub(super) unit: u8,
    pub(super) scale: u8,
    /// Event time of the first row, in microseconds since 1970 UTC.
    pub(super) micros: i64,
    pub(super) sequence: u64,
    /// Base of the amounts: that of some row; the others are relative to it.
    pub(super) units: i64,
    /// Sum of the amounts relative to the base, when they are no wider than `SUMMED_BYTES_MAX`.
    pub(super) sum: i64,
    /// Highest sequence number minus the lowest.
    pub(super) above: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct RowNumbers {
    pub(super) micros: u64,
    pub(super) sequence: u64,
    pub(super) amount: i64,
}

impl RowsHead {
    pub(super) fn fitting(rows: &[EncodedRow]) -> Self {
        let micros = rows.first().map_or(0, |row| row.micros);
        let since = |row: &EncodedRow| row.micros.wrapping_sub(micros).cast_unsigned();
        // With a single row, its own time predicts the unit of the next.
        let is_unit = |unit: u64| match rows {
            [row] => row.micros.unsigned_abs().is_multiple_of(unit),
            rows => rows.iter().all(|row| since(row).is_multiple_of(unit)),
        };
        let unit = UNITS.into_iter().rposition(is_unit).unwrap_or(0);
        let sequence = rows.iter().map(|row| row.sequence.0).min().unwrap_or(0);
        let above = rows.iter().map(|row| row.sequence.0 - sequence).max().unwrap_or(0);
        let since_max = rows.iter().map(since).max().unwrap_or(0);
        let scale = rows.iter().map(|row| row.amount.scale()).max().unwrap_or(0);
        let first = rows.first().and_then(|row| row.amount.units(scale));
        let amount_width = first.and_then(|first| {
            let width = |row: &EncodedRow| Some(signed_width(row.amount.units(scale)?.checked_sub(first)?));
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
            #[expect(clippy::cast_possible_truncation, reason = "there are three units")]
            unit: unit as u8,
            scale,
            micros,
            sequence,
            units: first.unwrap_or(0),
            sum: 0,
            above: 0,
        }
    }

    /// Returns the numbers to write for a row; `None` when larger widths alone cannot make it fit.
    #[inline]
    pub(super) fn measure(&self, row: &EncodedRow) -> Option<RowNumbers> {
        let since = row.micros.wrapping_sub(self.micros).cast_unsigned();
        if row.micros < self.micros {
            return None;
        }
        let micros = match self.unit() {
            1 => since,
            unit if since.is_multiple_of(unit) => since / unit,
            _ => return None,
        };
        let sequence = row.sequence.0.checked_sub(self.sequence)?;
        let amount = match self.amount_width {
            EXACT_BYTES => 0,
            _ => row.amount.units(self.scale)?.checked_sub(self.units)?,
        };
        Some(RowNumbers { micros, sequence, amount })
    }

    #[inline]
    pub(super) fn fits(&self, numbers: &RowNumbers) -> bool {
        is_within(numbers.micros, self.micros_width)
            && is_within(numbers.sequence, self.sequence_width)
            && (self.amount_width == EXACT_BYTES || signed_width(numbers.amount) <= self.amount_width)
    }

    /// Returns a head with widths that these numbers fit as well.
    pub(super) fn widened_for(&self, numbers: &RowNumbers) -> Self {
        Self {
            micros_width: self.micros_width.max(width_of(numbers.micros)),
            sequence_width: self.sequence_width.max(width_of(numbers.sequence)),
            amount_width: self.amount_width.max(signed_width(numbers.amount)),
            ..*self
        }
    }

    #[inline]
    pub(super) fn count(&mut self, numbers: &RowNumbers) {
        self.n_rows += 1;
        self.above = self.above.max(numbers.sequence);
        self.sum = self.sum.wrapping_add(numbers.amount);
    }

    /// Writes a row by full words. At least seven bytes must follow it, all zero.
    #[inline]
    pub(super) fn put_last(
        &self,
        bytes: &mut [u8],
        at: usize,
        amount: Decimal,
        numbers: &RowNumbers,
        codes: &[u8],
    ) {
        if self.amount_width == EXACT_BYTES {
            return self.put(bytes, at, amount, numbers, codes);
        }
        let mut put = |at: usize, number: u64, width: u8| {
            if width > 0
                && let Some(place) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut)
            {
                *place = number.to_le_bytes();
            }
        };
        put(at, numbers.micros, self.micros_width);
        put(at + usize::from(self.micros_width), numbers.sequence, self.sequence_width);
        let low = u64::MAX.checked_shr(64 - 8 * u32::from(self.amount_width)).unwrap_or(0);
        put(at + self.amount_at(), numbers.amount.cast_unsigned() & low, self.amount_width);
        if !codes.is_empty() {
            let at = at + self.codes_at();
            if let Some(place) = bytes.get_mut(at..at + codes.len()) {
                place.copy_from_slice(codes);
            }
        }
    }

    /// Writes a row and touches no other byte.
    pub(super) fn put(
        &self,
        bytes: &mut [u8],
        at: usize,
        amount: Decimal,
        numbers: &RowNumbers,
        codes: &[u8],
    ) {
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
            put(&amount.mantissa().to_le_bytes());
            put(&[amount.scale()]);
        } else {
            put(numbers.amount.to_le_bytes().get(low(self.amount_width)).unwrap_or_default());
        }
        put(codes);
    }

    #[inline]
    pub(super) fn unit(&self) -> u64 {
        UNITS.get(usize::from(self.unit)).copied().unwrap_or(1)
    }

    #[inline]
    pub(super) fn amount_at(&self) -> usize {
        usize::from(self.micros_width) + usize::from(self.sequence_width)
    }

    #[inline]
    pub(super) fn codes_at(&self) -> usize {
        self.amount_at() + usize::from(self.amount_width)
    }

    #[inline]
    pub(super) fn stride(&self) -> usize {
        self.codes_at() + usize::from(self.n_columns)
    }

    #[inline]
    pub(super) fn read(bytes: &[u8; HEAD_BYTES]) -> Self {
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

    pub(super) fn write(&self, bytes: &mut [u8]) {
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

const fn width_of(number: u64) -> u8 {
    // At most 8.
    (u64::BITS - number.leading_zeros()).div_ceil(8) as u8
}

#[inline]
const fn is_within(number: u64, width: u8) -> bool {
    match number.checked_shr(8 * width as u32) {
        Some(rest) => rest == 0,
        None => true,
    }
}

const fn signed_width(number: i64) -> u8 {
    if number == 0 {
        return 0;
    }
    let magnitude = if number < 0 { !number } else { number };
    // One bit for the sign; at most 8.
    (u64::BITS - magnitude.cast_unsigned().leading_zeros() + 1).div_ceil(8) as u8
}
