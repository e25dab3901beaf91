//! Whole numbers of few bits, side by side.

/// Rows of numbers without a gap between them.
#[derive(Debug, Default)]
pub(super) struct BitsWriter {
    words: Vec<u64>,
    n_bits: usize,
}

/// How many bits a number needs.
pub(super) const fn width_of(number: u64) -> u8 {
    // At most 64.
    (u64::BITS - number.leading_zeros()) as u8
}

impl BitsWriter {
    /// Adds a number of at most `width` bits.
    pub(super) fn push(&mut self, number: u64, width: u8) {
        if width == 0 {
            return;
        }
        let shift = self.n_bits % 64;
        if shift == 0 {
            self.words.push(number);
        } else {
            if let Some(last) = self.words.last_mut() {
                *last |= number << shift;
            }
            if shift + usize::from(width) > 64 {
                self.words.push(number >> (64 - shift));
            }
        }
        self.n_bits += usize::from(width);
    }

    /// How many bits were added.
    pub(super) const fn len(&self) -> usize {
        self.n_bits
    }

    pub(super) fn finish(self) -> Box<[u64]> {
        self.words.into()
    }
}

/// The number of `width` bits that begins at a bit.
pub(super) fn read(words: &[u64], at: usize, width: u8) -> u64 {
    if width == 0 {
        return 0;
    }
    let (word, shift) = (at / 64, at % 64);
    let mut number = words.get(word).copied().unwrap_or(0) >> shift;
    if shift + usize::from(width) > 64 {
        number |= words.get(word + 1).copied().unwrap_or(0) << (64 - shift);
    }
    if width == 64 { number } else { number & ((1 << width) - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_come_back() {
        for width in 0..=64_u8 {
            let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            let numbers: Vec<u64> =
                (0..200_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).chain([0, mask]).collect();
            let mut writer = BitsWriter::default();
            numbers.iter().for_each(|number| writer.push(*number, width));
            assert_eq!(writer.len(), numbers.len() * usize::from(width));
            let words = writer.finish();
            assert_eq!(words.len(), (numbers.len() * usize::from(width)).div_ceil(64));
            for (n, number) in numbers.iter().enumerate() {
                assert_eq!(read(&words, n * usize::from(width), width), *number, "{width} bits");
                assert_eq!(width_of(*number).max(width), width);
            }
        }
    }
}
