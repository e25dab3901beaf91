//! `DELETE /lists/{name}`

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use super::{name_of, not_found};
use crate::ApiState;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::preconditions::Conditional;
use tollgate_rules::intake::IntakeError;

pub(crate) const ERRORS: &[ErrorCode] = &[
    ErrorCode::ListNotFound,
    ErrorCode::ListTaken,
    ErrorCode::PolicyDenied,
    ErrorCode::PreconditionFailed,
    ErrorCode::Unavailable,
];

/// Removes a named list that was set over the API.
///
/// When the response arrives, rules that use the list fail, so the verdict is at least `review`. To remove a list that
/// comes from a file, remove the file. Under a policy, the list needs the grant `set_lists`.
#[utoipa::path(
    delete, path = "/lists/{name}", tag = "Lists",
    params(
        ("name" = String, Path, description = "The list's name, without the `$`"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of what is removed; another one in force is 412.")
    ),
    responses((status = 204, description = "The list is removed."))
)]
pub(crate) async fn remove_list(
    State(api): State<ApiState>,
    name: Result<Path<String>, PathRejection>,
    Conditional(condition): Conditional,
) -> Result<StatusCode, ApiError> {
    let name = name_of(name);
    match api.intake.remove_list(&name, condition).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(IntakeError::ListNotFound(_)) => Err(not_found(&name)),
        Err(error) => Err(error.into()),
    }
}
