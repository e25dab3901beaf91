//! Values as rules see them, read from JSON.

use std::borrow::Cow;
use std::rc::Rc;

use num_rational::BigRational;
use serde_json::{Number, Value as Json};
use tollgate_guest_abi::{FieldPath, FieldType, Number as Literal};
use tollgate_model::transaction::StatusWords;

use super::{calendar, exact};

/// A text whose ASCII case does not matter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caseless<'a> {
    /// What patterns search.
    pub(super) sent: &'a str,
    /// What compares: a currency has no blanks at its ends.
    pub(super) compared: &'a str,
}

/// The value of a field or of a computation.
#[derive(Debug, Clone)]
pub(super) enum Value<'a> {
    /// A missing value.
    Nil,
    Boolean(bool),
    /// A JSON number with its digits.
    Number(&'a Number),
    /// An exact number: a literal, an aggregate or a part of a time.
    Exact(Rc<BigRational>),
    /// A result of arithmetic, a mean or a deviation: known only as a double.
    Computed(f64),
    Text(&'a str),
    /// A status or a currency as sent; ASCII case does not matter.
    Caseless(Caseless<'a>),
    /// A date-time field: its instant in microseconds, and its text.
    Time(i64, &'a str),
    List(&'a [Json]),
    Object(&'a Json),
}

impl<'a> Value<'a> {
    /// Creates a computed number; NaN becomes nil.
    pub(super) fn computed(number: f64) -> Self {
        if number.is_nan() { Value::Nil } else { Value::Computed(number) }
    }

    /// Creates an exact number.
    pub(super) fn exact(number: BigRational) -> Self {
        Value::Exact(Rc::new(number))
    }

    /// Creates the value of a literal.
    pub(super) fn literal(number: &Literal) -> Self {
        exact::parse(number.as_str()).map_or(Value::Nil, Value::exact)
    }

    /// Creates the value of a metadata item or a list element.
    pub(super) fn of_json(json: &'a Json) -> Self {
        match json {
            Json::Null => Value::Nil,
            Json::Bool(boolean) => Value::Boolean(*boolean),
            Json::Number(number) => Value::Number(number),
            Json::String(text) => Value::Text(text),
            Json::Array(items) => Value::List(items),
            Json::Object(_) => Value::Object(json),
        }
    }

    /// Reads a path of a transaction.
    pub(super) fn read(transaction: &'a Json, path: &FieldPath) -> Self {
        if let Some(keys) = path.metadata_keys() {
            let metadata = transaction.get("meta_data");
            let found = keys.iter().fold(metadata, |json, key| json.and_then(|json| json.get(key.as_str())));
            return found.map_or(Value::Nil, Value::of_json);
        }
        if path.is_stage() {
            let status = transaction.get("status").and_then(Json::as_str).filter(|status| !status.is_empty());
            return status.map_or(Value::Nil, |status| {
                let stage = StatusWords::built_in().stage_of(status);
                Value::Caseless(Caseless { sent: stage, compared: stage })
            });
        }
        // The wire name of the timestamp is `created_at`.
        let name = if path.root() == "timestamp" { "created_at" } else { path.root() };
        let found = transaction.get(name).map_or(Value::Nil, Value::of_json);
        match (path.field_type(), found) {
            (FieldType::Unknown, _) => Value::Nil,
            // The four flags default to false.
            (FieldType::Boolean, Value::Nil) => Value::Boolean(false),
            (FieldType::Time, Value::Text(text)) => {
                calendar::instant(text).map_or(Value::Nil, |micros| Value::Time(micros, text))
            }
            (_, Value::Text(text)) if name == "status" => {
                Value::Caseless(Caseless { sent: text, compared: text })
            }
            (_, Value::Text(text)) if name == "currency" => {
                Value::Caseless(Caseless { sent: text, compared: text.trim() })
            }
            (_, found) => found,
        }
    }

    pub(super) fn is_nil(&self) -> bool {
        matches!(self, Value::Nil)
    }

    /// Returns the number for arithmetic: a number, or a text that is wholly a plain decimal number.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => number.as_f64(),
            Value::Exact(number) => Some(exact::nearest(number)),
            Value::Computed(number) => Some(*number),
            Value::Text(text) | Value::Caseless(Caseless { compared: text, .. }) if exact::is_plain(text) => {
                text.parse().ok()
            }
            _ => None,
        }
    }

    /// Returns the exact number; `None` if only a double is known.
    pub(super) fn exactly(&self) -> Option<Rc<BigRational>> {
        match self {
            Value::Number(number) => exact::parse(&number.to_string()).map(Rc::new),
            Value::Exact(number) => Some(Rc::clone(number)),
            Value::Text(text) | Value::Caseless(Caseless { compared: text, .. }) if exact::is_plain(text) => {
                exact::parse(text).map(Rc::new)
            }
            _ => None,
        }
    }

    /// Returns a text or boolean in ASCII lower case.
    pub(super) fn small_text(&self) -> Option<String> {
        match self {
            Value::Text(text) | Value::Caseless(Caseless { compared: text, .. }) => {
                Some(text.to_ascii_lowercase())
            }
            Value::Boolean(boolean) => Some(word(*boolean).to_owned()),
            _ => None,
        }
    }

    /// Returns the text that patterns search; `None` for values without text.
    pub(super) fn searched(&self) -> Option<Cow<'a, str>> {
        match self {
            Value::Text(text) | Value::Caseless(Caseless { sent: text, .. }) | Value::Time(_, text) => {
                Some(Cow::Borrowed(text))
            }
            Value::Boolean(boolean) => Some(Cow::Borrowed(word(*boolean))),
            Value::Number(number) => exact::plain_text(&number.to_string()).map(Cow::Owned),
            Value::Exact(number) => Some(Cow::Owned((exact::nearest(number) + 0.0).to_string())),
            Value::Computed(number) => number.is_finite().then(|| Cow::Owned((number + 0.0).to_string())),
            Value::Nil | Value::List(_) | Value::Object(_) => None,
        }
    }
}

/// Returns the word for a boolean.
pub(super) const fn word(boolean: bool) -> &'static str {
    if boolean { "true" } else { "false" }
}
