//! `DELETE /instructions/{id}`

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use super::id_of;
use crate::ApiState;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::preconditions::Conditional;

pub(crate) const ERRORS: &[ErrorCode] = &[
    ErrorCode::InstructionNotFound,
    ErrorCode::PolicyDenied,
    ErrorCode::PreconditionFailed,
    ErrorCode::TooFewRules,
    ErrorCode::Unavailable,
];

/// Removes an instruction from force.
///
/// When the response arrives, the rule no longer applies to transactions. Verdicts that it contributed to stay
/// unchanged. Under a policy, a rule that did not come over the API needs the grant `change`.
#[utoipa::path(
    delete, path = "/instructions/{id}", tag = "Instructions",
    params(
        ("id" = i64, Path, description = "The instruction's id"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of what is removed; another one in force is 412.")
    ),
    responses((status = 204, description = "The instruction is removed."))
)]
pub(crate) async fn remove_instruction(
    State(api): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
    Conditional(condition): Conditional,
) -> Result<StatusCode, ApiError> {
    api.intake.remove(id_of(id)?, condition).await?;
    Ok(StatusCode::NO_CONTENT)
}
