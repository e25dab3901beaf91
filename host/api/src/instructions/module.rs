//! `GET /instructions/{id}/module`

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::{id_of, not_found};
use crate::ApiState;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::openapi::schema;

pub(crate) const ERRORS: &[ErrorCode] = &[ErrorCode::InstructionNotFound];

/// Returns the WebAssembly module of an instruction, uploaded or compiled.
///
/// The module of an upload contains its manifest.
#[utoipa::path(
    get, path = "/instructions/{id}/module", tag = "Instructions",
    params(("id" = i64, Path, description = "The instruction's id")),
    responses((
        status = 200, description = "The module, byte for byte.", body = schema::WasmModule, content_type = "application/wasm",
        headers(
            ("ETag" = String, description = "The SHA-256 of the module, in quotation marks."),
            ("Content-Disposition" = String, description = "Suggested file name, from the name of the rule.")
        )
    ))
)]
pub(crate) async fn get_module(
    State(api): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    let id = id_of(id)?;
    let listed = api.intake.instruction(id).ok_or_else(|| not_found(&id.to_string()))?;
    let instruction = &listed.instruction;
    let headers = [
        (header::CONTENT_TYPE, "application/wasm".to_owned()),
        (header::ETAG, format!("\"{}\"", instruction.digest)),
        (
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{}.wasm\"", file_name(&instruction.record.name)),
        ),
    ];
    Ok((headers, instruction.record.module.clone()).into_response())
}

/// Returns a file name that is safe in headers and file systems.
fn file_name(name: &str) -> String {
    let is_plain = |character: &char| character.is_ascii_alphanumeric() || *character == '_';
    name.chars().map(|character| if is_plain(&character) { character } else { '_' }).collect()
}
