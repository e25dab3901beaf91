//! `GET /instructions/{id}`

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};

use super::view::InstructionView;
use super::{id_of, not_found};
use crate::api::ApiState;
use crate::api::error::ApiError;
use crate::api::error_code::ErrorCode;

pub(in crate::api) const ERRORS: &[ErrorCode] = &[ErrorCode::InstructionNotFound];

/// Returns an instruction that is in force.
#[utoipa::path(
    get, path = "/instructions/{id}", tag = "Instructions",
    params(("id" = i64, Path, description = "The instruction's id")),
    responses((status = 200, description = "The instruction.", body = InstructionView))
)]
pub(in crate::api) async fn get_instruction(
    State(api): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    let id = id_of(id)?;
    let listed = api.intake.instruction(id).ok_or_else(|| not_found(&id.to_string()))?;
    Ok(Json(InstructionView::from(&listed)).into_response())
}
