//! `GET /instructions/{id}/hits`

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde::Serialize;
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
}

/// Returns the transactions that a rule matched last, since its instruction came into force or the service
/// started, and what it did in the last 24 hours. A replacement of the rule keeps both.
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
    let records = api.activity.store.verdicts_of(&numbers).await?;
    let rows: Result<Vec<VerdictRow>, _> = records.iter().map(VerdictRow::of).collect();
    let hits = rows.map_err(|error| ApiError::internal(&error.to_string()))?;
    let day = LastDay::read(&api.activity.statistics).await?;
    Ok(Json(HitsView { hits, hourly: day.hourly(id), failures: day.failures(id) }))
}
