//! Why a body is no transaction.

use crate::transaction::JsonError;
use crate::transaction::identifier::UnclearCharacter;

/// A refusal that names the field, where there is one. Safe to show to the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTransaction {
    /// It is no JSON to begin with.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// It is JSON, but no object.
    #[error("a transaction must be an object")]
    NotAnObject,
    /// A required field is left out or null.
    #[error("`{field}` is required")]
    MissingField {
        /// As the wire names it.
        field: &'static str,
    },
    /// A required field is not there, but a member that spells it otherwise.
    #[error("`{field}` is required; `{given}` is not a field, did you mean `{field}`?")]
    MissingAsSpelled {
        /// As the wire names it.
        field: &'static str,
        /// As it was named: letters of ASCII and what separates words.
        given: String,
    },
    /// A member is a field in another spelling.
    #[error("`{given}` is not a field; did you mean `{field}`?")]
    MisspelledField {
        /// As it was named: letters of ASCII and what separates words.
        given: String,
        /// As the wire names it.
        field: &'static str,
    },
    /// A field holds something else than it should.
    #[error("`{field}` must be {expected}")]
    InvalidField {
        /// As the wire names it.
        field: &'static str,
        /// What it should hold.
        expected: &'static str,
    },
    /// A new identifier cannot be told from another by looking at it.
    #[error("`{field}` must not hold {character}: it looks like another one; send it without")]
    UnclearIdentifier {
        /// As the wire names it.
        field: &'static str,
        /// What it holds.
        character: UnclearCharacter,
    },
}

impl InvalidTransaction {
    /// Names the kind, stable across versions.
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

    /// The field at fault, or the path of a value below it; `None` when it is the body as a whole.
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
