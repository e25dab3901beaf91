//! `GET /transactions/{transaction_id}/replay`

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde::Serialize;
use tollgate_model::assessment::RuleFailure;
use utoipa::ToSchema;

use crate::api::ApiState;
use crate::api::error::ApiError;
use crate::api::error_code::ErrorCode;
use crate::audit::{AuditRemark, SingleVerdict};

pub(in crate::api) const ERRORS: &[ErrorCode] = &[
    ErrorCode::TransactionNotFound,
    ErrorCode::NotJudged,
    ErrorCode::ReplayTooLong,
    ErrorCode::Overloaded,
    ErrorCode::Unavailable,
];

/// A verdict derived again.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct Replay {
    /// Whose.
    #[schema(example = "t-1042")]
    transaction_id: String,
    /// The place of the verdict in the order of acceptance.
    #[schema(example = 1042)]
    sequence: u64,
    /// `equal`; `differs`; `taken_over`: equal, if a rule's failure is believed that cannot be derived again; `not_derived`: nobody
    /// can say, because a rule did not come to an end that counts.
    #[schema(example = "equal")]
    outcome: &'static str,
    /// Every member of the answer that differs.
    differences: Vec<ReplayDifference>,
    /// The rules that were taken over, or did not come to an end.
    failures: Vec<ReplayFailure>,
}

/// One thing in which the stored verdict is not the derived one.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct ReplayDifference {
    /// A member of the answer, or what else differs.
    #[schema(example = "verdict")]
    what: &'static str,
    /// As it is stored; members of the answer as JSON.
    #[schema(example = "\"approve\"")]
    stored: String,
    /// As it follows from the rest of what is stored.
    #[schema(example = "\"review\"")]
    derived: String,
}

/// A rule, and how it failed.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct ReplayFailure {
    /// The rule.
    #[schema(example = "velocity")]
    name: String,
    /// As `failures` of an assessment has it.
    #[schema(example = "timeout")]
    failure: &'static str,
}

/// Derives a verdict again, out of what is stored, and compares it with the answer that was given.
///
/// By the rules, modules and lists of the version it names, and by what was accepted before it. One at a time; the log before
/// it is read for it, which must not take longer than 20 seconds. `tollgate audit replay` does the same with all of them.
#[utoipa::path(
    get, path = "/transactions/{transaction_id}/replay", tag = "Transactions",
    params(("transaction_id" = String, Path, description = "Unique transaction id, compared to the byte")),
    responses((status = 200, description = "What came of it.", body = Replay))
)]
pub(in crate::api) async fn replay_transaction(
    State(api): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Replay>, ApiError> {
    let unreadable =
        |_| ApiError::new(ErrorCode::TransactionNotFound, "there is no transaction with this id");
    let Path(id) = id.map_err(unreadable)?;
    let verdict = api.replays.verdict(&id).await?;
    Ok(Json(view(id, verdict)))
}

fn view(transaction_id: String, verdict: SingleVerdict) -> Replay {
    let sequence = verdict.sequence.0;
    let failures = |failures: Vec<(String, RuleFailure)>| -> Vec<ReplayFailure> {
        failures
            .into_iter()
            .map(|(name, failure)| ReplayFailure { name, failure: failure.as_str() })
            .collect()
    };
    let (outcome, differences, failures) = match verdict.remark {
        None => ("equal", Vec::new(), Vec::new()),
        Some(AuditRemark::Differs(differences)) => ("differs", differences, Vec::new()),
        Some(AuditRemark::TakenOver(failed)) => ("taken_over", Vec::new(), failures(failed)),
        Some(AuditRemark::NotDerived(failed)) => ("not_derived", Vec::new(), failures(failed)),
    };
    let differences = differences.into_iter().map(|found| ReplayDifference {
        what: found.what,
        stored: found.stored,
        derived: found.derived,
    });
    Replay { transaction_id, sequence, outcome, differences: differences.collect(), failures }
}
