//! The entries of a body, taken one by one and checked against their kinds.

use std::sync::Arc;

use crate::transaction::identifier::is_control;
use crate::transaction::left_out::is_left_out;
use crate::transaction::wire_fields::kind_of;
use crate::transaction::{EventTime, InvalidTransaction, Json, JsonError, JsonNumber};

/// Maximum length of an id or code, in bytes.
const ID_BYTES_MAX: usize = 255;
/// Maximum length of a reference: ten times that of a remittance line of 35 characters.
const REFERENCE_CHARACTERS_MAX: usize = 350;
const REFERENCE_BYTES_MAX: usize = 4 * REFERENCE_CHARACTERS_MAX;
/// Maximum length of a description, in bytes.
pub const DESCRIPTION_BYTES_MAX: usize = 4 * 1024;
/// Maximum length of a date-time, in bytes. One with nanoseconds and an offset has 35.
const TIME_BYTES_MAX: usize = 64;
/// The valid instants, in microseconds: the years 1970 to 9999 in UTC.
const MICROS: std::ops::Range<i64> = 0..253_402_300_800_000_000;

pub(super) struct Fields {
    /// Entries; a value becomes `None` once it is taken.
    entries: Vec<(Box<str>, Option<Json>)>,
}

impl Fields {
    pub(super) fn new(entries: Vec<(Box<str>, Json)>) -> Self {
        Self { entries: entries.into_iter().map(|(name, value)| (name, Some(value))).collect() }
    }

    /// Takes a value. Returns `None` if it is absent or counts as absent.
    fn take(&mut self, field: &str) -> Option<Json> {
        let (_, value) = self.entries.iter_mut().find(|(name, _)| **name == *field)?;
        value.take().filter(|value| !is_left_out(field, value))
    }

    pub(super) fn number(&mut self, field: &'static str) -> Result<JsonNumber, InvalidTransaction> {
        match self.take(field) {
            Some(Json::Number(number)) => Ok(number),
            Some(Json::WideNumber(_)) => Err(JsonError::of_wide_number(field).into()),
            Some(_) => Err(InvalidTransaction::InvalidField {
                field,
                expected: "a number, or a text such as `10.50`",
            }),
            None => Err(InvalidTransaction::MissingField { field }),
        }
    }

    /// Takes an id. The permitted characters depend on the sender; see `identifier`.
    pub(super) fn id(&mut self, field: &'static str) -> Result<Option<Arc<str>>, InvalidTransaction> {
        self.checked(field, why_no_short_text)
    }

    pub(super) fn required_code(&mut self, field: &'static str) -> Result<Arc<str>, InvalidTransaction> {
        self.code(field)?.ok_or(InvalidTransaction::MissingField { field })
    }

    pub(super) fn code(&mut self, field: &'static str) -> Result<Option<Arc<str>>, InvalidTransaction> {
        self.checked(field, why_no_code)
    }

    /// Takes a reference: a text with any characters.
    pub(super) fn required_reference(&mut self, field: &'static str) -> Result<Arc<str>, InvalidTransaction> {
        self.checked(field, why_no_reference)?.ok_or(InvalidTransaction::MissingField { field })
    }

    fn checked(
        &mut self,
        field: &'static str,
        why_not: impl FnOnce(&str) -> Option<&'static str>,
    ) -> Result<Option<Arc<str>>, InvalidTransaction> {
        let Some(text) = self.text(field)? else { return Ok(None) };
        match why_not(&text) {
            Some(expected) => Err(InvalidTransaction::InvalidField { field, expected }),
            None => Ok(Some(text.into())),
        }
    }

    pub(super) fn prose(&mut self, field: &'static str) -> Result<Option<Arc<str>>, InvalidTransaction> {
        match self.text(field)? {
            Some(text) if text.len() > DESCRIPTION_BYTES_MAX => {
                Err(InvalidTransaction::InvalidField { field, expected: "a text of at most 4096 bytes" })
            }
            text => Ok(text.map(Into::into)),
        }
    }

    fn text(&mut self, field: &'static str) -> Result<Option<Box<str>>, InvalidTransaction> {
        match self.take(field) {
            Some(Json::Text(text)) => Ok(Some(text)),
            Some(_) => Err(InvalidTransaction::InvalidField { field, expected: "a text" }),
            None => Ok(None),
        }
    }

    pub(super) fn boolean(&mut self, field: &'static str) -> Result<bool, InvalidTransaction> {
        match self.take(field) {
            Some(Json::Boolean(boolean)) => Ok(boolean),
            Some(_) => Err(InvalidTransaction::InvalidField { field, expected: "`true` or `false`" }),
            None => Ok(false),
        }
    }

    pub(super) fn time(&mut self, field: &'static str) -> Result<Option<EventTime>, InvalidTransaction> {
        let invalid = |expected| Err(InvalidTransaction::InvalidField { field, expected });
        let parsed = match self.take(field) {
            Some(Json::Text(text)) if text.len() <= TIME_BYTES_MAX => EventTime::parse(&text),
            Some(_) => None,
            None => return Ok(None),
        };
        match parsed {
            Some(time) if MICROS.contains(&time.micros()) => Ok(Some(time)),
            Some(_) => invalid("a date-time in the years 1970 to 9999"),
            None => invalid("a date-time in RFC 3339, such as `2026-01-31T12:00:00Z`"),
        }
    }

    pub(super) fn object(&mut self, field: &'static str) -> Result<Option<Json>, InvalidTransaction> {
        match self.take(field) {
            Some(object @ Json::Object(_)) => Ok(Some(object)),
            Some(_) => Err(InvalidTransaction::InvalidField { field, expected: "an object" }),
            None => Ok(None),
        }
    }

    /// Returns the fields outside the interface, in their original order. Null values are kept.
    pub(super) fn unnamed(self) -> Vec<(Box<str>, Json)> {
        self.entries
            .into_iter()
            .filter(|(name, _)| kind_of(name).is_none())
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

/// Returns the expectation that an id violates, or `None` if it is valid.
fn why_no_short_text(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("a text that is not empty")
    } else if text.len() > ID_BYTES_MAX {
        Some("a text of at most 255 bytes")
    } else {
        None
    }
}

fn why_no_reference(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("a text that is not empty")
    } else if text.len() > REFERENCE_BYTES_MAX || text.chars().count() > REFERENCE_CHARACTERS_MAX {
        Some("a text of at most 350 characters")
    } else {
        None
    }
}

/// Returns the expectation that a currency, status or hash violates, or `None` if it is valid.
pub(in crate::transaction) fn why_no_code(text: &str) -> Option<&'static str> {
    why_no_short_text(text)
        .or_else(|| text.contains(is_control).then_some("a text without control characters"))
}
