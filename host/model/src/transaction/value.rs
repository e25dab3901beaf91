//! Field values as rules see them.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};
use tollgate_guest_abi::Semantics;

use crate::decimal::Decimal;
use crate::transaction::identifier::without_blanks_at_ends;
use crate::transaction::{EventTime, Json, StatedTime, Transaction};

/// The SHA-256 digest of the canonical text of an array or an object. Equal structures have equal digests.
pub type StructureDigest = [u8; 32];

/// Returns a text with its ASCII letters in lower case.
#[must_use]
pub fn in_small_letters(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

/// Passes a text with its ASCII letters in lower case. A short one takes no memory of the heap.
#[inline]
pub fn with_small_letters<T>(text: &str, then: impl FnOnce(&str) -> T) -> T {
    let mut buffer = [0; 32];
    match buffer.get_mut(..text.len()) {
        Some(small) if text.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            small.copy_from_slice(text.as_bytes());
            small.make_ascii_lowercase();
            then(std::str::from_utf8(small).unwrap_or_default())
        }
        Some(_) => then(text),
        None => then(&in_small_letters(text)),
    }
}

/// A text that compares regardless of ASCII case.
#[derive(Debug, Clone, Copy)]
pub struct CaselessText<'a> {
    /// As it was sent; patterns search it.
    pub sent: &'a str,
    /// The part that compares: all of it, or all but the blanks at its ends.
    pub compared: &'a str,
}

impl<'a> CaselessText<'a> {
    /// Returns a text that compares with its blanks.
    #[must_use]
    pub const fn whole(sent: &'a str) -> Self {
        Self { sent, compared: sent }
    }

    /// Returns a text that compares without the blanks at its ends.
    #[must_use]
    #[inline]
    pub fn trimmed(sent: &'a str) -> Self {
        Self { sent, compared: without_blanks_at_ends(sent) }
    }

    /// Returns what is compared, in lower case.
    #[must_use]
    pub fn in_small_letters(&self) -> Cow<'a, str> {
        in_small_letters(self.compared)
    }
}

/// How the text of a field compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextComparison {
    /// By its bytes.
    Exact,
    /// Regardless of ASCII case.
    Caseless,
    /// Regardless of ASCII case and of blanks at its ends.
    CaselessTrimmed,
}

/// A view of one value, with the types of the language.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// Nil: an unknown name, a missing key, a path through a scalar, JSON null, or an absent optional field.
    Missing,
    /// `true` or `false`.
    Boolean(bool),
    /// An exact number.
    Number(Decimal),
    /// A text: case-sensitive, not trimmed.
    Text(&'a str),
    /// A text that equals every text that differs only in the case of ASCII letters.
    Caseless(CaselessText<'a>),
    /// The value of a date-time field. A date-time in metadata is a text.
    Time(&'a EventTime),
    /// An array, of which only `in` reads the elements.
    List(&'a [Json]),
    /// An object, or a number of too many digits: a value that no comparison orders.
    Object(&'a Json),
}

impl<'a> Value<'a> {
    #[inline]
    /// Returns the value of an optional text.
    pub fn of_text(text: Option<&'a str>) -> Self {
        text.map_or(Value::Missing, Value::Text)
    }

    /// Returns the value of an optional time.
    pub(crate) fn of_time(time: Option<&'a EventTime>) -> Self {
        time.map_or(Value::Missing, Value::Time)
    }

    /// Returns the view of a metadata value.
    #[must_use]
    pub fn of_json(json: Option<&'a Json>) -> Self {
        match json {
            None | Some(Json::Null) => Value::Missing,
            Some(Json::Boolean(boolean)) => Value::Boolean(*boolean),
            Some(Json::Number(number)) => Value::Number(number.value()),
            Some(Json::Text(text)) => Value::Text(text),
            Some(Json::Array(items)) => Value::List(items),
            Some(object @ (Json::Object(_) | Json::WideNumber(_))) => Value::Object(object),
        }
    }

    /// Returns the value of a date-time part, which is a small integer. NaN is missing.
    #[must_use]
    pub fn of_time_part(part: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a part of a date-time is small")]
        let number = part as i64;
        if part.is_nan() { Value::Missing } else { Value::Number(Decimal::of_units(number, 0)) }
    }

    /// Returns whether the value is missing.
    #[must_use]
    pub const fn is_missing(&self) -> bool {
        matches!(self, Value::Missing)
    }

    /// Returns the number, or the value of a text that is a plain decimal number.
    #[must_use]
    pub fn as_decimal(&self) -> Option<Decimal> {
        self.as_decimal_by(Decimal::from_plain)
    }

    /// As [`Value::as_decimal`], with this reader of texts.
    pub(crate) fn as_decimal_by(&self, number_of: impl Fn(&str) -> Option<Decimal>) -> Option<Decimal> {
        match self {
            Value::Number(decimal) => Some(*decimal),
            Value::Text(text) => number_of(text),
            Value::Caseless(text) => number_of(text.compared),
            _ => None,
        }
    }

    /// As [`Value::as_decimal`], for a text of this transaction or of none.
    #[must_use]
    pub fn as_decimal_in(&self, transaction: &Transaction) -> Option<Decimal> {
        self.as_decimal_by(|text| transaction.number_of(text))
    }

    /// Returns the text as it was sent.
    #[must_use]
    pub const fn as_text(&self) -> Option<&'a str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Caseless(text) => Some(text.sent),
            _ => None,
        }
    }

    /// Returns the digest of an array or an object; `None` for any other value.
    #[must_use]
    pub fn structure_digest(&self) -> Option<StructureDigest> {
        match self {
            Value::Object(object) => Some(Sha256::digest(object.canonical()).into()),
            Value::List(items) => {
                let mut digest = Sha256::new_with_prefix("[");
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        digest.update(",");
                    }
                    digest.update(item.canonical());
                }
                Some(digest.chain_update("]").finalize().into())
            }
            Value::Missing
            | Value::Boolean(_)
            | Value::Number(_)
            | Value::Text(_)
            | Value::Caseless(_)
            | Value::Time(_) => None,
        }
    }

    /// Returns the same value, with a text compared regardless of ASCII case.
    #[must_use]
    pub const fn caseless(self) -> Self {
        match self {
            Value::Text(text) => Value::Caseless(CaselessText::whole(text)),
            other => other,
        }
    }

    /// Returns the same value, with a text that compares in this way.
    #[must_use]
    #[inline]
    pub fn compared(self, comparison: TextComparison) -> Self {
        match (self, comparison) {
            (Value::Text(text), TextComparison::Caseless) => Value::Caseless(CaselessText::whole(text)),
            (Value::Text(text), TextComparison::CaselessTrimmed) => {
                Value::Caseless(CaselessText::trimmed(text))
            }
            (value, _) => value,
        }
    }

    /// Returns the double with which rules compute, or NaN if the value is not a number.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.as_decimal().map_or(f64::NAN, Decimal::to_f64)
    }

    /// Returns the text that patterns search: a text, a plain decimal number, a boolean word, or a date-time as given.
    #[must_use]
    pub(crate) fn as_searchable(&self) -> Option<Cow<'a, str>> {
        match self {
            Value::Text(text) => Some(Cow::Borrowed(text)),
            Value::Caseless(text) => Some(Cow::Borrowed(text.sent)),
            Value::Number(decimal) => Some(Cow::Owned(decimal.to_string())),
            Value::Boolean(boolean) => Some(Cow::Borrowed(if *boolean { "true" } else { "false" })),
            Value::Time(time) => Some(Cow::Borrowed(time.as_str())),
            Value::Missing | Value::List(_) | Value::Object(_) => None,
        }
    }

    /// Returns the time of a date-time field, or the time that a text states.
    #[must_use]
    pub fn as_time(&self, semantics: Semantics) -> Option<StatedTime> {
        match self {
            Value::Time(time) => Some(StatedTime::at(time.micros())),
            Value::Text(text) => StatedTime::read(text, semantics),
            Value::Caseless(text) => StatedTime::read(text.compared, semantics),
            _ => None,
        }
    }
}
