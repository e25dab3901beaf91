//! What rules see of a field.

use std::borrow::Cow;

use tollgate_guest_abi::Semantics;

use crate::decimal::Decimal;
use crate::transaction::{EventTime, Json, StatedTime};

/// A text with its ASCII letters as small ones.
#[must_use]
pub fn in_small_letters(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

/// A view of one value, with the types the language knows.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// nil: an unknown name, a missing key, a path through a scalar, JSON null, an optional field left out.
    Missing,
    /// `true` or `false`
    Boolean(bool),
    /// Exact.
    Number(Decimal),
    /// Case-sensitive, not trimmed.
    Text(&'a str),
    /// As it was sent. It equals every text that differs from it in the case of ASCII letters alone.
    Caseless(&'a str),
    /// One of the date-time fields. A date-time in metadata is a text.
    Time(&'a EventTime),
    /// An array; only `in` looks into it.
    List(&'a [Json]),
    /// An object.
    Object(&'a Json),
}

impl<'a> Value<'a> {
    #[inline]
    /// Returns the value of a text, or of none.
    pub fn of_text(text: Option<&'a str>) -> Self {
        text.map_or(Value::Missing, Value::Text)
    }

    /// Returns the value of a time, or of none.
    pub fn of_time(time: Option<&'a EventTime>) -> Self {
        time.map_or(Value::Missing, Value::Time)
    }

    /// The view of a piece of metadata.
    #[must_use]
    pub fn of_json(json: Option<&'a Json>) -> Self {
        match json {
            None | Some(Json::Null) => Value::Missing,
            Some(Json::Boolean(boolean)) => Value::Boolean(*boolean),
            Some(Json::Number(number)) => Value::Number(number.value()),
            Some(Json::Text(text)) => Value::Text(text),
            Some(Json::Array(items)) => Value::List(items),
            Some(object @ Json::Object(_)) => Value::Object(object),
        }
    }

    /// A part of a date-time, which is a small whole number; NaN is missing.
    #[must_use]
    pub fn of_time_part(part: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a part of a date-time is small")]
        let number = part as i64;
        if part.is_nan() { Value::Missing } else { Value::Number(Decimal::of_units(number, 0)) }
    }

    /// Whether nothing is there.
    #[must_use]
    pub const fn is_missing(&self) -> bool {
        matches!(self, Value::Missing)
    }

    /// As a number: a number, or a text that is wholly a plain decimal number.
    #[must_use]
    pub fn as_decimal(&self) -> Option<Decimal> {
        match self {
            Value::Number(decimal) => Some(*decimal),
            Value::Text(text) | Value::Caseless(text) => Decimal::from_plain(text),
            _ => None,
        }
    }

    /// As a text, as it was sent.
    #[must_use]
    pub const fn as_text(&self) -> Option<&'a str> {
        match self {
            Value::Text(text) | Value::Caseless(text) => Some(text),
            _ => None,
        }
    }

    /// The same value; a text equals others whatever the case of their ASCII letters.
    #[must_use]
    pub const fn caseless(self) -> Self {
        match self {
            Value::Text(text) => Value::Caseless(text),
            other => other,
        }
    }

    /// As the double rules compute with; NaN when it is no number.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.as_decimal().map_or(f64::NAN, Decimal::to_f64)
    }

    /// What patterns are searched in: a text, a number's plain decimal text, a boolean's word, a date-time as given.
    #[must_use]
    pub fn as_searchable(&self) -> Option<Cow<'a, str>> {
        match self {
            Value::Text(text) | Value::Caseless(text) => Some(Cow::Borrowed(text)),
            Value::Number(decimal) => Some(Cow::Owned(decimal.to_string())),
            Value::Boolean(boolean) => Some(Cow::Borrowed(if *boolean { "true" } else { "false" })),
            Value::Time(time) => Some(Cow::Borrowed(time.as_str())),
            Value::Missing | Value::List(_) | Value::Object(_) => None,
        }
    }

    /// The time it states: that of a date-time field, or of a text.
    #[must_use]
    pub fn as_time(&self, semantics: Semantics) -> Option<StatedTime> {
        match self {
            Value::Time(time) => Some(StatedTime::at(time.micros())),
            Value::Text(text) | Value::Caseless(text) => StatedTime::read(text, semantics),
            _ => None,
        }
    }
}
