//! `GET /instructions/{id}/hits`

use axum::BoxError;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{Stream, StreamExt as _};
use serde::Serialize;
use tollgate_engine::registry::FailedRun;
use tollgate_model::assessment::RuleFailure;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::AmountForm;
use tollgate_store::Store;
use utoipa::ToSchema;

use super::{id_of, not_found};
use crate::ApiState;
use crate::accept::AcceptedAmounts;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::streamed;
use tollgate_pipeline::activity::{LastDay, VerdictRow};

pub(crate) const ERRORS: &[ErrorCode] = &[ErrorCode::InstructionNotFound, ErrorCode::Unavailable];

/// The transactions that a rule matched last, and how many it matched in the last 24 hours.
#[derive(Serialize, ToSchema)]
#[schema(as = Hits)]
pub(crate) struct HitsView {
    /// The latest 50 at most, the last one first.
    hits: Vec<VerdictRow>,
    /// Transactions that it matched in each of the last 24 hours, the oldest first; the last hour is under way.
    hourly: Vec<u64>,
    /// Transactions on which it failed in these hours.
    failures: u64,
    /// The latest 10 transactions at most on which it failed, the last one first; absent if there is none.
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
/// keeps both. With `Accept: application/json; decimals=string`, amounts are texts. Matches before the start of the service are found among the last 100,000 numbers, shortly after it is ready.
#[utoipa::path(
    get, path = "/instructions/{id}/hits", tag = "Instructions",
    params(("id" = i64, Path, description = "The instruction's id")),
    responses((status = 200, description = "The transactions.", body = HitsView))
)]
pub(crate) async fn get_hits(
    State(api): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
    AcceptedAmounts(amounts): AcceptedAmounts,
) -> Result<Response, ApiError> {
    let id = id_of(id)?;
    let numbers = api.intake.latest_matches(id).ok_or_else(|| not_found(&id.to_string()))?;
    let failed = api.intake.latest_failures(id);
    let day = LastDay::read(&api.activity.statistics).await;
    let day = day.map_err(|error| ApiError::internal(&error.to_string()))?;
    let figures =
        serde_json::to_string(&day.hourly(id)).map_err(|error| ApiError::internal(&error.to_string()))?;
    let figures = format!("],\"hourly\":{figures},\"failures\":{}", day.failures(id));
    // The rows are read while the client reads them: fifty with long reasons are megabytes.
    let source = RowSource { store: api.activity.store.clone(), amounts };
    let hits = rows(source.clone(), numbers.into_iter().map(|number| (number, ())).collect(), |row, ()| {
        serde_json::to_vec(&row)
    });
    if failed.is_empty() {
        let hits = streamed::json(streamed::awaited("{\"hits\":[", hits, format!("{figures}}}"))).await;
        return Ok((VARY_ACCEPT, hits).into_response());
    }
    let failed = failed.into_iter().map(|run| (run.sequence, run)).collect();
    let failed = rows(source, failed, |hit, FailedRun { failure, detail, .. }| {
        let (message, fuel) = detail.map(|detail| (detail.message, detail.fuel)).unzip();
        serde_json::to_vec(&FailedRunView { hit, failure, message, fuel })
    });
    let hits = streamed::awaited("{\"hits\":[", hits, figures);
    let body = streamed::json(hits.chain(streamed::awaited(",\"failed\":[", failed, "]}"))).await;
    Ok((VARY_ACCEPT, body).into_response())
}

const VARY_ACCEPT: [(HeaderName, &str); 1] = [(header::VARY, "accept")];

/// Where rows come from, and how their amounts are written.
#[derive(Clone)]
struct RowSource {
    store: Store,
    amounts: AmountForm,
}

/// Returns the rows of these transactions, each as JSON; one that is not stored yet is left out.
fn rows<T: Send + 'static>(
    source: RowSource,
    numbers: Vec<(Sequence, T)>,
    write: fn(VerdictRow, T) -> serde_json::Result<Vec<u8>>,
) -> impl Stream<Item = Result<Vec<u8>, BoxError>> + Send {
    streamed::found(numbers, move |(number, with)| {
        let RowSource { store, amounts } = source.clone();
        async move {
            let Some(record) = store.verdicts_of(&[number]).await?.pop() else { return Ok(None) };
            let row = VerdictRow::from_record(&record)?.with_amount(amounts);
            Ok(Some(write(row, with)?))
        }
    })
}
