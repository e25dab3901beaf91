//! Instructions over HTTP.

pub(super) mod check;
pub(super) mod compile_and_save;
mod confirmation;
pub(super) mod get;
pub(super) mod hits;
pub(super) mod list;
pub(super) mod module;
mod parameters;
pub(super) mod release;
pub(super) mod remove;
pub(super) mod replace;
mod respond_async;
pub(super) mod summaries;
pub(super) mod upload;
pub(super) mod view;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use tollgate_model::instruction::InstructionId;

use super::error::ApiError;
use super::error_code::ErrorCode;
use super::quoted::quoted;

/// Parses the id in a path. Any text that is not an id is answered as an unknown instruction.
fn id_of(path: Result<Path<String>, PathRejection>) -> Result<InstructionId, ApiError> {
    let text = path.map(|Path(text)| text).unwrap_or_default();
    match text.parse().map(InstructionId) {
        // Each instruction has one path: `+1` and `01` are not ids.
        Ok(id) if id.to_string() == text => Ok(id),
        _ => Err(not_found(&text)),
    }
}

fn not_found(id: &str) -> ApiError {
    ApiError::new(ErrorCode::InstructionNotFound, format!("there is no instruction {}", quoted(id)))
}
