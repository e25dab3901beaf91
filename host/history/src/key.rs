//! Keys of a series: which entries a set of equalities can reach.
//!
//! A series is keyed by the values of some fields. Equality is not transitive: the number 42 equals the texts `42` and
//! `0042`, which differ. A key therefore has a *class*, shared by all values that may be equal, and within it the
//! *spelling* of the texts that are numbers. Two keys are equal exactly when all their values are, by
//! [`relate`](tollgate_model::transaction::relate). Date-times, which also equal texts, and structures, which equal
//! nothing, have no key.
//!
//! ```text
//!  number          0, its double in 8 bytes
//!  long number     0, `LONG` and the length in 8 bytes, its plain decimal text
//!  text            1 + 2 × its length, its bytes       a boolean is written as text
//!  text, a number  2 + 2 × its length, its bytes
//!  long text       254, its length in 5 bytes, its digest in 16
//!  long, a number  255, its length in 5 bytes, its digest in 16, the number it is as above
//! ```
//!
//! A long text is one of more than 62 bytes. Its digest is keyed and has 128 bits, so two texts of one length and digest
//! are taken for the same text. The key of one long text fits inline. The parts of a key are concatenated. Two keys of one
//! series are identical exactly when their bytes are.

mod query;
mod stored;
mod writer;

use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::LazyLock;

use ahash::RandomState;
use siphasher::sip::SipHasher13;
use smallvec::SmallVec;
use tollgate_guest_abi::Semantics;

use tollgate_model::decimal::Decimal;
use tollgate_model::transaction::{
    SHORT_TEXT_MAX, TextDigest, Transaction, Value, digest_of, with_small_letters,
};
use tollgate_model::value_set::HashedDouble;

pub(crate) use query::{KeyQuery, OnlyText};
pub(crate) use stored::{ExportKey, StoredKey};

use writer::KeyWriter;

/// Maximum number of bytes of a stored key that are kept inline.
const INLINE_BYTES: usize = 22;
/// Maximum number of key fields; further equalities are tested row by row.
pub(super) const KEY_FIELDS_MAX: usize = 8;
/// Head of a number.
const NUMBER: u8 = 0;
/// Marker in place of a double: a number with more digits follows as plain decimal text, its length in the lower half.
/// No double that is a number has these bits.
const LONG: u64 = 0x7ff8_0000_0000_0000;
const LONG_LENGTH: u64 = 0xffff_ffff;
/// Maximum length of a digit string that is a number without further parsing.
const PLAIN_DIGITS_MAX: usize = 38;
/// Heads of long texts.
const LONG_TEXT: u8 = 0xfe;
const LONG_SPELLED: u8 = 0xff;
/// Bytes of the length of a long text; the digest follows.
const LENGTH_BYTES: usize = 5;
const IDENTITY_BYTES: usize = LENGTH_BYTES + size_of::<TextDigest>();
const _: () = assert!(IDENTITY_BYTES < INLINE_BYTES, "the key of a long text is stored inline");

/// Seeded per process, so that outsiders cannot predict which keys collide.
static HASHER: LazyLock<RandomState> = LazyLock::new(|| {
    // The standard library supplies the randomness.
    let seed = |n: u64| std::hash::RandomState::new().hash_one(n);
    RandomState::with_seeds(seed(1), seed(2), seed(3), seed(4))
});

/// Keys of the hashes of values.
static PART_KEYS: LazyLock<(u64, u64)> = LazyLock::new(|| {
    let digest = digest_of("values of anchors");
    let (words, _) = digest.as_chunks::<8>();
    let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
});

/// The values of some fields, ready for a lookup. A key is filled in place: moving it would cost more than writing it.
#[derive(Debug, Default)]
pub(super) struct Key {
    bytes: KeyWriter,
    /// Number of values that are numbers, and of texts that are numbers.
    n_numbers: u8,
    n_spelled: u8,
    hash: u32,
}

pub(super) type KeyClass = SmallVec<[u8; 64]>;

#[derive(Debug, Clone, Copy)]
pub(super) struct KeyKind {
    /// See [`Key::has_related_classes`].
    pub(super) has_related_classes: bool,
    /// See [`Key::has_number`].
    pub(super) has_number: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyPart<'b> {
    /// The double that identifies a number.
    Number(HashedDouble),
    /// The digits of a number that shares its double with others.
    Long(&'b [u8]),
    Text(&'b [u8]),
    Spelled(&'b [u8]),
    /// Length and digest of a long text.
    LongText(&'b [u8]),
    /// Length and digest of a long text, and the part of the number it is.
    LongSpelled(&'b [u8], &'b [u8]),
}

impl Key {
    #[inline]
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        (self.n_numbers, self.n_spelled) = (0, 0);
    }

    /// Adds values, at most [`KEY_FIELDS_MAX`], to an empty key. Returns `None` when one of them equals nothing.
    #[inline]
    pub(super) fn fill<T>(&mut self, of: &[T], add: impl Fn(&mut Self, &T) -> Option<()>) -> Option<()> {
        for one in of {
            add(self, one)?;
        }
        self.hash = hash_of(self.bytes.all());
        Some(())
    }

    /// Adds a value, of this transaction or of none; returns `None` when it equals nothing.
    #[inline]
    pub(super) fn add(&mut self, value: &Value<'_>, semantics: Semantics, of: &Transaction) -> Option<()> {
        match value {
            Value::Text(text) if text.len() <= SHORT_TEXT_MAX => {
                self.add_short(text, is_number(text));
            }
            Value::Text(text) => self.add_long(text, of.number_of(text), of.digest_of(text), semantics),
            Value::Caseless(text) => {
                with_small_letters(text.compared, |small| self.add_lower_case(small, semantics));
            }
            Value::Number(decimal) => self.add_decimal(*decimal, semantics),
            Value::Boolean(boolean) => {
                self.add_short(if *boolean { "true" } else { "false" }, false);
            }
            Value::Missing | Value::Time(_) | Value::List(_) | Value::Object(_) => return None,
        }
        Some(())
    }

    /// Adds a number; returns `None` for NaN.
    pub(super) fn add_number(&mut self, number: f64) -> Option<()> {
        if number.is_nan() {
            return None;
        }
        self.n_numbers += 1;
        self.bytes.push(0);
        self.bytes.extend(&HashedDouble::new(number).bits().to_le_bytes());
        Some(())
    }

    /// Adds a number: its double, and its digits where other numbers share that double.
    pub(super) fn add_decimal(&mut self, number: Decimal, semantics: Semantics) {
        self.n_numbers += 1;
        let mut part = KeyClass::new();
        push_number(&mut part, number, semantics);
        self.bytes.extend(&part);
    }

    /// Adds a text that is not long.
    #[inline]
    fn add_short(&mut self, text: &str, is_spelled: bool) {
        self.n_spelled += u8::from(is_spelled);
        self.bytes.push(head_of(text, is_spelled));
        self.bytes.extend(text.as_bytes());
    }

    #[cold]
    fn add_long(&mut self, text: &str, number: Option<Decimal>, digest: TextDigest, semantics: Semantics) {
        self.n_spelled += u8::from(number.is_some());
        self.bytes.push(if number.is_some() { LONG_SPELLED } else { LONG_TEXT });
        let length = (text.len() as u64).to_le_bytes();
        self.bytes.extend(length.first_chunk::<LENGTH_BYTES>().unwrap_or(&[0; LENGTH_BYTES]));
        self.bytes.extend(&digest);
        if let Some(number) = number {
            let mut part = KeyClass::new();
            push_number(&mut part, number, semantics);
            self.bytes.extend(&part);
        }
    }

    /// Adds a text that is in lower case.
    #[inline]
    fn add_lower_case(&mut self, text: &str, semantics: Semantics) {
        if text.len() <= SHORT_TEXT_MAX {
            self.add_short(text, is_number(text));
        } else {
            self.add_long(text, Decimal::from_plain(text), digest_of(text), semantics);
        }
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.all()
    }

    #[inline]
    pub(super) fn is(&self, kept: &StoredKey) -> bool {
        kept.is(&self.bytes)
    }

    #[inline]
    pub(super) const fn hash(&self) -> u32 {
        self.hash
    }

    /// Returns whether other keys may have its class: some value is a number, or a text that is one.
    #[inline]
    pub(super) const fn has_related_classes(&self) -> bool {
        self.n_numbers + self.n_spelled > 0
    }

    /// Returns whether some value is itself a number, which equals every text of that number.
    pub(super) const fn has_number(&self) -> bool {
        self.n_numbers > 0
    }

    /// Passes the bytes of every key that equals this one to `visit`, until it returns `false`. Only for a key without
    /// a value that is itself a number: each text that is a number equals itself and that number.
    pub(super) fn each_equal(&self, semantics: Semantics, visit: &mut dyn FnMut(&[u8]) -> bool) {
        let mut parts: SmallVec<[(KeyClass, Option<KeyClass>); KEY_FIELDS_MAX]> = SmallVec::new();
        let mut rest = self.bytes.all();
        while let Some((part, after)) = KeyPart::first(rest) {
            let own = rest.get(..rest.len() - after.len()).unwrap_or_default();
            parts.push((own.into(), part.number(semantics)));
            rest = after;
        }
        let mut bytes = KeyClass::new();
        // Bit `n` of the choice replaces the `n`th text that is a number.
        for mut choice in 0..1_u32 << self.n_spelled {
            bytes.clear();
            for (own, number) in &parts {
                let chosen = number.as_ref().filter(|_| choice & 1 == 1);
                choice >>= u32::from(number.is_some());
                bytes.extend_from_slice(chosen.unwrap_or(own));
            }
            if !visit(&bytes) {
                return;
            }
        }
    }

    /// Returns the bytes of its class: the key with numbers in place of texts that are numbers.
    pub(super) fn class(&self, semantics: Semantics) -> KeyClass {
        class_of(self.bytes.all(), semantics)
    }

    /// Returns whether it equals another key of its class: where both have texts, these must be identical.
    pub(super) fn agrees_with(&self, other: &[u8]) -> bool {
        parts_of(self.bytes.all()).zip(parts_of(other)).all(|pair| match pair {
            (KeyPart::Spelled(one), KeyPart::Spelled(other))
            | (KeyPart::LongSpelled(one, _), KeyPart::LongSpelled(other, _)) => one == other,
            (KeyPart::Spelled(_), KeyPart::LongSpelled(..))
            | (KeyPart::LongSpelled(..), KeyPart::Spelled(_)) => false,
            (
                KeyPart::Number(_)
                | KeyPart::Long(_)
                | KeyPart::Spelled(_)
                | KeyPart::Text(_)
                | KeyPart::LongText(_)
                | KeyPart::LongSpelled(..),
                _,
            ) => true,
        })
    }
}

pub(super) fn seeded() -> RandomState {
    HASHER.clone()
}

/// Hashes the bytes of a key or of a class. A single short text, the usual case, is hashed without its head.
#[inline]
pub(super) fn hash_of(bytes: &[u8]) -> u32 {
    hash_of_text(only_text_of(bytes).unwrap_or(bytes))
}

/// Returns the text when the bytes are the key of a single text with a one-byte head.
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

/// Returns a hash of one value of a key, which all values that may equal it share: of a number its nearest double, of a
/// text its small ASCII letters. `None` when the key has no such value. It is keyed as the digests of long texts are, so
/// that it is the same after a restart and nobody outside can choose values of one hash.
pub(super) fn part_hash(key: &[u8], place: usize, seed: u64) -> Option<u64> {
    let part = parts_of(key).nth(place)?;
    let (first, second) = *PART_KEYS;
    let mut hasher = SipHasher13::new_with_keys(first, second ^ seed);
    let number = match part {
        KeyPart::Number(number) => Some(number.bits()),
        KeyPart::Long(digits) => number_bits(digits),
        KeyPart::Spelled(text) => number_bits(text),
        KeyPart::LongSpelled(_, number) => match KeyPart::first(number) {
            Some((KeyPart::Number(number), _)) => Some(number.bits()),
            Some((KeyPart::Long(digits), _)) => number_bits(digits),
            _ => None,
        },
        KeyPart::Text(_) | KeyPart::LongText(_) => None,
    };
    match (number, part) {
        (Some(bits), _) => hasher.write_u64(bits),
        (None, KeyPart::Text(text)) if text.iter().any(u8::is_ascii_uppercase) => {
            let small: KeyClass = text.iter().map(u8::to_ascii_lowercase).collect();
            hasher.write(&small);
        }
        (None, KeyPart::Text(text)) => hasher.write(text),
        (None, KeyPart::LongText(identity)) => hasher.write(identity),
        (None, _) => return None,
    }
    Some(hasher.finish())
}

/// Returns the bits of the double that is nearest to a plain decimal number.
fn number_bits(digits: &[u8]) -> Option<u64> {
    let number = Decimal::from_plain(std::str::from_utf8(digits).ok()?)?;
    Some(HashedDouble::new(number.to_f64()).bits())
}

pub(super) fn class_of(bytes: &[u8], semantics: Semantics) -> KeyClass {
    let mut class = SmallVec::new();
    let mut rest = bytes;
    while let Some((part, after)) = KeyPart::first(rest) {
        match part.number(semantics) {
            Some(number) => class.extend_from_slice(&number),
            None => class.extend_from_slice(rest.get(..rest.len() - after.len()).unwrap_or_default()),
        }
        rest = after;
    }
    class
}

pub(super) fn kind_of(bytes: &[u8]) -> KeyKind {
    let mut kind = KeyKind { has_related_classes: false, has_number: false };
    for part in parts_of(bytes) {
        kind.has_related_classes |= !matches!(part, KeyPart::Text(_) | KeyPart::LongText(_));
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
    /// Returns the first part and the rest; `None` at the end or for invalid bytes.
    fn first(bytes: &'b [u8]) -> Option<(Self, &'b [u8])> {
        let (head, rest) = bytes.split_first()?;
        match *head {
            NUMBER => Self::first_number(rest),
            LONG_TEXT => {
                let (identity, after) = rest.split_at_checked(IDENTITY_BYTES)?;
                Some((KeyPart::LongText(identity), after))
            }
            LONG_SPELLED => {
                let (identity, number) = rest.split_at_checked(IDENTITY_BYTES)?;
                let (_, after) = Self::first_number(number.strip_prefix(&[NUMBER])?)?;
                let number = number.get(..number.len() - after.len())?;
                Some((KeyPart::LongSpelled(identity, number), after))
            }
            head @ 1..0x80 => {
                let (length, is_spelled) = (usize::from((head - 1) / 2), (head - 1) % 2 == 1);
                let (text, after) = rest.split_at_checked(length)?;
                Some((if is_spelled { KeyPart::Spelled(text) } else { KeyPart::Text(text) }, after))
            }
            _ => None,
        }
    }

    fn first_number(rest: &'b [u8]) -> Option<(Self, &'b [u8])> {
        let (number, after) = rest.split_first_chunk::<8>()?;
        let bits = u64::from_le_bytes(*number);
        if bits & !LONG_LENGTH != LONG {
            return Some((KeyPart::Number(HashedDouble::of_bits(bits)), after));
        }
        let (digits, after) = after.split_at_checked(usize::try_from(bits & LONG_LENGTH).ok()?)?;
        Some((KeyPart::Long(digits), after))
    }

    /// Returns the part of the number that a text is.
    fn number(self, semantics: Semantics) -> Option<KeyClass> {
        match self {
            KeyPart::Spelled(text) => {
                let number = Decimal::from_plain(std::str::from_utf8(text).ok()?)?;
                let mut part = KeyClass::new();
                push_number(&mut part, number, semantics);
                Some(part)
            }
            KeyPart::LongSpelled(_, number) => Some(number.into()),
            KeyPart::Number(_) | KeyPart::Long(_) | KeyPart::Text(_) | KeyPart::LongText(_) => None,
        }
    }
}

/// Writes the part of a number. Numbers that are equal under these semantics have the same part.
fn push_number(bytes: &mut KeyClass, number: Decimal, semantics: Semantics) {
    bytes.push(0);
    if !semantics.is_exact() || number.is_short() {
        return bytes.extend_from_slice(&HashedDouble::new(number.to_f64()).bits().to_le_bytes());
    }
    let text = number.to_string();
    bytes.extend_from_slice(&(LONG | text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Returns the head of a text that is not long.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a short text has at most 62 bytes")]
const fn head_of(text: &str, is_spelled: bool) -> u8 {
    1 + 2 * text.len() as u8 + is_spelled as u8
}

const _: () = assert!(2 * SHORT_TEXT_MAX + 2 < 0x80, "the head of a short text fits its byte");

/// Returns whether the entire text is a plain decimal number.
#[inline]
fn is_number(text: &str) -> bool {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b'-' | b'0'..=b'9') => {}
        _ => return false,
    }
    // A short digit string needs no parsing.
    (bytes.len() <= PLAIN_DIGITS_MAX && bytes.iter().all(u8::is_ascii_digit))
        || Decimal::from_plain(text).is_some()
}

#[cfg(test)]
mod tests;
