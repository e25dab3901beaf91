//! `POST /instructions/{id}/release`

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};

use super::id_of;
use super::view::InstructionView;
use crate::ApiState;
use crate::body::MaybeJsonBody;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use tollgate_rules::intake::IntakeError;

/// Maximum size of the body, in bytes. The body is ignored.
const RELEASE_BYTES_MAX: usize = 1024;

pub(crate) const ERRORS: &[ErrorCode] = &[
    ErrorCode::InstructionNotFound,
    ErrorCode::NameTaken,
    ErrorCode::GitBusy,
    ErrorCode::GitNotConfigured,
    ErrorCode::GitCloneUnusable,
    ErrorCode::ModuleRefused,
    ErrorCode::PolicyDenied,
    ErrorCode::TooExpensive,
    ErrorCode::Unavailable,
];

/// Releases a rule from quarantine, or brings a removed rule of the repository back.
///
/// When the response arrives, the rule is in force. If it continues to fail, it returns to quarantine. A rule that is
/// not in quarantine is left unchanged.
///
/// A rule of the repository that was removed under a policy, and whose removal was not pushed, is in force again too, with
/// a new id. Under a policy, a rule that did not come over the API needs the grant `change`.
#[utoipa::path(
    post, path = "/instructions/{id}/release", tag = "Instructions",
    params(("id" = i64, Path, description = "The instruction's id")),
    responses((status = 200, description = "The instruction is in force again.", body = InstructionView))
)]
pub(crate) async fn release(
    State(api): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
    _: MaybeJsonBody<RELEASE_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let id = id_of(id)?;
    let instruction = match api.intake.release(id).await {
        Err(IntakeError::NotFound(_)) => api.git.bring_back(id).await?,
        released => released?,
    };
    Ok(Json(InstructionView::from(&*instruction)).into_response())
}
