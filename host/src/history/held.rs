//! Values of transactions, kept after the transactions themselves are gone.

use crate::decimal::Decimal;
use crate::transaction::{EventTime, Json, Value};

/// One value, as it was.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Held {
    /// Nothing was there.
    Missing,
    /// `true` or `false`
    Boolean(bool),
    /// Exact, on the heap: most values are texts.
    Number(Box<Decimal>),
    /// To the letter.
    Text(Box<str>),
    /// With the text it was given as.
    Time(Box<EventTime>),
    /// An array or an object, whole.
    Structure(Box<Json>),
}

impl Held {
    /// A copy of a value.
    pub(super) fn of(value: Value<'_>) -> Self {
        match value {
            Value::Missing => Held::Missing,
            Value::Boolean(boolean) => Held::Boolean(boolean),
            Value::Number(number) => Held::Number(Box::new(number)),
            Value::Text(text) => Held::Text(text.into()),
            Value::Time(time) => Held::Time(Box::new(time.clone())),
            Value::List(items) => Held::Structure(Box::new(Json::Array(items.to_vec()))),
            Value::Object(object) => Held::Structure(Box::new(object.clone())),
        }
    }

    /// The value.
    pub(super) fn value(&self) -> Value<'_> {
        match self {
            Held::Missing => Value::Missing,
            Held::Boolean(boolean) => Value::Boolean(*boolean),
            Held::Number(number) => Value::Number(**number),
            Held::Text(text) => Value::Text(text),
            Held::Time(time) => Value::Time(time),
            Held::Structure(json) => Value::of_json(Some(json)),
        }
    }

    /// About how much memory it takes.
    pub(super) fn n_bytes(&self) -> usize {
        let beside = match self {
            Held::Missing | Held::Boolean(_) => 0,
            Held::Number(_) => size_of::<Decimal>(),
            Held::Text(text) => text.len(),
            Held::Time(time) => size_of::<EventTime>() + time.as_str().len(),
            Held::Structure(json) => json.to_string().len() * 4,
        };
        size_of::<Self>() + beside
    }

    /// Whether the two are one to every question, the spelling of date-times and structures included.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Held::Time(one), Held::Time(other)) => one.as_str() == other.as_str(),
            // Equal structures may be spelled apart; they are rare enough to be kept twice.
            (Held::Structure(_), _) | (_, Held::Structure(_)) => false,
            (one, other) => one == other,
        }
    }
}
