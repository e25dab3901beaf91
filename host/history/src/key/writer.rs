//! The buffer in which a key is written.

use super::INLINE_BYTES;

/// Maximum number of bytes written inline.
const SHORT_BYTES_MAX: usize = 64;

/// A growing byte string, usually short.
#[derive(Debug)]
pub(super) struct KeyWriter {
    /// INVARIANT: zero from `n_bytes` on, as long as all bytes fit.
    short: [u8; SHORT_BYTES_MAX],
    n_bytes: usize,
    /// All bytes, when they do not fit inline.
    long: Vec<u8>,
}

impl Default for KeyWriter {
    #[inline]
    fn default() -> Self {
        Self { short: [0; SHORT_BYTES_MAX], n_bytes: 0, long: Vec::new() }
    }
}

impl KeyWriter {
    #[inline]
    pub(super) fn clear(&mut self) {
        self.short = [0; SHORT_BYTES_MAX];
        self.n_bytes = 0;
        self.long.clear();
    }

    #[inline]
    pub(super) fn all(&self) -> &[u8] {
        self.short.get(..self.n_bytes).unwrap_or(&self.long)
    }

    /// Returns the length and the bytes padded with zeros, when they fit a key stored inline.
    #[inline]
    pub(super) fn padded(&self) -> Option<(u8, &[u8; INLINE_BYTES])> {
        let first = self.short.first_chunk()?;
        let n_bytes = u8::try_from(self.n_bytes).ok()?;
        (self.n_bytes <= INLINE_BYTES).then_some((n_bytes, first))
    }

    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        match self.short.get_mut(self.n_bytes) {
            Some(place) => *place = byte,
            None => self.extend_long(&[byte]),
        }
        self.n_bytes += 1;
    }

    #[inline]
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        let end = self.n_bytes + bytes.len();
        match self.short.get_mut(self.n_bytes..end) {
            Some(place) => copy_few(place, bytes),
            None => self.extend_long(bytes),
        }
        self.n_bytes = end;
    }

    #[cold]
    fn extend_long(&mut self, bytes: &[u8]) {
        if self.long.is_empty() {
            self.long.extend_from_slice(self.short.get(..self.n_bytes).unwrap_or_default());
        }
        self.long.extend_from_slice(bytes);
    }
}

/// Copies between slices of equal length. From 4 to 16 bytes, it copies two words that may overlap, which is faster
/// than a call.
#[inline]
fn copy_few(to: &mut [u8], from: &[u8]) {
    match from.len() {
        8..=16 => copy_ends::<8>(to, from),
        4..8 => copy_ends::<4>(to, from),
        0..4 => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
        _ => to.copy_from_slice(from),
    }
}

#[inline]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk()) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_number_are_those_that_were_added() {
        for n_first in 0..80 {
            for n_more in 0..80 {
                let bytes: Vec<u8> = (1..=255).cycle().take(n_first + n_more + 1).collect();
                let mut writing = KeyWriter::default();
                writing.extend(&bytes[..n_first]);
                writing.push(bytes[n_first]);
                writing.extend(&bytes[n_first + 1..]);
                assert_eq!(writing.all(), bytes);
                let padded =
                    writing.padded().map(|(n_bytes, first)| first.get(..usize::from(n_bytes)).unwrap());
                assert_eq!(padded, (bytes.len() <= INLINE_BYTES).then_some(bytes.as_slice()));
            }
        }
    }
}
