//! `GET /alerts/dead-letters`

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, SecondsFormat};
use serde::Serialize;
use serde_json::value::RawValue;
use tollgate_store::DeadAlert;
use utoipa::ToSchema;

use crate::api::ApiState;
use crate::api::error::ApiError;
use crate::api::error_code::ErrorCode;

/// Maximum number of dead letters in a response.
const LETTERS_MAX: usize = 100;

pub(in crate::api) const ERRORS: &[ErrorCode] = &[ErrorCode::Unavailable];

/// Alerts that no webhook accepted.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct DeadLetters {
    /// Total number of dead letters.
    count: u64,
    /// Number of alerts still being delivered.
    pending: u64,
    /// The oldest dead letters, at most 100.
    dead_letters: Vec<DeadLetterView>,
}

/// An alert that no webhook accepted.
#[derive(Serialize, ToSchema)]
#[schema(as = DeadLetter)]
pub(in crate::api) struct DeadLetterView {
    /// The id that was sent in `webhook-id`.
    #[schema(example = "alert_0198f3d2c1d47a3e9b1f2a6c5d4e3f21")]
    id: String,
    /// Id of the transaction.
    transaction_id: String,
    /// Number of failed attempts.
    attempts: u32,
    /// Error of the last attempt.
    #[schema(example = "status 500")]
    error: String,
    /// Time at which the transaction was accepted.
    created_at: String,
    /// Time at which delivery was given up.
    dead_since: String,
    /// The payload that was sent.
    #[schema(value_type = Object)]
    payload: Box<RawValue>,
}

/// Lists the alerts that no webhook accepted, oldest first.
///
/// Dead letters are kept for 30 days. An alert that is replayed and accepted leaves this list.
#[utoipa::path(
    get, path = "/alerts/dead-letters", tag = "Alerts", operation_id = "list_alert_dead_letters",
    responses((status = 200, description = "Alerts that could not be delivered to any webhook.", body = DeadLetters))
)]
pub(in crate::api) async fn dead_letters(State(api): State<ApiState>) -> Result<Json<DeadLetters>, ApiError> {
    let undelivered = api.alerting.undelivered(LETTERS_MAX).await?;
    let letters = undelivered.dead_letters.into_iter().map(DeadLetterView::of);
    Ok(Json(DeadLetters {
        count: undelivered.counts.n_dead,
        pending: undelivered.counts.n_pending,
        dead_letters: letters.collect::<Result<_, _>>()?,
    }))
}

impl DeadLetterView {
    pub(in crate::api) fn of(letter: DeadAlert) -> Result<Self, ApiError> {
        let DeadAlert { record, n_attempts, error, dead_micros } = letter;
        let payload = RawValue::from_string(record.payload.to_string());
        Ok(Self {
            id: record.id.to_string(),
            transaction_id: record.transaction_id.to_string(),
            attempts: n_attempts,
            error,
            created_at: time(record.created_micros),
            dead_since: time(dead_micros),
            payload: payload.map_err(|error| ApiError::internal(&error.to_string()))?,
        })
    }
}

fn time(micros: i64) -> String {
    DateTime::from_timestamp_micros(micros).unwrap_or_default().to_rfc3339_opts(SecondsFormat::Micros, true)
}
