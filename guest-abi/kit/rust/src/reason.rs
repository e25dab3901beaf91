//! Builds a reason text without allocation.

use crate::{set_reason, Field};

/// A sentence for an analyst, of at most `N` bytes. Longer text is cut at a character boundary.
#[derive(Debug, Clone)]
pub struct Reason<const N: usize> {
    bytes: [u8; N],
    n_bytes: usize,
}

impl<const N: usize> Reason<N> {
    /// Creates an empty reason.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: [0; N], n_bytes: 0 }
    }

    /// Appends a text.
    pub fn words(&mut self, words: &str) -> &mut Self {
        let room = N - self.n_bytes;
        let mut n_bytes = words.len().min(room);
        while !words.is_char_boundary(n_bytes) {
            n_bytes -= 1;
        }
        let end = self.n_bytes + n_bytes;
        if let (Some(to), Some(from)) =
            (self.bytes.get_mut(self.n_bytes..end), words.as_bytes().get(..n_bytes))
        {
            to.copy_from_slice(from);
            self.n_bytes = end;
        }
        self
    }

    /// Appends a whole number.
    pub fn number(&mut self, number: u32) -> &mut Self {
        let mut digits = [b'0'; 10];
        let mut rest = number;
        let mut n_digits = 0;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
            n_digits += 1;
            if rest == 0 {
                break;
            }
        }
        let digits = digits.get(digits.len() - n_digits..).unwrap_or_default();
        self.words(core::str::from_utf8(digits).unwrap_or_default())
    }

    /// Appends the text of a field; appends nothing when the field is not a text.
    pub fn field(&mut self, field: Field) -> &mut Self {
        let room = self.bytes.get_mut(self.n_bytes..).unwrap_or_default();
        if let Some(text) = field.text(room) {
            self.n_bytes += text.len();
        }
        self
    }

    /// Returns the sentence so far.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // The buffer holds only whole characters.
        self.bytes.get(..self.n_bytes).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// Sets this text as the reason of the match.
    pub fn set(&self) {
        set_reason(self.as_str());
    }
}

impl<const N: usize> Default for Reason<N> {
    fn default() -> Self {
        Self::new()
    }
}
