//! `GET /instructions/{id}`

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};

use super::view::InstructionView;
use super::{id_of, not_found};
use crate::ApiState;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::preconditions::entity_tag;
use tollgate_rules::intake::tag_of_instruction;

pub(crate) const ERRORS: &[ErrorCode] = &[ErrorCode::InstructionNotFound];

/// Returns an instruction that is in force.
#[utoipa::path(
    get, path = "/instructions/{id}", tag = "Instructions",
    params(("id" = i64, Path, description = "The instruction's id")),
    responses((
        status = 200, description = "The instruction.", body = InstructionView,
        headers(("ETag" = String, description = "Names the script or module, for `If-Match`."))
    ))
)]
pub(crate) async fn get_instruction(
    State(api): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    let id = id_of(id)?;
    let listed = api.intake.instruction(id).ok_or_else(|| not_found(&id.to_string()))?;
    let tag = entity_tag(&tag_of_instruction(&listed.instruction));
    Ok((tag, Json(InstructionView::from(&listed))).into_response())
}
