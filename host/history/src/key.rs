//! Which entries a set of equalities can reach.
//!
//! A series is keyed by the values of some fields. Equality is not transitive (the number 42 equals the texts `42` and
//! `0042`, which differ), so a key has a *class*, in which everything that may be equal meets, and within it the *spelling*
//! of the texts that are numbers. Two keys are equal exactly when every one of their values is, by
//! [`relate`](tollgate_model::transaction::relate); date-times, which also equal texts, and structures, which equal nothing, have
//! no key.
//!
//! ```text
//!  number          0, its double in 8 bytes
//!  text            1 + 2 × its length, itself          a boolean is its word
//!  text, a number  2 + 2 × its length, itself
//! ```
//!
//! The parts of a key stand one behind the other, and two keys of one series are the same exactly when their bytes are.

mod query;
mod stored;
mod writer;

use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::LazyLock;

use ahash::RandomState;
use smallvec::SmallVec;
use tollgate_guest_abi::Semantics;

use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::{Value, in_small_letters};
use tollgate_model::value_set::HashedDouble;

pub(crate) use query::{KeyQuery, OnlyText};
pub(crate) use stored::{ExportKey, StoredKey};

use writer::KeyWriter;

/// Most fields of a key; equalities beyond are tested row by row.
pub(super) const KEY_FIELDS_MAX: usize = 8;
/// What stands before a number.
const NUMBER: u64 = 0;
/// In place of a double: a number with more digits, as plain decimal text; its length is in the lower half. No double that is a
/// number has these bits.
const LONG: u64 = 0x7ff8_0000_0000_0000;
const LONG_LENGTH: u64 = 0xffff_ffff;
/// What a digit string may be long to need no second look: so many digits always are a number.
const PLAIN_DIGITS_MAX: usize = 38;

/// Keyed anew in every process, so that nobody outside knows which keys meet.
static HASHER: LazyLock<RandomState> = LazyLock::new(|| {
    // The standard library has the randomness.
    let seed = |n: u64| std::hash::RandomState::new().hash_one(n);
    RandomState::with_seeds(seed(1), seed(2), seed(3), seed(4))
});

/// The values of some fields, ready to be looked up. It is filled where it stands: moved right after it was written, it
/// would cost more than all the writing.
#[derive(Debug, Default)]
pub(super) struct Key {
    bytes: KeyWriter,
    n_parts: u8,
    /// How many values are numbers, and how many are texts that are numbers.
    n_numbers: u8,
    n_spelled: u8,
    hash: u32,
}

/// The bytes of a class.
pub(super) type KeyClass = SmallVec<[u8; 64]>;

/// What a kept key is like.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyKind {
    /// As [`Key::has_related_classes`].
    pub(super) has_related_classes: bool,
    /// As [`Key::has_number`].
    pub(super) has_number: bool,
}

/// One part of a key, read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyPart<'b> {
    /// The double that tells a number apart.
    Number(HashedDouble),
    /// The digits of a number that shares its double with others.
    Long(&'b [u8]),
    Text(&'b [u8]),
    Spelled(&'b [u8]),
}

impl Key {
    /// Makes it that of no values.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        (self.n_parts, self.n_numbers, self.n_spelled) = (0, 0, 0);
    }

    /// Makes it that of some values, at most [`KEY_FIELDS_MAX`], if it is of none yet: each is added to it. `None` when one
    /// of them equals nothing.
    #[inline]
    pub(super) fn fill<T>(&mut self, of: &[T], add: impl Fn(&mut Self, &T) -> Option<()>) -> Option<()> {
        for one in of {
            add(self, one)?;
        }
        self.hash = hash_of(self.bytes.all());
        Some(())
    }

    /// Adds a value; `None` when it equals nothing.
    #[inline]
    pub(super) fn add(&mut self, value: &Value<'_>, semantics: Semantics) -> Option<()> {
        match value {
            Value::Text(text) => {
                self.add_spelled_or_not(text, is_number(text));
            }
            // Numbers are spelled without letters.
            Value::Caseless(text) => self.add_spelled_or_not(&in_small_letters(text), is_number(text)),
            Value::Number(decimal) => self.add_decimal(*decimal, semantics),
            Value::Boolean(boolean) => {
                self.add_spelled_or_not(if *boolean { "true" } else { "false" }, false);
            }
            Value::Missing | Value::Time(_) | Value::List(_) | Value::Object(_) => return None,
        }
        Some(())
    }

    /// Adds a number; `None` when it is none.
    pub(super) fn add_number(&mut self, number: f64) -> Option<()> {
        if number.is_nan() {
            return None;
        }
        self.n_parts += 1;
        self.n_numbers += 1;
        self.bytes.push(0);
        self.bytes.extend(&HashedDouble::of(number).bits().to_le_bytes());
        Some(())
    }

    /// Adds a number: its double, and its digits where others may have the same one.
    pub(super) fn add_decimal(&mut self, number: Decimal, semantics: Semantics) {
        self.n_parts += 1;
        self.n_numbers += 1;
        let mut part = KeyClass::new();
        push_number(&mut part, number, semantics);
        self.bytes.extend(&part);
    }

    #[inline]
    fn add_spelled_or_not(&mut self, text: &str, is_spelled: bool) {
        self.n_parts += 1;
        self.n_spelled += u8::from(is_spelled);
        let mut head = head_of(text, is_spelled);
        while head >= 0x80 {
            #[expect(clippy::cast_possible_truncation, reason = "the low seven bits are meant")]
            self.bytes.push(head as u8 | 0x80);
            head >>= 7;
        }
        #[expect(clippy::cast_possible_truncation, reason = "less than 0x80")]
        self.bytes.push(head as u8);
        self.bytes.extend(text.as_bytes());
    }

    /// Its bytes.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.all()
    }

    /// Whether a key that is kept is this one.
    #[inline]
    pub(super) fn is(&self, kept: &StoredKey) -> bool {
        kept.is(&self.bytes)
    }

    /// Of its bytes.
    #[inline]
    pub(super) const fn hash(&self) -> u32 {
        self.hash
    }

    /// Whether it has the class of other keys too: those of the numbers that its texts are, or texts of its numbers.
    #[inline]
    pub(super) const fn has_related_classes(&self) -> bool {
        self.n_numbers + self.n_spelled > 0
    }

    /// Whether some value is a number itself, which every text of it equals.
    pub(super) const fn has_number(&self) -> bool {
        self.n_numbers > 0
    }

    /// Whether it has a single value, and that is the text of a number: equal to itself and to the number alone.
    pub(super) const fn is_one_spelled(&self) -> bool {
        self.n_parts == 1 && self.n_spelled == 1
    }

    /// The bytes of the key in which all its texts of numbers are numbers: that of its class.
    pub(super) fn class(&self, semantics: Semantics) -> KeyClass {
        class_of(self.bytes.all(), semantics)
    }

    /// Whether it equals another key of its class: where both are texts, to the letter.
    pub(super) fn agrees_with(&self, other: &[u8]) -> bool {
        parts_of(self.bytes.all()).zip(parts_of(other)).all(|pair| match pair {
            (KeyPart::Spelled(one), KeyPart::Spelled(other)) => one == other,
            (KeyPart::Number(_) | KeyPart::Long(_) | KeyPart::Spelled(_) | KeyPart::Text(_), _) => true,
        })
    }
}

/// How this process hashes what comes from outside.
pub(super) fn seeded() -> RandomState {
    HASHER.clone()
}

/// Of the bytes of a key or of a class: where that is one text, as most are, of the text itself.
#[inline]
pub(super) fn hash_of(bytes: &[u8]) -> u32 {
    hash_of_text(only_text_of(bytes).unwrap_or(bytes))
}

/// The text that these bytes are the key of, when there is nothing else and its head is one byte.
#[inline]
fn only_text_of(bytes: &[u8]) -> Option<&[u8]> {
    let (&head, text) = bytes.split_first()?;
    let is_short_text = head != 0 && head < 0x80;
    (is_short_text && usize::from((head - 1) / 2) == text.len()).then_some(text)
}

#[inline]
fn hash_of_text(bytes: &[u8]) -> u32 {
    let mut hasher = HASHER.build_hasher();
    hasher.write(bytes);
    let hash = hasher.finish();
    #[expect(clippy::cast_possible_truncation, reason = "both halves are in the fold")]
    let folded = (hash ^ (hash >> 32)) as u32;
    folded
}

/// The bytes of a class, of those of a key.
pub(super) fn class_of(bytes: &[u8], semantics: Semantics) -> KeyClass {
    let mut class = SmallVec::new();
    let mut rest = bytes;
    while let Some((part, after)) = KeyPart::first(rest) {
        match part.spelled() {
            Some(number) => push_number(&mut class, number, semantics),
            None => class.extend_from_slice(rest.get(..rest.len() - after.len()).unwrap_or_default()),
        }
        rest = after;
    }
    class
}

/// What a key is like, of its bytes.
pub(super) fn kind_of(bytes: &[u8]) -> KeyKind {
    let mut kind = KeyKind { has_related_classes: false, has_number: false };
    for part in parts_of(bytes) {
        kind.has_related_classes |= !matches!(part, KeyPart::Text(_));
        kind.has_number |= matches!(part, KeyPart::Number(_) | KeyPart::Long(_));
    }
    kind
}

fn parts_of(bytes: &[u8]) -> impl Iterator<Item = KeyPart<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (part, after) = KeyPart::first(rest)?;
        rest = after;
        Some(part)
    })
}

impl<'b> KeyPart<'b> {
    /// The part at the head, and what follows; `None` at the end, and where no part is.
    fn first(bytes: &'b [u8]) -> Option<(Self, &'b [u8])> {
        let (mut head, mut shift, mut rest) = (0_u64, 0_u32, bytes);
        loop {
            let (byte, after) = rest.split_first()?;
            head |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                if *byte == 0 && shift > 0 {
                    return None;
                }
                rest = after;
                break;
            }
            (rest, shift) = (after, shift + 7);
        }
        if head == NUMBER {
            let (number, after) = rest.split_first_chunk::<8>()?;
            let bits = u64::from_le_bytes(*number);
            if bits & !LONG_LENGTH != LONG {
                return Some((KeyPart::Number(HashedDouble::of_bits(bits)), after));
            }
            let (digits, after) = after.split_at_checked(usize::try_from(bits & LONG_LENGTH).ok()?)?;
            return Some((KeyPart::Long(digits), after));
        }
        let (length, is_spelled) = (usize::try_from((head - 1) / 2).ok()?, (head - 1) % 2 == 1);
        let (text, after) = rest.split_at_checked(length)?;
        Some((if is_spelled { KeyPart::Spelled(text) } else { KeyPart::Text(text) }, after))
    }

    /// The number that a text says.
    fn spelled(self) -> Option<Decimal> {
        match self {
            KeyPart::Spelled(text) => Decimal::from_plain(std::str::from_utf8(text).ok()?),
            KeyPart::Number(_) | KeyPart::Long(_) | KeyPart::Text(_) => None,
        }
    }
}

/// Writes the part of a number. Numbers that are equal by these semantics have the same.
fn push_number(bytes: &mut KeyClass, number: Decimal, semantics: Semantics) {
    bytes.push(0);
    if !semantics.is_exact() || number.is_short() {
        return bytes.extend_from_slice(&HashedDouble::of(number.to_f64()).bits().to_le_bytes());
    }
    let text = number.to_string();
    bytes.extend_from_slice(&(LONG | text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// What stands before a text.
#[inline]
const fn head_of(text: &str, is_spelled: bool) -> u64 {
    1 + 2 * text.len() as u64 + is_spelled as u64
}

/// Whether the text is wholly a plain decimal number.
#[inline]
fn is_number(text: &str) -> bool {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b'-' | b'0'..=b'9') => {}
        _ => return false,
    }
    // What is all digits, and not too many, needs no reading.
    (bytes.len() <= PLAIN_DIGITS_MAX && bytes.iter().all(u8::is_ascii_digit))
        || Decimal::from_plain(text).is_some()
}

#[cfg(test)]
mod tests;
