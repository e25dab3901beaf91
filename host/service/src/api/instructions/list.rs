//! `GET /instructions`

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::view::InstructionView;
use crate::api::ApiState;
use crate::api::error::ApiError;
use crate::api::error_code::ErrorCode;

pub(in crate::api) const ERRORS: &[ErrorCode] = &[];

/// Lists the instructions in force and those waiting for the history, by id.
#[utoipa::path(
    get, path = "/instructions", tag = "Instructions",
    responses((
        status = 200,
        description = "One entry for each rule that is in force or about to be.",
        body = [InstructionView]
    ))
)]
pub(in crate::api) async fn list_instructions(State(api): State<ApiState>) -> Result<Response, ApiError> {
    let instructions = api.intake.instructions();
    // A thousand instructions are megabytes of text, which would block the async executor for too long.
    let written = tokio::task::spawn_blocking(move || {
        let views: Vec<_> = instructions.iter().map(InstructionView::from).collect();
        serde_json::to_vec(&views)
    });
    match written.await {
        Ok(Ok(body)) => Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response()),
        Ok(Err(error)) => Err(ApiError::internal(&error.to_string())),
        Err(error) => Err(ApiError::internal(&error.to_string())),
    }
}
