//! `GET /lists/{name}`

use std::io::Write;
use std::num::NonZeroUsize;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use tollgate_engine::registry::ListInForce;
use tollgate_model::named_list::text;
use utoipa::IntoParams;

use super::view::{EntriesView, ListView};
use super::{name_of, not_found};
use crate::ApiState;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::page::Page;
use crate::preconditions::entity_tag;
use crate::streamed;
use tollgate_rules::intake::tag_of_list;

pub(crate) const ERRORS: &[ErrorCode] =
    &[ErrorCode::ListNotFound, ErrorCode::InvalidField, ErrorCode::PreconditionFailed];

/// Schema for the OpenAPI document only.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ListPageParameters {
    /// Returns at most so many entries. If others follow, the header `Link` has the address of the next page with
    /// `rel="next"`.
    #[param(minimum = 1, maximum = 10000, example = 100)]
    limit: Option<u32>,
    /// Where the page begins: the cursor in the `Link` of the page before. It is of one version of the list.
    #[param(pattern = "^[0-9]{1,8}-[0-9a-f]{16}$", example = "1190-27dd1f61b867b6a0")]
    cursor: Option<String>,
}

/// Returns a named list with its entries. With `Accept: text/plain`, the answer is the text of the list, or one entry per line
/// of a page of it.
#[utoipa::path(
    get, path = "/lists/{name}", tag = "Lists",
    params(("name" = String, Path, description = "The list's name, without the `$`"), ListPageParameters),
    responses((
        status = 200, description = "The list.",
        content((EntriesView = "application/json"), (String = "text/plain")),
        headers(
            ("ETag" = String, description = "Names the text of the list, for `If-Match`."),
            ("Link" = String, description = "Address of the next page, if there is one.")
        )
    ))
)]
pub(crate) async fn get_list(
    State(api): State<ApiState>,
    name: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let page = Page::read(query.as_deref())?;
    let name = name_of(name);
    let list = api.intake.lists().get(&name).cloned().ok_or_else(|| not_found(&name))?;
    let begin = match page.cursor(ListCursor::read)? {
        Some(cursor) => Some(cursor.begin_in(&list)?),
        None => None,
    };
    let entries = ListEntries { list, from: begin.unwrap_or(0) };
    let next = page.limit.and_then(|limit| entries.begin_after(limit));
    let next = next.and_then(|next| {
        let cursor = format!("{next}-{}", version_of(&entries.list));
        page.link_to_next(&format!("/lists/{name}"), &cursor)
    });
    let tag = entity_tag(&tag_of_list(&entries.list));
    let varies = [(header::VARY, HeaderValue::from_static("accept"))];
    let n_entries = page.limit.map_or(usize::MAX, NonZeroUsize::get);
    let body = match (asks_for_text(&headers), begin, page.limit) {
        (true, None, None) => streamed::shared_text(&entries.list.text),
        (true, ..) => {
            let line_of = |entry: String| text::text_of([entry.as_str()]);
            streamed::lines(entries.take(n_entries).map(line_of)).await
        }
        (false, ..) => {
            let head = ListView::new(&name, &entries.list, &api.intake);
            let mut open =
                serde_json::to_vec(&head).map_err(|error| ApiError::internal(&error.to_string()))?;
            open.pop();
            open.extend_from_slice(b",\"entries\":[");
            let write = |entry: &String, writer: &mut dyn Write| serde_json::to_writer(writer, entry);
            streamed::elements(open, entries.take(n_entries), write, b"]}").await
        }
    };
    let mut response = (tag, varies, body).into_response();
    response.headers_mut().extend(next);
    Ok(response)
}

/// The entries of a list from a line on, read from its text one by one.
struct ListEntries {
    list: ListInForce,
    /// The byte at which the line begins.
    from: usize,
}

impl ListEntries {
    /// Returns where the line begins after so many entries, if entries follow.
    fn begin_after(&self, n_entries: NonZeroUsize) -> Option<usize> {
        let mut read = Self { list: self.list.clone(), from: self.from };
        read.nth(n_entries.get() - 1)?;
        let begin = read.from;
        read.next().map(|_| begin)
    }
}

impl Iterator for ListEntries {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let (entry, after) = text::entry_from(&self.list.text, self.from, self.list.semantics)?;
        self.from = after;
        Some(entry.into_owned())
    }
}

/// Returns the name of the version of a list in cursors.
fn version_of(list: &ListInForce) -> String {
    list.digest.to_string().chars().take(16).collect()
}

/// The place of a page in a version of a list.
struct ListCursor {
    /// The byte at which the first line of the page begins.
    begin: usize,
    version: String,
}

impl ListCursor {
    fn read(cursor: &str) -> Option<Self> {
        let (begin, version) = cursor.split_once('-')?;
        Some(Self { begin: begin.parse().ok()?, version: version.to_owned() })
    }

    /// Returns where the page begins in this list.
    ///
    /// # Errors
    /// [`ErrorCode::PreconditionFailed`] if the cursor is of another version of the list.
    fn begin_in(&self, list: &ListInForce) -> Result<usize, ApiError> {
        let before = self.begin.checked_sub(1);
        let is_begin = before.is_none_or(|before| list.text.as_bytes().get(before) == Some(&b'\n'));
        if is_begin && self.version == version_of(list) {
            return Ok(self.begin);
        }
        let message = "the list has changed since the page before; begin again without `cursor`";
        Err(ApiError::new(ErrorCode::PreconditionFailed, message).at("cursor"))
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
