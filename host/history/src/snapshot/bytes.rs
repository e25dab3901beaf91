//! Numbers and texts as bytes; small numbers take few bytes.
//!
//! Reading trusts nothing: every length is checked against the bytes that remain, and `None` means invalid bytes. A
//! serialisation crate could not read the files of earlier versions.

/// Bits of a number per byte; the highest bit of a byte means that another follows.
const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;

/// Writes a number, seven bits per byte, lowest first.
pub(crate) fn put_number(bytes: &mut Vec<u8>, number: u64) {
    let mut rest = number;
    while rest >= u64::from(MORE) {
        bytes.push(rest.to_le_bytes()[0] | MORE);
        rest >>= BITS;
    }
    bytes.push(rest.to_le_bytes()[0]);
}

/// Writes a signed number; numbers near zero are short.
pub(crate) fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put_number(bytes, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

/// Writes the number of bytes, then the bytes.
pub(crate) fn put_bytes(bytes: &mut Vec<u8>, block: &[u8]) {
    put_number(bytes, block.len() as u64);
    bytes.extend_from_slice(block);
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteReader<'a>(pub(crate) &'a [u8]);

impl<'a> ByteReader<'a> {
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first < MORE {
            return Some(u64::from(first));
        }
        let mut number = u64::from(first & !MORE);
        let mut shift = BITS;
        loop {
            let byte = self.byte()?;
            let bits = u64::from(byte & !MORE);
            if shift >= u64::BITS || (bits << shift) >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte < MORE {
                return Some(number);
            }
            shift += BITS;
        }
    }

    pub(crate) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// Reads the count of items that follow, each of which takes at least one byte.
    pub(super) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.len()).then_some(count)
    }

    /// Reads bytes that [`put_bytes`] wrote.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_too_long_to_be_one_is_refused() {
        for bytes in [
            &[0xff_u8; 10][..],
            &[0x80; 11],
            &[0x80],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
        ] {
            assert_eq!(ByteReader(bytes).number(), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn written_values_are_read_back(number in any::<u64>(), shift in 0_u32..64, signed in any::<i64>(), text in ".{0,9}") {
            let (number, signed) = (number >> shift, signed >> shift);
            let mut written = Vec::new();
            put_number(&mut written, number);
            put_signed(&mut written, signed);
            put_bytes(&mut written, text.as_bytes());
            let mut bytes = ByteReader(&written);
            prop_assert_eq!(bytes.number(), Some(number));
            prop_assert_eq!(bytes.signed(), Some(signed));
            prop_assert_eq!(bytes.text(), Some(&*text));
            prop_assert!(bytes.is_empty());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..24)) {
            let mut left = ByteReader(&bytes);
            while left.signed().and(left.bytes()).is_some() {}
        }
    }
}
