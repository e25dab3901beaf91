//! `GET /instructions`

use std::io::Write;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use tollgate_model::instruction::InstructionId;

use super::view::InstructionView;
use crate::ApiState;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::page::{Page, PageParameters};
use crate::streamed;
use tollgate_rules::intake::ListedInstruction;

pub(crate) const ERRORS: &[ErrorCode] = &[ErrorCode::InvalidField];

/// Lists the instructions in force and those waiting for the history, by id.
#[utoipa::path(
    get, path = "/instructions", tag = "Instructions", params(PageParameters),
    responses((
        status = 200,
        description = "One entry for each rule that is in force or about to be.",
        body = [InstructionView],
        headers(("Link" = String, description = "Address of the next page, if there is one."))
    ))
)]
pub(crate) async fn list_instructions(
    State(api): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = Page::read(query.as_deref())?;
    let after = page.cursor(|id| id.parse().ok())?.unwrap_or(0);
    let instructions = api.intake.instructions_after(InstructionId(after));
    let last = page.limit.and_then(|limit| instructions.last_of_first(limit));
    let next = last.and_then(|last| page.link_to_next("/instructions", &last.0.to_string()));
    let listed = instructions.take(page.limit.map_or(usize::MAX, usize::from));
    let write = |listed: &ListedInstruction, writer: &mut dyn Write| {
        serde_json::to_writer(writer, &InstructionView::from(listed))
    };
    let mut response = streamed::elements(b"[".to_vec(), listed, write, b"]").await;
    response.headers_mut().extend(next);
    Ok(response)
}
