//! Stored keys.

use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::SHORT_TEXT_MAX;

use super::writer::KeyWriter;
use super::{INLINE_BYTES, KeyPart, LENGTH_BYTES, is_number};

/// The bytes of a key, inline when they are few, as most are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoredKey {
    /// Length and bytes; the bytes beyond are zero.
    Inline(u8, [u8; INLINE_BYTES]),
    Heap(Box<[u8]>),
}

impl StoredKey {
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

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            StoredKey::Inline(length, bytes) => bytes.get(..usize::from(*length)).unwrap_or(bytes),
            StoredKey::Heap(bytes) => bytes,
        }
    }

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

    pub(crate) const fn n_heap_bytes(&self) -> usize {
        match self {
            StoredKey::Inline(..) => 0,
            StoredKey::Heap(bytes) => bytes.len(),
        }
    }
}

/// A key exported from its series, which can be serialized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExportKey(StoredKey);

impl ExportKey {
    pub(crate) const fn of(key: StoredKey) -> Self {
        Self(key)
    }

    /// Returns the bytes to serialize; [`ExportKey::from_bytes`] reads them.
    pub(crate) fn to_bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    /// Returns `None` when the bytes are not a key.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (part, after) = KeyPart::first(rest)?;
            let is_sound = match part {
                KeyPart::Number(number) => number.is_sound(),
                KeyPart::Long(digits) => is_long(digits),
                KeyPart::Text(text) => std::str::from_utf8(text).is_ok_and(|text| !is_number(text)),
                KeyPart::Spelled(text) => std::str::from_utf8(text).is_ok_and(is_number),
                KeyPart::LongText(identity) => is_of_long(identity),
                KeyPart::LongSpelled(identity, number) => is_of_long(identity) && is_sound_number(number),
            };
            if !is_sound {
                return None;
            }
            rest = after;
        }
        Some(Self(StoredKey::of(bytes)))
    }

    pub(crate) const fn kept(&self) -> &StoredKey {
        &self.0
    }
}

/// Returns whether these are the length of a long text and a digest.
fn is_of_long(identity: &[u8]) -> bool {
    let length = identity.get(..LENGTH_BYTES).unwrap_or_default();
    length.iter().rev().fold(0, |length, byte| length << u8::BITS | u64::from(*byte)) > SHORT_TEXT_MAX as u64
}

fn is_sound_number(part: &[u8]) -> bool {
    match KeyPart::first(part) {
        Some((KeyPart::Number(number), [])) => number.is_sound(),
        Some((KeyPart::Long(digits), [])) => is_long(digits),
        _ => false,
    }
}

/// Returns whether these digits are a long number, in the form in which a key contains it.
fn is_long(digits: &[u8]) -> bool {
    let number = std::str::from_utf8(digits).ok().and_then(Decimal::from_plain);
    number.is_some_and(|number| !number.is_short() && number.to_string().as_bytes() == digits)
}

const _: () = assert!(size_of::<StoredKey>() == 24, "a key has the size of three words");
