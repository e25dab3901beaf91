//! Named lists over HTTP.

pub(super) mod body;
pub(super) mod check;
pub(super) mod get;
pub(super) mod list;
pub(super) mod put;
pub(super) mod remove;
pub(super) mod view;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;

use super::error::ApiError;
use super::error_code::ErrorCode;
use super::quoted::quoted;

/// Returns the name in a path; an invalid name matches no list.
fn name_of(path: Result<Path<String>, PathRejection>) -> String {
    path.map(|Path(name)| name).unwrap_or_default()
}

fn not_found(name: &str) -> ApiError {
    ApiError::new(ErrorCode::ListNotFound, format!("there is no list {}", quoted(name)))
}
