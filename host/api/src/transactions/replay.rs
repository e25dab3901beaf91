//! `GET /transactions/{transaction_id}/replay`

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde::Serialize;
use tollgate_model::assessment::RuleFailure;
use utoipa::ToSchema;

use crate::ApiState;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use tollgate_rules::replay::{AuditRemark, SingleVerdict};

pub(crate) const ERRORS: &[ErrorCode] = &[
    ErrorCode::TransactionNotFound,
    ErrorCode::NotJudged,
    ErrorCode::ReplayTooLong,
    ErrorCode::Overloaded,
    ErrorCode::Unavailable,
];

/// A verdict that was derived again.
#[derive(Serialize, ToSchema)]
pub(crate) struct Replay {
    /// Id of the transaction.
    #[schema(example = "t-1042")]
    transaction_id: String,
    /// Sequence number of the verdict in the order of acceptance.
    #[schema(example = 1042)]
    sequence: u64,
    /// `equal`, `differs`, `taken_over` or `not_derived`. `taken_over`: equal if a recorded rule failure that cannot be
    /// reproduced is accepted. `not_derived`: undecided, because a rule run did not end conclusively.
    #[schema(example = "equal")]
    outcome: &'static str,
    /// Every member of the response that differs.
    differences: Vec<ReplayDifference>,
    /// The rules whose failure was taken over or whose run was inconclusive.
    failures: Vec<ReplayFailure>,
}

/// A difference between the stored and the derived verdict.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReplayDifference {
    /// The member of the response, or other item, that differs.
    #[schema(example = "verdict")]
    what: &'static str,
    /// Stored value; members of the response as JSON.
    #[schema(example = "\"approve\"")]
    stored: String,
    /// Derived value.
    #[schema(example = "\"review\"")]
    derived: String,
}

/// A rule and its failure.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReplayFailure {
    /// Name of the rule.
    #[schema(example = "velocity")]
    name: String,
    /// Kind of failure, as in `failures` of an assessment.
    #[schema(example = "timeout")]
    failure: &'static str,
}

/// Derives a verdict again from the stored data and compares it with the original response.
///
/// The replay uses the recorded version of rules, modules and lists, and the transactions accepted before. Only one
/// replay runs at a time; reading the preceding log may take at most 20 seconds. `tollgate audit replay` checks all
/// verdicts.
#[utoipa::path(
    get, path = "/transactions/{transaction_id}/replay", tag = "Transactions",
    params(("transaction_id" = String, Path, description = "Unique transaction id, compared byte by byte")),
    responses((status = 200, description = "The result of the comparison.", body = Replay))
)]
pub(crate) async fn replay_transaction(
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
