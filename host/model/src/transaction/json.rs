//! JSON from callers: exact, and strict where parsers differ.
//!
//! ```text
//!  bytes ──parse (reader)──▶ Json ──Display (writer)──▶ the same digits, the same order of keys
//!                                 └─canonical (writer)─▶ one spelling per meaning
//!                           members ──ObjectText (writer)─▶ the same output, without a tree
//! ```

mod cause;
mod error;
mod reader;
mod surrogates;
mod writer;

use std::borrow::Cow;

use crate::decimal::{Decimal, DecimalError};
use crate::transaction::is_same_text;

pub(in crate::transaction) use error::shown;
pub use error::{JsonError, JsonErrorKind};
pub use reader::JsonLimits;
pub(in crate::transaction) use writer::{ObjectText, Spelling};

/// A JSON value. Objects keep the order of keys and have no duplicate keys.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number with its original digits.
    Number(JsonNumber),
    /// A number of more digits than [`Decimal`] supports, as it was written. No rule can compare it.
    WideNumber(Box<str>),
    /// A string.
    Text(Box<str>),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Vec<(Box<str>, Json)>),
}

/// A number with its original digits. Equality is by value: `1.10` equals `1.1`.
#[derive(Debug, Clone)]
pub struct JsonNumber {
    text: Box<str>,
    value: Decimal,
}

impl JsonNumber {
    /// Parses a text that already has the form of a JSON number.
    pub(in crate::transaction) fn of_json(text: &str) -> Result<Self, DecimalError> {
        Ok(Self { value: Decimal::from_json(text)?, text: text.into() })
    }

    /// Returns the exact value.
    #[must_use]
    pub const fn value(&self) -> Decimal {
        self.value
    }

    /// Returns the original text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the number without an exponent, with its original digits if it has none.
    #[must_use]
    pub fn plain(&self) -> Cow<'_, str> {
        if self.text.contains(['e', 'E']) {
            Cow::Owned(self.value.to_string())
        } else {
            Cow::Borrowed(&self.text)
        }
    }
}

impl PartialEq for JsonNumber {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl From<Decimal> for JsonNumber {
    /// Writes the number without an exponent.
    fn from(value: Decimal) -> Self {
        Self { text: value.to_string().into(), value }
    }
}

/// Sizes of the parts of a value.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::transaction) struct JsonSizes {
    /// In bytes.
    pub(in crate::transaction) longest_text: usize,
    pub(in crate::transaction) longest_array: usize,
    /// Keys of all objects.
    pub(in crate::transaction) n_keys: usize,
}

impl JsonSizes {
    fn and(self, other: Self) -> Self {
        Self {
            longest_text: self.longest_text.max(other.longest_text),
            longest_array: self.longest_array.max(other.longest_array),
            n_keys: self.n_keys + other.n_keys,
        }
    }
}

impl Json {
    /// Parses a JSON text.
    ///
    /// Takes time linear in the text per level of depth, and never recurses deeper than `limits.depth_max`.
    ///
    /// # Errors
    /// If the text is not valid JSON (RFC 8259, UTF-8, no other content), nests too deeply, or has duplicate or too
    /// many keys. Also if a number has more digits than [`Decimal`] supports, or a text contains NUL. A lone surrogate
    /// is an error in a text that is not free text.
    pub fn parse(bytes: &[u8], limits: JsonLimits) -> Result<Json, JsonError> {
        reader::read(bytes, limits)
    }

    /// As [`Json::parse`], but leaves out single values of the object at this path that [`Json::parse`] would not accept.
    /// Returns their names.
    ///
    /// # Errors
    /// As [`Json::parse`], except for those values.
    pub fn parse_leaving_out(
        bytes: &[u8],
        limits: JsonLimits,
        path: &[&str],
    ) -> Result<(Json, Vec<Box<str>>), JsonError> {
        reader::read_leaving_out(bytes, limits, path)
    }

    /// Parses a text that this service wrote.
    pub fn reread(text: &str) -> Option<Json> {
        let limits = JsonLimits { depth_max: usize::from(u8::MAX), ..JsonLimits::STORED };
        reader::read(text.as_bytes(), limits).ok()
    }

    /// Returns the value at a path of keys, or `None` if there is none.
    #[must_use]
    pub fn at<K: AsRef<str>>(&self, keys: &[K]) -> Option<&Json> {
        self.at_counted(keys).0
    }

    /// As [`Json::at`]. Also returns the number of keys of the objects on the path.
    #[inline]
    pub fn at_counted<K: AsRef<str>>(&self, keys: &[K]) -> (Option<&Json>, usize) {
        let mut n_keys = 0;
        let found = keys.iter().try_fold(self, |json, key| match json {
            Json::Object(entries) => {
                n_keys += entries.len();
                let is_meant = |(name, _): &&(Box<str>, Json)| is_same_text(name, key.as_ref());
                entries.iter().find(is_meant).map(|(_, value)| value)
            }
            _ => None,
        });
        (found, n_keys)
    }

    /// Returns the sizes of its parts.
    pub(in crate::transaction) fn measured(&self) -> JsonSizes {
        match self {
            Json::Text(text) | Json::WideNumber(text) => {
                JsonSizes { longest_text: text.len(), ..JsonSizes::default() }
            }
            Json::Array(items) => {
                let own = JsonSizes { longest_array: items.len(), ..JsonSizes::default() };
                items.iter().map(Self::measured).fold(own, JsonSizes::and)
            }
            Json::Object(entries) => {
                let own = JsonSizes { n_keys: entries.len(), ..JsonSizes::default() };
                entries.iter().map(|(_, value)| value.measured()).fold(own, JsonSizes::and)
            }
            Json::Null | Json::Boolean(_) | Json::Number(_) => JsonSizes::default(),
        }
    }

    /// Returns the canonical text: keys sorted, numbers as plain decimals, no whitespace.
    #[must_use]
    pub fn canonical(&self) -> String {
        writer::text_of(self, Spelling::Canonical)
    }
}

#[cfg(test)]
mod tests;
