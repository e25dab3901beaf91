//! `GET /git/status`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::view::StatusView;
use crate::api::ApiState;
use crate::api::error::ApiError;
use crate::api::error_code::ErrorCode;

pub(in crate::api) const ERRORS: &[ErrorCode] = &[ErrorCode::GitCloneUnusable];

/// Returns the state of the rules relative to their repository.
#[utoipa::path(
    get, path = "/git/status", tag = "Git",
    responses((status = 200, description = "The state, determined without contacting the remote.", body = StatusView))
)]
pub(in crate::api) async fn status(State(api): State<ApiState>) -> Result<Response, ApiError> {
    let status = api.git.status().await?;
    Ok(Json(StatusView::from(status)).into_response())
}
