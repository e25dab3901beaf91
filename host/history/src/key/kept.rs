//! Keys at rest.

use tollgate_model::decimal::Decimal;

use super::writing::Writing;
use super::{Part, is_number};

/// So many bytes of a key are kept in place.
pub(super) const INLINE_BYTES: usize = 22;

/// The bytes of a key, kept: in place when they are few, as most are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeptKey {
    /// The first so many of these; the others are zero.
    Inline(u8, [u8; INLINE_BYTES]),
    /// All of them.
    Heap(Box<[u8]>),
}

impl KeptKey {
    /// A copy of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut inline = [0; INLINE_BYTES];
        match (inline.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(place), Ok(length)) => {
                place.copy_from_slice(bytes);
                KeptKey::Inline(length, inline)
            }
            _ => KeptKey::Heap(bytes.into()),
        }
    }

    /// The bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            KeptKey::Inline(length, bytes) => bytes.get(..usize::from(*length)).unwrap_or(bytes),
            KeptKey::Heap(bytes) => bytes,
        }
    }

    /// Whether it is what was written.
    #[inline]
    pub(super) fn is(&self, written: &Writing) -> bool {
        match (self, written.padded()) {
            (KeptKey::Inline(length, bytes), Some((n_bytes, padded))) => {
                *length == n_bytes && bytes == padded
            }
            (KeptKey::Heap(bytes), None) => **bytes == *written.all(),
            (KeptKey::Inline(..), None) | (KeptKey::Heap(_), Some(_)) => false,
        }
    }

    /// What it takes beside its place.
    pub(crate) const fn n_heap_bytes(&self) -> usize {
        match self {
            KeptKey::Inline(..) => 0,
            KeptKey::Heap(bytes) => bytes.len(),
        }
    }
}

/// A key that leaves its series, and can be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExportKey(KeptKey);

impl ExportKey {
    pub(crate) const fn of(key: KeptKey) -> Self {
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
            let (part, after) = Part::first(rest)?;
            let is_sound = match part {
                Part::Number(number) => number.is_sound(),
                Part::Long(digits) => is_long(digits),
                Part::Text(text) => std::str::from_utf8(text).is_ok_and(|text| !is_number(text)),
                Part::Spelled(text) => std::str::from_utf8(text).is_ok_and(is_number),
            };
            if !is_sound {
                return None;
            }
            rest = after;
        }
        Some(Self(KeptKey::of(bytes)))
    }

    /// What a series keeps of it.
    pub(crate) const fn kept(&self) -> &KeptKey {
        &self.0
    }
}

/// Whether these are the digits of a number as its key has them.
fn is_long(digits: &[u8]) -> bool {
    let number = std::str::from_utf8(digits).ok().and_then(Decimal::from_plain);
    number.is_some_and(|number| !number.is_short() && number.to_string().as_bytes() == digits)
}

const _: () = assert!(size_of::<KeptKey>() == 24, "a key has the size of three words");
