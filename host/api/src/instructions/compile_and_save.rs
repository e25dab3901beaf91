//! `POST /compile-and-save-instruction`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use tollgate_model::instruction::RuleContent;
use tollgate_model::transaction::{Json as Value, JsonLimits};
use utoipa::ToSchema;

use super::confirmation::Confirmed;
use super::respond_async::{RespondAsync, answer};
use super::view::InstructionView;
use crate::ApiState;
use crate::body::JsonBody;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use tollgate_rules::intake::InstructionChange;

/// Maximum size of the body, in bytes: the longest script, plus space for JSON escapes.
pub(super) const SCRIPT_BODY_BYTES_MAX: usize = 128 * 1024;

pub(crate) const ERRORS: &[ErrorCode] = &[
    ErrorCode::CompileError,
    ErrorCode::PolicyDenied,
    ErrorCode::TooExpensive,
    ErrorCode::TooManySaves,
    ErrorCode::NameTaken,
    ErrorCode::TooManyRules,
    ErrorCode::ConfirmationRequired,
    ErrorCode::InstructionNotFound,
    ErrorCode::Unavailable,
];

/// A rule to compile.
#[derive(ToSchema)]
pub(super) struct InstructionScript {
    /// The rule script, at most 65,536 bytes.
    #[schema(
        value_type = String,
        example = "rule Large { when amount > 10000 then review score 0.7 reason \"Large amount\" }"
    )]
    script: Box<str>,
}

impl From<InstructionScript> for RuleContent {
    fn from(sent: InstructionScript) -> Self {
        Self::Script(sent.script.into())
    }
}

impl InstructionScript {
    pub(super) fn read(body: &[u8]) -> Result<Self, ApiError> {
        let Value::Object(members) = Value::parse(body, JsonLimits::REQUEST)? else {
            return Err(ApiError::new(ErrorCode::NotAnObject, "the body must be an object with a `script`"));
        };
        match members.into_iter().find(|(name, _)| &**name == "script").map(|(_, value)| value) {
            Some(Value::Text(script)) => Ok(Self { script }),
            None | Some(Value::Null) => {
                Err(ApiError::new(ErrorCode::MissingField, "`script` is required").at("script"))
            }
            Some(_) => Err(ApiError::new(ErrorCode::InvalidField, "`script` must be a text").at("script")),
        }
    }
}

/// Compiles a rule script and puts it in force.
///
/// When the response arrives, the rule is in force. With `Prefer: respond-async`, the response does not wait for the
/// history of the rule: the status is then `activating`, and `GET /instructions/{id}` shows when it is `active`.
///
/// `would_have_matched` warns of a rule that would have held or stopped most of the latest transactions.
#[utoipa::path(
    post, path = "/compile-and-save-instruction", tag = "Instructions", request_body = InstructionScript,
    params(("confirm" = Option<bool>, Query, description = "Whether a rule that would have matched most of the latest transactions is meant so.")),
    responses((status = 201, description = "The rule is in force, or activating with `Prefer: respond-async`.", body = InstructionView))
)]
pub(crate) async fn compile_and_save_instruction(
    State(api): State<ApiState>,
    RespondAsync(until): RespondAsync,
    confirmed: Confirmed,
    body: JsonBody<SCRIPT_BODY_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let content = InstructionScript::read(&body.0)?.into();
    let saved = api.intake.put(content, None, InstructionChange::Add, until, confirmed.confirmation).await?;
    Ok(answer(StatusCode::CREATED, &saved, until))
}
