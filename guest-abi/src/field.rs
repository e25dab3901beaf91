//! Names of transaction fields as rules write them.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path to a value of a transaction, in canonical spelling: `meta_data` becomes `metadata`, `created_at` becomes
/// `timestamp`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath {
    keys: Vec<String>,
}

/// The type of a field's value, when it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// `amount`
    Number,
    /// `source`, `currency`, …
    Text,
    /// `inflight`, …
    Boolean,
    /// `timestamp`, `effective_date`, …
    Time,
    /// Metadata: any JSON value.
    Dynamic,
    /// No such field; always missing.
    Unknown,
}

/// Every transaction field except metadata, with its type.
const FIELDS: [(&str, FieldType); 18] = [
    ("transaction_id", FieldType::Text),
    ("amount", FieldType::Number),
    ("currency", FieldType::Text),
    ("source", FieldType::Text),
    ("destination", FieldType::Text),
    ("reference", FieldType::Text),
    ("description", FieldType::Text),
    ("status", FieldType::Text),
    ("stage", FieldType::Text),
    ("hash", FieldType::Text),
    ("allow_overdraft", FieldType::Boolean),
    ("inflight", FieldType::Boolean),
    ("skip_queue", FieldType::Boolean),
    ("atomic", FieldType::Boolean),
    ("timestamp", FieldType::Time),
    ("effective_date", FieldType::Time),
    ("scheduled_for", FieldType::Time),
    ("inflight_expiry_date", FieldType::Time),
];
const METADATA: &str = "metadata";

/// The values of the field `stage`, from the start of a payment to its end.
pub const STAGES: [&str; 10] =
    ["created", "other", "queued", "scheduled", "held", "settled", "failed", "expired", "void", "returned"];

impl FieldPath {
    /// Creates a path from keys; the first is the name of a field.
    #[must_use]
    pub fn new<K: Into<String>>(keys: impl IntoIterator<Item = K>) -> Self {
        let mut keys: Vec<String> = keys.into_iter().map(Into::into).collect();
        if let Some(first) = keys.first_mut() {
            match first.as_str() {
                "meta_data" => *first = METADATA.to_string(),
                "created_at" => *first = "timestamp".to_string(),
                _ => {}
            }
        }
        Self { keys }
    }

    /// Parses a path with dots between its keys; see [`split_path`].
    #[must_use]
    pub fn parse(dotted: &str) -> Self {
        Self::new(split_path(dotted))
    }

    /// Returns the first key, in canonical spelling.
    #[must_use]
    pub fn root(&self) -> &str {
        self.keys.first().map_or("", String::as_str)
    }

    /// Returns the keys below `metadata`, or `None` when the path is not a metadata path.
    #[must_use]
    pub fn metadata_keys(&self) -> Option<&[String]> {
        match self.keys.split_first() {
            Some((first, below)) if first == METADATA => Some(below),
            _ => None,
        }
    }

    /// Returns whether this is the field `status`.
    #[must_use]
    pub fn is_status(&self) -> bool {
        matches!(self.keys.as_slice(), [name] if name == "status")
    }

    /// Returns whether this is the field `currency`.
    #[must_use]
    pub fn is_currency(&self) -> bool {
        matches!(self.keys.as_slice(), [name] if name == "currency")
    }

    /// Returns whether this is the field `stage`, which the service derives from the status.
    #[must_use]
    pub fn is_stage(&self) -> bool {
        matches!(self.keys.as_slice(), [name] if name == "stage")
    }

    /// Returns the type implied by the name. A path below a scalar field is [`FieldType::Unknown`].
    #[must_use]
    pub fn field_type(&self) -> FieldType {
        match self.keys.as_slice() {
            [first, ..] if first == METADATA => FieldType::Dynamic,
            [name] => FIELDS
                .iter()
                .find(|(field, _)| field == name)
                .map_or(FieldType::Unknown, |&(_, field_type)| field_type),
            _ => FieldType::Unknown,
        }
    }

    /// Returns every field name in canonical spelling, `metadata` last.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FIELDS.iter().map(|&(name, _)| name).chain([METADATA])
    }
}

/// Splits a path into its keys. A key with characters other than letters, digits and `_` may be in double quotes. A key
/// with a dot must be quoted: `metadata."device.id"`. In quotes `\"` is `"` and `\\` is `\`.
#[must_use]
pub fn split_path(dotted: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut rest = dotted;
    loop {
        let (key, behind) = quoted_key(rest).unwrap_or_else(|| {
            let (key, behind) = rest.find('.').map_or((rest, ""), |dot| rest.split_at(dot));
            (key.to_string(), behind)
        });
        keys.push(key);
        match behind.strip_prefix('.') {
            Some(more) => rest = more,
            None => return keys,
        }
    }
}

/// Returns the quoted key at the start and the rest: empty, or a dot and more.
fn quoted_key(text: &str) -> Option<(String, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut key = String::new();
    let mut characters = inside.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                let behind = inside.get(at + 1..).unwrap_or_default();
                return (behind.is_empty() || behind.starts_with('.')).then_some((key, behind));
            }
            '\\' => match characters.next() {
                Some((_, escaped @ ('"' | '\\'))) => key.push(escaped),
                Some((_, other)) => key.extend(['\\', other]),
                None => return None,
            },
            other => key.push(other),
        }
    }
    None
}

/// Returns whether a key can be written without quotes.
fn is_name(key: &str) -> bool {
    let is_letter = |character: char| character.is_ascii_alphabetic() || character == '_';
    key.starts_with(is_letter)
        && key.chars().all(|character| is_letter(character) || character.is_ascii_digit())
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, key) in self.keys.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            if is_name(key) {
                f.write_str(key)?;
            } else {
                write!(f, "\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""))?;
            }
        }
        Ok(())
    }
}

impl Serialize for FieldPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FieldPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(FieldPath::parse(&String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_metadata_and_of_the_timestamp_are_one_field() {
        assert_eq!(FieldPath::parse("meta_data.a.b"), FieldPath::parse("metadata.a.b"));
        assert_eq!(FieldPath::parse("created_at"), FieldPath::parse("timestamp"));
        assert_eq!(FieldPath::parse("metadata.created_at").to_string(), "metadata.created_at");
    }

    #[test]
    fn a_key_of_any_characters_comes_back_from_its_text() {
        for keys in [
            ["metadata", "device.id"],
            ["metadata", "3ds_result"],
            ["metadata", "a\"b\\c"],
            ["metadata", "größe"],
            ["metadata", ""],
        ] {
            let path = FieldPath::new(keys);
            assert_eq!(FieldPath::parse(&path.to_string()), path, "{path}");
        }
        assert_eq!(FieldPath::new(["metadata", "device-id"]).to_string(), "metadata.\"device-id\"");
        assert_eq!(FieldPath::parse("metadata.device-id"), FieldPath::parse("metadata.\"device-id\""));
        assert_ne!(FieldPath::parse("metadata.a.b"), FieldPath::parse("metadata.\"a.b\""));
        // A key that is not properly quoted keeps its quotes.
        assert_eq!(FieldPath::parse("metadata.\"a"), FieldPath::new(["metadata", "\"a"]));
    }

    #[test]
    fn a_path_through_a_scalar_leads_nowhere() {
        assert_eq!(FieldPath::parse("amount.value").field_type(), FieldType::Unknown);
        assert_eq!(FieldPath::parse("amount").field_type(), FieldType::Number);
        assert_eq!(FieldPath::parse("inflight_expiry_date").field_type(), FieldType::Time);
        assert_eq!(FieldPath::parse("metadata").field_type(), FieldType::Dynamic);
        assert_eq!(FieldPath::parse("amoutn").field_type(), FieldType::Unknown);
    }
}
