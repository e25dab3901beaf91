//! Reasons why a body is not a transaction.

use crate::transaction::JsonError;
use crate::transaction::identifier::UnclearCharacter;

/// A refusal that names the field, if there is one. Safe to show to the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTransaction {
    /// The body is not valid JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The body is JSON, but not an object.
    #[error("a transaction must be an object")]
    NotAnObject,
    /// A required field is absent, or has a value that counts as absent.
    #[error("`{field}` is required")]
    MissingField {
        /// Wire name of the field.
        field: &'static str,
    },
    /// A required field is absent, but a member has a similar name.
    #[error("`{field}` is required; `{given}` is not a field, did you mean `{field}`?")]
    MissingAsSpelled {
        /// Wire name of the field.
        field: &'static str,
        /// Name as sent: ASCII letters and word separators.
        given: String,
    },
    /// A member is a misspelled field.
    #[error("`{given}` is not a field; did you mean `{field}`?")]
    MisspelledField {
        /// Name as sent: ASCII letters and word separators.
        given: String,
        /// Wire name of the field.
        field: &'static str,
    },
    /// A field has an invalid value.
    #[error("`{field}` must be {expected}")]
    InvalidField {
        /// Wire name of the field.
        field: &'static str,
        /// Expected value.
        expected: &'static str,
    },
    /// A new identifier is ambiguous to a reader.
    #[error(
        "`{field}` must not contain {character}: it would look like another identifier; send it without that character"
    )]
    UnclearIdentifier {
        /// Wire name of the field.
        field: &'static str,
        /// Character at fault.
        character: UnclearCharacter,
    },
}

impl InvalidTransaction {
    /// Returns the error code, stable across versions.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            InvalidTransaction::Json(error) => error.code(),
            InvalidTransaction::NotAnObject => "not_an_object",
            InvalidTransaction::MissingField { .. } | InvalidTransaction::MissingAsSpelled { .. } => {
                "missing_field"
            }
            InvalidTransaction::MisspelledField { .. } => "misspelled_field",
            InvalidTransaction::InvalidField { .. } | InvalidTransaction::UnclearIdentifier { .. } => {
                "invalid_field"
            }
        }
    }

    /// Returns the field at fault or the path of a value in it, or `None` for the whole body.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match self {
            InvalidTransaction::Json(error) => error.path(),
            InvalidTransaction::NotAnObject => None,
            InvalidTransaction::MisspelledField { given, .. } => Some(given),
            InvalidTransaction::MissingField { field }
            | InvalidTransaction::MissingAsSpelled { field, .. }
            | InvalidTransaction::InvalidField { field, .. }
            | InvalidTransaction::UnclearIdentifier { field, .. } => Some(field),
        }
    }
}
