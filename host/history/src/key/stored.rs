//! Keys at rest.

use tollgate_model::decimal::Decimal;

use super::writer::KeyWriter;
use super::{KeyPart, is_number};

/// So many bytes of a key are kept in place.
pub(super) const INLINE_BYTES: usize = 22;

/// The bytes of a key, kept: in place when they are few, as most are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoredKey {
    /// The first so many of these; the others are zero.
    Inline(u8, [u8; INLINE_BYTES]),
    /// All of them.
    Heap(Box<[u8]>),
}

impl StoredKey {
    /// A copy of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut inline = [0; INLINE_BYTES];
        match (inline.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(place), Ok(length)) => {
                place.copy_from_slice(bytes);
                StoredKey::Inline(length, inline)
            }
            _ => StoredKey::Heap(bytes.into()),
        }
    }

    /// The bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            StoredKey::Inline(length, bytes) => bytes.get(..usize::from(*length)).unwrap_or(bytes),
            StoredKey::Heap(bytes) => bytes,
        }
    }

    /// Whether it is what was written.
    #[inline]
    pub(super) fn is(&self, written: &KeyWriter) -> bool {
        match (self, written.padded()) {
            (StoredKey::Inline(length, bytes), Some((n_bytes, padded))) => {
                *length == n_bytes && bytes == padded
            }
            (StoredKey::Heap(bytes), None) => **bytes == *written.all(),
            (StoredKey::Inline(..), None) | (StoredKey::Heap(_), Some(_)) => false,
        }
    }

    /// What it takes beside its place.
    pub(crate) const fn n_heap_bytes(&self) -> usize {
        match self {
            StoredKey::Inline(..) => 0,
            StoredKey::Heap(bytes) => bytes.len(),
        }
    }
}

/// A key that leaves its series, and can be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExportKey(StoredKey);

impl ExportKey {
    pub(crate) const fn of(key: StoredKey) -> Self {
        Self(key)
    }

    /// To be written down; [`ExportKey::from_bytes`] reads them.
    pub(crate) fn to_bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    /// `None` when the bytes are those of no key.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (part, after) = KeyPart::first(rest)?;
            let is_sound = match part {
                KeyPart::Number(number) => number.is_sound(),
                KeyPart::Long(digits) => is_long(digits),
                KeyPart::Text(text) => std::str::from_utf8(text).is_ok_and(|text| !is_number(text)),
                KeyPart::Spelled(text) => std::str::from_utf8(text).is_ok_and(is_number),
            };
            if !is_sound {
                return None;
            }
            rest = after;
        }
        Some(Self(StoredKey::of(bytes)))
    }

    /// What a series keeps of it.
    pub(crate) const fn kept(&self) -> &StoredKey {
        &self.0
    }
}

/// Whether these are the digits of a number as its key has them.
fn is_long(digits: &[u8]) -> bool {
    let number = std::str::from_utf8(digits).ok().and_then(Decimal::from_plain);
    number.is_some_and(|number| !number.is_short() && number.to_string().as_bytes() == digits)
}

const _: () = assert!(size_of::<StoredKey>() == 24, "a key has the size of three words");
