//! `GET /lists/{name}`

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::view::EntriesView;
use super::{name_of, not_found};
use crate::api::ApiState;
use crate::api::error::ApiError;
use crate::api::error_code::ErrorCode;

pub(in crate::api) const ERRORS: &[ErrorCode] = &[ErrorCode::ListNotFound];

/// Returns a named list with its entries.
#[utoipa::path(
    get, path = "/lists/{name}", tag = "Lists",
    params(("name" = String, Path, description = "The list's name, without the `$`")),
    responses((status = 200, description = "The list.", body = EntriesView))
)]
pub(in crate::api) async fn get_list(
    State(api): State<ApiState>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    let name = name_of(name);
    let list = api.intake.lists().get(&name).cloned().ok_or_else(|| not_found(&name))?;
    // A long list is megabytes of text, which would block the async executor for too long.
    let written =
        tokio::task::spawn_blocking(move || serde_json::to_vec(&EntriesView::new(&name, &list, &api.intake)))
            .await;
    match written {
        Ok(Ok(body)) => Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response()),
        Ok(Err(error)) => Err(ApiError::internal(&error.to_string())),
        Err(error) => Err(ApiError::internal(&error.to_string())),
    }
}
