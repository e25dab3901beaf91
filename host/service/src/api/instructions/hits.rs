//! `GET /instructions/{id}/hits`

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde::Serialize;
use tollgate_engine::registry::FailedRun;
use tollgate_model::assessment::RuleFailure;
use tollgate_model::instruction::InstructionId;
use tollgate_model::sequence::Sequence;
use utoipa::ToSchema;

use super::last_day::LastDay;
use super::{id_of, not_found};
use crate::activity::VerdictRow;
use crate::api::ApiState;
use crate::api::error::ApiError;
use crate::api::error_code::ErrorCode;

pub(in crate::api) const ERRORS: &[ErrorCode] = &[ErrorCode::InstructionNotFound, ErrorCode::Unavailable];

/// The transactions that a rule matched last, and how many it matched in the last 24 hours.
#[derive(Serialize, ToSchema)]
#[schema(as = Hits)]
pub(in crate::api) struct HitsView {
    /// The latest 50 at most, the last one first.
    hits: Vec<VerdictRow>,
    /// Transactions that it matched in each of the last 24 hours, the oldest first; the last hour is under way.
    hourly: Vec<u64>,
    /// Transactions on which it failed in these hours.
    failures: u64,
    /// The latest 10 transactions at most on which it failed, the last one first; absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    failed: Vec<FailedRunView>,
}

/// A transaction on which a rule failed.
#[derive(Serialize, ToSchema)]
#[schema(as = FailedRun)]
struct FailedRunView {
    /// The transaction.
    hit: VerdictRow,
    /// Kind of failure.
    failure: RuleFailure,
    /// Message of the trap, or of the host; null if the rule was not run.
    #[schema(required = true)]
    message: Option<String>,
    /// Fuel that the run used; null if the rule was not run.
    #[schema(required = true)]
    fuel: Option<u64>,
}

/// Returns the transactions that a rule matched last, and what it did in the last 24 hours. A replacement of the rule
/// keeps both. Matches before the start of the service are found among the last 100,000 numbers, shortly after it is ready.
#[utoipa::path(
    get, path = "/instructions/{id}/hits", tag = "Instructions",
    params(("id" = i64, Path, description = "The instruction's id")),
    responses((status = 200, description = "The transactions.", body = HitsView))
)]
pub(in crate::api) async fn get_hits(
    State(api): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<HitsView>, ApiError> {
    let id = id_of(id)?;
    let numbers = api.intake.latest_matches(id).ok_or_else(|| not_found(&id.to_string()))?;
    let hits = rows_of(&api, &numbers).await?;
    let failed = failed_runs(&api, id).await?;
    let day = LastDay::read(&api.activity.statistics).await?;
    Ok(Json(HitsView { hits, hourly: day.hourly(id), failures: day.failures(id), failed }))
}

async fn rows_of(api: &ApiState, numbers: &[Sequence]) -> Result<Vec<VerdictRow>, ApiError> {
    let records = api.activity.store.verdicts_of(numbers).await?;
    let rows: Result<Vec<VerdictRow>, _> = records.iter().map(VerdictRow::of).collect();
    rows.map_err(|error| ApiError::internal(&error.to_string()))
}

async fn failed_runs(api: &ApiState, id: InstructionId) -> Result<Vec<FailedRunView>, ApiError> {
    let mut failed = Vec::new();
    // One by one, because a transaction that is not stored yet has no row.
    for FailedRun { sequence, failure, detail } in api.intake.latest_failures(id) {
        let Some(hit) = rows_of(api, &[sequence]).await?.pop() else { continue };
        let (message, fuel) = detail.map(|detail| (detail.message, detail.fuel)).unzip();
        failed.push(FailedRunView { hit, failure, message, fuel });
    }
    Ok(failed)
}
