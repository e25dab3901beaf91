//! `POST /instructions/wasm`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use tollgate_engine::sandbox::AdmissionRefusal;
use tollgate_guest_abi::Manifest;
use tollgate_guest_abi::limits::MODULE_BYTES_MAX;
use tollgate_model::instruction::RuleContent;

use super::confirmation::Confirmed;
use super::parameters::{self, ModuleParameters};
use super::respond_async::{RespondAsync, answer};
use super::view::InstructionView;
use crate::ApiState;
use crate::body::WasmBody;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::openapi::schema;
use tollgate_rules::intake::{InstructionChange, IntakeError};

pub(crate) const ERRORS: &[ErrorCode] = &[
    ErrorCode::ModuleRefused,
    ErrorCode::PolicyDenied,
    ErrorCode::TooExpensive,
    ErrorCode::TooManySaves,
    ErrorCode::NameTaken,
    ErrorCode::TooManyRules,
    ErrorCode::ConfirmationRequired,
    ErrorCode::CompileError,
    ErrorCode::CompilerUnavailable,
    ErrorCode::InstructionNotFound,
    ErrorCode::Unavailable,
];

/// Puts a WebAssembly module from another compiler in force, at most 65,536 bytes.
///
/// The manifest of the module holds the name and action of the rule; see `docs/abi.md`. For a module without a
/// manifest, the query parameters supply it, all of them or none. The module is then stored with that manifest. When
/// the response arrives, the rule is in force; `Prefer: respond-async` works as for a script.
#[utoipa::path(
    post, path = "/instructions/wasm", tag = "Instructions", params(
        ModuleParameters,
        ("confirm" = Option<bool>, Query, description = "Whether a rule that would have matched most of the latest transactions is meant so.")
    ),
    request_body(content = schema::WasmModule, content_type = "application/wasm"),
    responses((status = 201, description = "The rule is in force, or activating with `Prefer: respond-async`.", body = InstructionView))
)]
pub(crate) async fn upload_module(
    State(api): State<ApiState>,
    confirmed: Confirmed,
    RespondAsync(until): RespondAsync,
    WasmBody(module): WasmBody<MODULE_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let manifest = manifest_of(confirmed.query.as_deref())?;
    let content = RuleContent::Module(module);
    let saved =
        api.intake.put(content, manifest, InstructionChange::Add, until, confirmed.confirmation).await?;
    Ok(answer(StatusCode::CREATED, &saved, until))
}

/// Returns the manifest of the query parameters, if there are any.
pub(super) fn manifest_of(query: Option<&str>) -> Result<Option<Manifest>, ApiError> {
    let manifest = parameters::manifest_of(query.unwrap_or_default())
        .map_err(|findings| IntakeError::ModuleRefused(AdmissionRefusal { findings }))?;
    Ok(manifest)
}
