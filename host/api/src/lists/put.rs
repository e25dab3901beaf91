//! `PUT /lists/{name}`

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::body::ListBody;
use super::name_of;
use super::view::{ListView, SavedListView};
use crate::ApiState;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::openapi::schema;
use crate::preconditions::{Conditional, entity_tag};
use tollgate_rules::intake::tag_of_list;

pub(crate) const ERRORS: &[ErrorCode] = &[
    ErrorCode::InvalidList,
    ErrorCode::PolicyDenied,
    ErrorCode::ListTaken,
    ErrorCode::TooManyLists,
    ErrorCode::PreconditionFailed,
    ErrorCode::Unavailable,
];

/// Sets a named list, replacing any previous list of this name.
///
/// The body is a JSON array of texts, which are stored unchanged as entries, or plain text in the format of a list
/// file. A list file has one entry per line, without surrounding blanks. A comment starts with `#` at the start of a
/// line, or with `#` between blanks. The body has at most 16 MiB and 1,000,000 entries. When the response arrives, the
/// list is in force. A list that comes from a file must be changed in that file. Under a policy, the list needs the grant
/// `set_lists`.
///
/// `warnings` names entries that may not be what was meant, such as a comment inside an entry of a JSON array.
#[utoipa::path(
    put, path = "/lists/{name}", tag = "Lists",
    params(
        (
            "name" = String,
            Path,
            description = "The list's name, without the `$`: letters, digits and `_`, in parts separated by `.`; none begins with \
                           a digit, and the first is not `current`",
            pattern = r"^(?!current(\.|$))[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$",
            max_length = 128
        ),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the list that is replaced; another one in force is 412."),
        ("If-None-Match" = Option<String>, Header, description = "`*`: a list of this name in force is 412.")
    ),
    request_body(content((Vec<schema::ListEntry> = "application/json"), (String = "text/plain"))),
    responses(
        (
            status = 200, description = "The list is in force and replaces the previous one.", body = SavedListView,
            headers(("ETag" = String, description = "Names the text of the list, for `If-Match`."))
        ),
        (
            status = 201, description = "The list is in force.", body = SavedListView,
            headers(("ETag" = String, description = "Names the text of the list, for `If-Match`."))
        )
    )
)]
pub(crate) async fn put_list(
    State(api): State<ApiState>,
    name: Result<Path<String>, PathRejection>,
    Conditional(condition): Conditional,
    body: ListBody,
) -> Result<Response, ApiError> {
    let name = name_of(name);
    let saved = match body {
        ListBody::Entries(entries) => api.intake.set_list_entries(&name, entries, condition).await?,
        ListBody::Text(text) => api.intake.set_list(&name, text, condition).await?,
    };
    let status = if saved.is_new { StatusCode::CREATED } else { StatusCode::OK };
    let tag = entity_tag(&tag_of_list(&saved.list));
    let view = SavedListView::new(ListView::new(&name, &saved.list, &api.intake), saved.warnings);
    Ok((status, tag, Json(view)).into_response())
}
