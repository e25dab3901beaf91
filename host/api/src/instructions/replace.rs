//! `PUT /instructions/{id}` and `PUT /instructions/{id}/module`

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use tollgate_guest_abi::limits::MODULE_BYTES_MAX;
use tollgate_model::instruction::RuleContent;

use super::compile_and_save::{InstructionScript, SCRIPT_BODY_BYTES_MAX};
use super::confirmation::Confirmed;
use super::id_of;
use super::parameters::ModuleParameters;
use super::respond_async::{RespondAsync, answer};
use super::upload;
use super::view::InstructionView;
use crate::ApiState;
use crate::body::{JsonBody, WasmBody};
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::openapi::schema;
use crate::preconditions::Conditional;
use tollgate_rules::intake::InstructionChange;

pub(crate) const ERRORS: &[ErrorCode] =
    &[ErrorCode::InstructionChanging, ErrorCode::InstructionTaken, ErrorCode::PreconditionFailed];

/// Replaces the script of an instruction, which keeps its id.
///
/// The earlier script judges transactions until the new one is in force; there is no transaction that neither judges.
/// The rule may get another name. A quarantine ends. Only an instruction that was saved as a script over the API can be
/// replaced.
#[utoipa::path(
    put, path = "/instructions/{id}", tag = "Instructions", request_body = InstructionScript,
    params(
        ("id" = i64, Path, description = "The instruction's id"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of what is replaced; another one in force is 412."),
        ("confirm" = Option<bool>, Query, description = "Whether a rule that would have matched most of the latest transactions is meant so.")
    ),
    responses((status = 200, description = "The script is in force, or activating with `Prefer: respond-async`.", body = InstructionView))
)]
pub(crate) async fn replace_script(
    State(api): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
    RespondAsync(until): RespondAsync,
    confirmed: Confirmed,
    Conditional(condition): Conditional,
    body: JsonBody<SCRIPT_BODY_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let id = id_of(id)?;
    let content = InstructionScript::read(&body.0)?.into();
    let saved = api
        .intake
        .put(content, None, InstructionChange::Replace(id, condition), until, confirmed.confirmation)
        .await?;
    Ok(answer(StatusCode::OK, &saved, until))
}

/// Replaces the module of an instruction, which keeps its id.
///
/// As for a script; the query parameters are those of an upload. Only an uploaded instruction can be replaced.
#[utoipa::path(
    put, path = "/instructions/{id}/module", tag = "Instructions",
    params(
        ("id" = i64, Path, description = "The instruction's id"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of what is replaced; another one in force is 412."),
        ("confirm" = Option<bool>, Query, description = "Whether a rule that would have matched most of the latest transactions is meant so."),
        ModuleParameters
    ),
    request_body(content = schema::WasmModule, content_type = "application/wasm"),
    responses((status = 200, description = "The module is in force, or activating with `Prefer: respond-async`.", body = InstructionView))
)]
pub(crate) async fn replace_module(
    State(api): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
    RespondAsync(until): RespondAsync,
    confirmed: Confirmed,
    Conditional(condition): Conditional,
    WasmBody(module): WasmBody<MODULE_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let id = id_of(id)?;
    let manifest = upload::manifest_of(confirmed.query.as_deref())?;
    let saved = api
        .intake
        .put(
            RuleContent::Module(module),
            manifest,
            InstructionChange::Replace(id, condition),
            until,
            confirmed.confirmation,
        )
        .await?;
    Ok(answer(StatusCode::OK, &saved, until))
}
