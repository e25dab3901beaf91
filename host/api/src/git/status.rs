//! `GET /git/status`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::view::StatusView;
use crate::ApiState;
use crate::error::ApiError;
use crate::error_code::ErrorCode;

pub(crate) const ERRORS: &[ErrorCode] = &[ErrorCode::GitCloneUnusable];

/// Returns the state of the rules relative to their repository.
#[utoipa::path(
    get, path = "/git/status", tag = "Git",
    responses((status = 200, description = "The state, determined without contacting the remote.", body = StatusView))
)]
pub(crate) async fn status(State(api): State<ApiState>) -> Result<Response, ApiError> {
    let status = api.git.status().await?;
    Ok(Json(StatusView::from(status)).into_response())
}
