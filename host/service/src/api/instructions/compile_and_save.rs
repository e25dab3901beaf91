//! `POST /compile-and-save-instruction`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tollgate_model::transaction::{Json as Value, JsonLimits};

use super::view::InstructionView;
use crate::api::body::JsonBody;
use crate::api::error::ApiError;
use crate::api::error_code::ErrorCode;
use crate::api::{ApiState, openapi::schema};

/// Maximum size of the body, in bytes: the longest script, plus space for JSON escapes.
const SCRIPT_BODY_BYTES_MAX: usize = 128 * 1024;

pub(in crate::api) const ERRORS: &[ErrorCode] = &[
    ErrorCode::CompileError,
    ErrorCode::PolicyDenied,
    ErrorCode::NameTaken,
    ErrorCode::TooManyRules,
    ErrorCode::Unavailable,
];

/// Compiles a rule script and puts it in force.
///
/// When the response arrives, the rule is in force.
#[utoipa::path(
    post, path = "/compile-and-save-instruction", tag = "Instructions", request_body = schema::InstructionScript,
    responses((status = 201, description = "The rule is in force.", body = InstructionView))
)]
pub(in crate::api) async fn compile_and_save_instruction(
    State(api): State<ApiState>,
    body: JsonBody<SCRIPT_BODY_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let script = script_of(Value::parse(&body.0, JsonLimits::REQUEST)?)?;
    let instruction = api.intake.save(&script).await?;
    Ok((StatusCode::CREATED, Json(InstructionView::from(&*instruction))).into_response())
}

fn script_of(request: Value) -> Result<Box<str>, ApiError> {
    let Value::Object(members) = request else {
        return Err(ApiError::new(ErrorCode::NotAnObject, "the body must be an object with a `script`"));
    };
    match members.into_iter().find(|(name, _)| &**name == "script").map(|(_, value)| value) {
        Some(Value::Text(script)) => Ok(script),
        None | Some(Value::Null) => {
            Err(ApiError::new(ErrorCode::MissingField, "`script` is required").at("script"))
        }
        Some(_) => Err(ApiError::new(ErrorCode::InvalidField, "`script` must be a text").at("script")),
    }
}
