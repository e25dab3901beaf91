//! `POST /instructions/check`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use tollgate_compiler::Diagnostic;
use tollgate_guest_abi::{Cost, Verdict};
use tollgate_model::instruction::InstructionId;
use tollgate_model::transaction::{Json as Value, JsonLimits};
use utoipa::ToSchema;

use super::compile_and_save::SCRIPT_BODY_BYTES_MAX;
use super::view::EstimateView;
use crate::ApiState;
use crate::body::JsonBody;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use tollgate_rules::intake::{CheckScope, CompiledScript, ScriptCheck};

pub(crate) const ERRORS: &[ErrorCode] = &[ErrorCode::Unavailable];

/// A script to check.
#[derive(ToSchema)]
pub(super) struct ScriptToCheck {
    /// The rule script, at most 65,536 bytes.
    #[schema(
        value_type = String,
        example = "rule Large { when amount > 10000 then review score 0.7 reason \"Large amount\" }"
    )]
    script: Box<str>,
    /// Id of the instruction whose script it would replace; a new one by default.
    #[schema(value_type = Option<i64>)]
    instruction_id: Option<InstructionId>,
    /// Whether to estimate the cost of its questions about the history, which takes longer; `false` by default.
    #[schema(value_type = Option<bool>)]
    estimate: bool,
}

/// The diagnostics of a script, and the answer that a save would give.
#[derive(Serialize, ToSchema)]
#[schema(as = ScriptCheck)]
pub(crate) struct ScriptCheckView {
    /// Errors and warnings in the order of the script.
    diagnostics: Vec<Diagnostic>,
    /// The compiled rule; null if the script has an error.
    #[schema(required = true)]
    rule: Option<CompiledScriptView>,
    /// Another reason why a save would be refused now; null if there is none, or if the script has an error.
    #[schema(required = true)]
    refusal: Option<RefusalView>,
    /// How many of the latest transactions it would have matched, such as `480 of 500`; null unless an estimate was asked
    /// for, its verdict is `review` or severer, and these are more than half of at least 100.
    #[schema(required = true, example = "480 of 500")]
    would_have_matched: Option<String>,
}

/// A rule that was compiled and is not saved.
#[derive(Serialize, ToSchema)]
#[schema(as = CompiledScript)]
pub(crate) struct CompiledScriptView {
    /// Name of the rule.
    name: String,
    /// Purpose of the rule; null if its author states none.
    #[schema(required = true)]
    description: Option<String>,
    /// Verdict of the rule when it matches.
    verdict: Verdict,
    /// Risk from 0 (low) to 1 (high).
    #[schema(minimum = 0, maximum = 1)]
    score: f64,
    /// Reason shown to an analyst.
    reason: String,
    /// SHA-256 digest of its module, in lower-case hexadecimal digits.
    sha256: String,
    /// Worst case of one evaluation.
    cost: Cost,
    /// The fields of the transaction that it reads.
    #[schema(example = json!(["amount", "metadata.device_id"]))]
    fields: Vec<String>,
    /// The named lists that it uses.
    lists: Vec<String>,
    /// Estimated cost of its questions about the history; null unless it was asked for, the rule asks questions and the
    /// history is restored.
    #[schema(required = true)]
    estimate: Option<EstimateView>,
}

/// The reason why a save would be refused.
#[derive(Serialize, ToSchema)]
#[schema(as = SaveRefusal)]
pub(crate) struct RefusalView {
    /// The error code that a save would answer.
    #[schema(example = "name_taken")]
    code: &'static str,
    /// Message for people.
    error: String,
}

impl ScriptToCheck {
    fn read(body: &[u8]) -> Result<Self, ApiError> {
        let Value::Object(members) = Value::parse(body, JsonLimits::REQUEST)? else {
            return Err(ApiError::new(ErrorCode::NotAnObject, "the body must be an object with a `script`"));
        };
        let (mut script, mut instruction_id, mut estimate) = (None, None, false);
        for (name, value) in members {
            match (&*name, value) {
                (_, Value::Null) => {}
                ("script", Value::Text(text)) => script = Some(text),
                ("script", _) => return Err(invalid("script", "a text")),
                ("instruction_id", Value::Number(id)) => {
                    let id =
                        id.to_string().parse().map_err(|_| invalid("instruction_id", "a whole number"))?;
                    instruction_id = Some(InstructionId(id));
                }
                ("instruction_id", _) => return Err(invalid("instruction_id", "a whole number")),
                ("estimate", Value::Boolean(is_asked)) => estimate = is_asked,
                ("estimate", _) => return Err(invalid("estimate", "true or false")),
                _ => {}
            }
        }
        let script = script
            .ok_or_else(|| ApiError::new(ErrorCode::MissingField, "`script` is required").at("script"))?;
        Ok(Self { script, instruction_id, estimate })
    }
}

fn invalid(field: &'static str, wanted: &str) -> ApiError {
    ApiError::new(ErrorCode::InvalidField, format!("`{field}` must be {wanted}")).at(field)
}

/// Compiles a rule script and tells what a save would answer. It changes nothing.
///
/// An error in the script is an answer, not a failure: the status is 200, and `diagnostics` has it.
#[utoipa::path(
    post, path = "/instructions/check", tag = "Instructions", request_body = ScriptToCheck,
    responses((status = 200, description = "What compiler and save have to say.", body = ScriptCheckView))
)]
pub(crate) async fn check_script(
    State(api): State<ApiState>,
    body: JsonBody<SCRIPT_BODY_BYTES_MAX>,
) -> Result<Json<ScriptCheckView>, ApiError> {
    let ScriptToCheck { script, instruction_id, estimate } = ScriptToCheck::read(&body.0)?;
    let scope = if estimate { CheckScope::Estimate } else { CheckScope::Script };
    let ScriptCheck { diagnostics, compiled, refusal, would_have_matched } =
        api.intake.check(script.into(), instruction_id, scope).await?;
    let refusal = refusal.map(|refusal| {
        let error = refusal.to_string();
        RefusalView { code: ApiError::from(refusal).code().as_str(), error }
    });
    let rule = compiled.map(CompiledScriptView::from);
    let would_have_matched = would_have_matched.map(|broad| broad.to_string());
    Ok(Json(ScriptCheckView { diagnostics, rule, refusal, would_have_matched }))
}

impl From<CompiledScript> for CompiledScriptView {
    fn from(compiled: CompiledScript) -> Self {
        let lists = compiled.named_lists().into_iter().map(str::to_owned).collect();
        let CompiledScript { entry, manifest, digest, estimate } = compiled;
        Self {
            name: entry.name,
            description: entry.description,
            verdict: entry.verdict,
            score: entry.score,
            reason: entry.reason,
            sha256: digest.to_string(),
            cost: manifest.cost,
            fields: manifest.needs.fields.iter().map(ToString::to_string).collect(),
            lists,
            estimate: estimate.map(EstimateView::from),
        }
    }
}
