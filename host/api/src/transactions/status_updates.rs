//! `GET /transactions/{transaction_id}/status-updates`

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, SecondsFormat};
use serde::Serialize;
use serde_json::value::RawValue;
use tollgate_model::transaction::AmountForm;
use tollgate_store::{AmountUpdate, StatusUpdateRecord};
use utoipa::ToSchema;

use crate::ApiState;
use crate::accept::AcceptedAmounts;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::openapi::schema;
use crate::quoted::quoted;

pub(crate) const ERRORS: &[ErrorCode] = &[ErrorCode::TransactionNotFound, ErrorCode::Unavailable];

/// Updates in one answer.
const N_UPDATES_MAX: u32 = 100;

/// The changes of the status of a transaction.
#[derive(Serialize, ToSchema)]
pub(crate) struct StatusUpdates {
    /// The latest 100 at most, oldest first.
    status_updates: Vec<StatusUpdate>,
}

/// A change of the status of a transaction.
#[derive(Serialize, ToSchema)]
pub(crate) struct StatusUpdate {
    /// Number in the order of acceptance, which verdicts and status updates share.
    #[schema(example = 1043)]
    sequence: u64,
    /// Status before it; null if there was none.
    #[schema(required = true, example = "pending")]
    before: Option<String>,
    /// Status after it.
    #[schema(example = "applied")]
    after: String,
    /// Amount before it, if the amount has ever changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Amount>)]
    amount_before: Option<Box<RawValue>>,
    /// Amount after it, if the amount has ever changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Amount>)]
    amount_after: Option<Box<RawValue>>,
    /// Event of the ledger that reported it.
    #[schema(example = "transaction.applied")]
    event: String,
    /// Time at which it was accepted.
    #[schema(value_type = DateTime<Utc>)]
    accepted_at: String,
}

/// Returns the changes of the status of a transaction.
///
/// With `Accept: application/json; decimals=string`, amounts are texts.
#[utoipa::path(
    get, path = "/transactions/{transaction_id}/status-updates", tag = "Transactions",
    params(("transaction_id" = String, Path, description = "Unique transaction id, compared byte by byte")),
    responses((status = 200, description = "The changes.", body = StatusUpdates))
)]
pub(crate) async fn get_status_updates(
    State(api): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
    AcceptedAmounts(amounts): AcceptedAmounts,
) -> Result<Response, ApiError> {
    let unreadable =
        |_| ApiError::new(ErrorCode::TransactionNotFound, "there is no transaction with this id");
    let Path(id) = id.map_err(unreadable)?;
    let store = &api.activity.store;
    let transaction = store.transaction(&id).await?.ok_or_else(|| {
        ApiError::new(ErrorCode::TransactionNotFound, format!("there is no transaction {}", quoted(&id)))
    })?;
    let updates = store.status_updates_of(transaction.sequence, N_UPDATES_MAX).await?;
    let status_updates = updates.into_iter().map(|update| view(update, amounts)).collect();
    Ok(([(header::VARY, "accept")], Json(StatusUpdates { status_updates })).into_response())
}

fn view(update: StatusUpdateRecord, amounts: AmountForm) -> StatusUpdate {
    let accepted = DateTime::from_timestamp_micros(update.accepted_micros).unwrap_or_default();
    let (amount_before, amount_after) = match update.amounts {
        Some(AmountUpdate { before, after }) => (raw(before, amounts), raw(after, amounts)),
        None => (None, None),
    };
    StatusUpdate {
        amount_before,
        amount_after,
        sequence: update.sequence.0,
        before: update.before.map(|status| status.to_string()),
        after: update.after.to_string(),
        event: update.event.to_string(),
        accepted_at: accepted.to_rfc3339_opts(SecondsFormat::Micros, true),
    }
}

/// Returns a stored number with its digits, in this form.
fn raw(number: Box<str>, amounts: AmountForm) -> Option<Box<RawValue>> {
    RawValue::from_string(amounts.json_of(&number)).ok()
}
