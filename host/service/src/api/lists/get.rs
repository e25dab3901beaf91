//! `GET /lists/{name}`

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::view::EntriesView;
use super::{name_of, not_found};
use crate::api::ApiState;
use crate::api::error::ApiError;
use crate::api::error_code::ErrorCode;
use crate::api::preconditions::entity_tag;
use crate::intake::tag_of_list;

pub(in crate::api) const ERRORS: &[ErrorCode] = &[ErrorCode::ListNotFound];

/// Returns a named list with its entries. With `Accept: text/plain`, the answer is the text of the list.
#[utoipa::path(
    get, path = "/lists/{name}", tag = "Lists",
    params(("name" = String, Path, description = "The list's name, without the `$`")),
    responses((
        status = 200, description = "The list.",
        content((EntriesView = "application/json"), (String = "text/plain")),
        headers(("ETag" = String, description = "Names the text of the list, for `If-Match`."))
    ))
)]
pub(in crate::api) async fn get_list(
    State(api): State<ApiState>,
    name: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let name = name_of(name);
    let list = api.intake.lists().get(&name).cloned().ok_or_else(|| not_found(&name))?;
    let tag = entity_tag(&tag_of_list(&list));
    let varies = [(header::VARY, HeaderValue::from_static("accept"))];
    if asks_for_text(&headers) {
        let plain = [(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))];
        return Ok((tag, varies, plain, list.text.to_string()).into_response());
    }
    // A long list is megabytes of text, which would block the async executor for too long.
    let written =
        tokio::task::spawn_blocking(move || serde_json::to_vec(&EntriesView::new(&name, &list, &api.intake)))
            .await;
    match written {
        Ok(Ok(body)) => Ok((tag, varies, [(header::CONTENT_TYPE, "application/json")], body).into_response()),
        Ok(Err(error)) => Err(ApiError::internal(&error.to_string())),
        Err(error) => Err(ApiError::internal(&error.to_string())),
    }
}

/// Returns whether a client accepts plain text, and neither JSON nor everything.
fn asks_for_text(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let types = accepted
        .flat_map(|value| value.split(','))
        .map(|range| range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    let types: Vec<String> = types.collect();
    types.iter().any(|range| range == "text/plain")
        && !types.iter().any(|range| ["application/json", "*/*"].contains(&&**range))
}
