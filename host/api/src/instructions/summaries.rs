//! `GET /instructions/summaries`

use std::io::Write;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use tollgate_guest_abi::{Cost, Verdict};
use tollgate_model::instruction::{Instruction, InstructionSource};
use utoipa::ToSchema;

use super::view::{QuarantineView, RefusedChangeView, written};
use crate::ApiState;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::streamed;
use tollgate_pipeline::activity::LastDay;
use tollgate_rules::intake::ListedInstruction;

pub(crate) const ERRORS: &[ErrorCode] = &[];

/// A rule in short, with what it did.
#[derive(Serialize, ToSchema)]
#[schema(as = InstructionSummary)]
pub(crate) struct SummaryView<'a> {
    /// Id of the instruction.
    id: i64,
    /// Name of the rule.
    name: &'a str,
    /// Purpose of the rule; null if its author states none.
    #[schema(required = true)]
    description: Option<&'a str>,
    /// Verdict of the rule when it matches.
    verdict: Verdict,
    /// Risk from 0 (low) to 1 (high).
    #[schema(minimum = 0, maximum = 1)]
    score: f64,
    /// `active`, `activating`, `quarantined` or `suspended`, as of an instruction.
    #[schema(example = "active")]
    status: &'static str,
    /// Why the rule is in quarantine; null if it is not.
    #[schema(required = true)]
    quarantine: Option<QuarantineView<'a>>,
    /// The error in a newer version of its file; null if there is none.
    #[schema(required = true)]
    refused_change: Option<RefusedChangeView>,
    /// Origin of the instruction.
    source: &'a InstructionSource,
    /// Worst case of one evaluation.
    cost: Cost,
    /// Time at which the instruction was first saved.
    #[schema(value_type = DateTime<Utc>)]
    created_at: String,
    /// Time at which its script or module last changed.
    #[schema(value_type = DateTime<Utc>)]
    updated_at: String,
    /// Transactions that it matched in each of the last 24 hours, the oldest first; the last hour is under way.
    hourly: Vec<u64>,
    /// The sum of `hourly`.
    hits: u64,
    /// Transactions on which it failed in these hours.
    failures: u64,
}

/// Lists the instructions in short, by id, with what they did in the last 24 hours.
#[utoipa::path(
    get, path = "/instructions/summaries", tag = "Instructions",
    responses((
        status = 200,
        description = "One entry for each rule that is in force or about to be.",
        body = [SummaryView<'static>]
    ))
)]
pub(crate) async fn list_summaries(State(api): State<ApiState>) -> Result<Response, ApiError> {
    let day = LastDay::read(&api.activity.statistics).await;
    let day = day.map_err(|error| ApiError::internal(&error.to_string()))?;
    let listed = api.intake.instructions().map(move |listed| (listed, Arc::clone(&day)));
    let write = |(listed, day): &(ListedInstruction, Arc<LastDay>), writer: &mut dyn Write| {
        serde_json::to_writer(writer, &summary(listed, day))
    };
    Ok(streamed::elements(b"[".to_vec(), listed, write, b"]").await)
}

fn summary<'a>(listed: &'a ListedInstruction, day: &LastDay) -> SummaryView<'a> {
    let Instruction { record, entry, cost, .. } = &*listed.instruction;
    let hourly = day.hourly(record.id);
    SummaryView {
        id: record.id.0,
        name: &record.name,
        description: entry.description.as_deref(),
        verdict: entry.verdict,
        score: entry.score,
        status: listed.status.as_str(),
        quarantine: record.quarantine.as_ref().map(QuarantineView::from),
        refused_change: listed.refused_change.as_ref().map(RefusedChangeView::from),
        source: &record.source,
        cost: *cost,
        created_at: written(record.created_at),
        updated_at: written(record.updated_at),
        hits: hourly.iter().sum(),
        hourly,
        failures: day.failures(record.id),
    }
}
