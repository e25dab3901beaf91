//! The rules repository over HTTP.

pub(super) mod clone;
pub(super) mod pull;
pub(super) mod push;
pub(super) mod status;
pub(super) mod sync;
pub(super) mod view;

use tollgate_model::transaction::{Json, JsonLimits};

use super::error::ApiError;
use super::error_code::ErrorCode;

const BODY_BYTES_MAX: usize = 16 * 1024;

/// Errors of operations on a remote.
pub(super) const ERRORS_OF_REMOTES: &[ErrorCode] = &[
    ErrorCode::GitRemoteNotAllowed,
    ErrorCode::GitBranchNotFound,
    ErrorCode::GitBusy,
    ErrorCode::GitNotConfigured,
    ErrorCode::GitRulesOverLimit,
    ErrorCode::GitCloneUnusable,
    ErrorCode::GitWorkerFailed,
    ErrorCode::GitUnreachable,
    ErrorCode::GitCredentialsRefused,
    ErrorCode::GitRemoteFailed,
    ErrorCode::GitTransferTooLarge,
    ErrorCode::GitTimeout,
    ErrorCode::Unavailable,
];

/// The members of a body that must be an object.
struct BodyMembers(Vec<(Box<str>, Json)>);

impl BodyMembers {
    /// Parses a body. An empty body and `null` are objects without members.
    fn parse(body: &[u8]) -> Result<Self, ApiError> {
        if body.is_empty() {
            return Ok(Self(Vec::new()));
        }
        match Json::parse(body, JsonLimits::REQUEST)? {
            Json::Object(members) => Ok(Self(members)),
            Json::Null => Ok(Self(Vec::new())),
            _ => Err(ApiError::new(ErrorCode::NotAnObject, "the body must be an object")),
        }
    }

    fn take(&mut self, name: &str) -> Option<Json> {
        let index = self.0.iter().position(|(known, _)| &**known == name)?;
        Some(self.0.swap_remove(index).1).filter(|value| !matches!(value, Json::Null))
    }

    /// Takes a text member. An empty text counts as absent.
    fn text(&mut self, name: &'static str) -> Result<Option<String>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Text(text)) => Ok(Some(text.into_string()).filter(|text| !text.is_empty())),
            Some(_) => {
                Err(ApiError::new(ErrorCode::InvalidField, format!("`{name}` must be a text")).at(name))
            }
        }
    }

    fn required_text(&mut self, name: &'static str) -> Result<String, ApiError> {
        let missing = || ApiError::new(ErrorCode::MissingField, format!("`{name}` is required")).at(name);
        self.text(name)?.ok_or_else(missing)
    }

    fn flag(&mut self, name: &'static str) -> Result<bool, ApiError> {
        match self.take(name) {
            None => Ok(false),
            Some(Json::Boolean(flag)) => Ok(flag),
            Some(_) => {
                Err(ApiError::new(ErrorCode::InvalidField, format!("`{name}` must be true or false"))
                    .at(name))
            }
        }
    }
}
