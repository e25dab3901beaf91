//! JSON as callers send it: strict where parsers differ, and exact.
//!
//! ```text
//!  bytes ──parse (reader)──▶ Json ──Display (writer)──▶ the same digits, the same order of keys
//!                                 └─canonical (writer)─▶ one spelling per meaning
//!                           members ──ObjectText (writer)─▶ the same, of what is no tree
//! ```

mod cause;
mod error;
mod reader;
mod surrogates;
mod writer;

use crate::decimal::{Decimal, DecimalError};
use crate::transaction::is_same_text;

pub(in crate::transaction) use error::shown;
pub use error::{JsonError, JsonErrorKind};
pub use reader::JsonLimits;
pub(in crate::transaction) use writer::{ObjectText, Spelling};

/// A JSON value; object keys in the order given, no key twice.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// With its digits as given.
    Number(JsonNumber),
    /// A string.
    Text(Box<str>),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Vec<(Box<str>, Json)>),
}

/// A number with its digits as given. Equality is by value: `1.10` equals `1.1`.
#[derive(Debug, Clone)]
pub struct JsonNumber {
    text: Box<str>,
    value: Decimal,
}

impl JsonNumber {
    /// The text must already be a JSON number by its form.
    fn of_json(text: &str) -> Result<Self, DecimalError> {
        Ok(Self { value: Decimal::from_json(text)?, text: text.into() })
    }

    /// Its exact value.
    #[must_use]
    pub const fn value(&self) -> Decimal {
        self.value
    }

    /// As it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for JsonNumber {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl From<Decimal> for JsonNumber {
    /// Written plainly, without an exponent.
    fn from(value: Decimal) -> Self {
        Self { text: value.to_string().into(), value }
    }
}

impl Json {
    /// Reads one JSON text.
    ///
    /// Takes time linear in the text per level of depth, and never recurses deeper than `limits.depth_max`.
    ///
    /// # Errors
    /// When it is no JSON (RFC 8259, UTF-8, nothing before or after it), names a key twice, nests too deep, has too many
    /// keys in one object, a number of more digits than [`Decimal`] keeps, the character NUL in a text, or half of a surrogate
    /// pair in one that is not for people.
    pub fn parse(bytes: &[u8], limits: JsonLimits) -> Result<Json, JsonError> {
        reader::read(bytes, limits)
    }

    /// Reads a text that this service wrote of a value it had.
    pub fn reread(text: &str) -> Option<Json> {
        let limits = JsonLimits { depth_max: usize::from(u8::MAX), ..JsonLimits::STORED };
        reader::read(text.as_bytes(), limits).ok()
    }

    /// What stands at a path of keys; `None` when it leads nowhere.
    #[must_use]
    pub fn at<K: AsRef<str>>(&self, keys: &[K]) -> Option<&Json> {
        keys.iter().try_fold(self, |json, key| match json {
            Json::Object(entries) => {
                let is_meant = |(name, _): &&(Box<str>, Json)| is_same_text(name, key.as_ref());
                entries.iter().find(is_meant).map(|(_, value)| value)
            }
            _ => None,
        })
    }

    /// The one spelling of what it means: keys sorted, numbers as plain decimals, no blanks.
    #[must_use]
    pub fn canonical(&self) -> String {
        writer::text_of(self, Spelling::Canonical)
    }
}

#[cfg(test)]
mod tests;
