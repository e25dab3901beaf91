//! Why a body is no transaction.

use crate::transaction::JsonError;

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
    /// A field holds something else than it should.
    #[error("`{field}` must be {expected}")]
    InvalidField {
        /// As the wire names it.
        field: &'static str,
        /// What it should hold.
        expected: &'static str,
    },
}

impl InvalidTransaction {
    /// Names the kind, stable across versions.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            InvalidTransaction::Json(error) => error.code(),
            InvalidTransaction::NotAnObject => "not_an_object",
            InvalidTransaction::MissingField { .. } => "missing_field",
            InvalidTransaction::InvalidField { .. } => "invalid_field",
        }
    }

    /// The field at fault, or the path of a value below it; `None` when it is the body as a whole.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match self {
            InvalidTransaction::Json(error) => error.path(),
            InvalidTransaction::NotAnObject => None,
            InvalidTransaction::MissingField { field } | InvalidTransaction::InvalidField { field, .. } => {
                Some(field)
            }
        }
    }
}
