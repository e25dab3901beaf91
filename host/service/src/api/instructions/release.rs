//! `POST /instructions/{id}/release`

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};

use super::id_of;
use super::view::InstructionView;
use crate::api::ApiState;
use crate::api::body::MaybeJsonBody;
use crate::api::error::ApiError;
use crate::api::error_code::ErrorCode;

/// A body has no meaning here.
const RELEASE_BYTES_MAX: usize = 1024;

pub(in crate::api) const ERRORS: &[ErrorCode] = &[
    ErrorCode::InstructionNotFound,
    ErrorCode::ModuleRefused,
    ErrorCode::PolicyDenied,
    ErrorCode::Unavailable,
];

/// Has a rule run again that is in quarantine.
///
/// When the answer is there, transactions are judged by it. If it goes on failing it comes back into quarantine. Of a rule
/// that is in none, nothing changes.
#[utoipa::path(
    post, path = "/instructions/{id}/release", tag = "Instructions",
    params(("id" = i64, Path, description = "The instruction's id")),
    responses((status = 200, description = "The instruction, in force.", body = InstructionView))
)]
pub(in crate::api) async fn release(
    State(api): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
    _: MaybeJsonBody<RELEASE_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let instruction = api.intake.release(id_of(id)?).await?;
    Ok(Json(InstructionView::from(&*instruction)).into_response())
}
