//! `GET /ledger/dead-letters`

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, SecondsFormat};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::ApiState;
use super::error::ApiError;
use super::error_code::ErrorCode;
use crate::store::KeptDeadLetter;

/// Most dead letters of one answer.
const SHOWN_MAX: usize = 200;

pub(super) const ERRORS: &[ErrorCode] = &[ErrorCode::Unavailable];

/// The rows of the ledger that could not be taken.
#[derive(Serialize, ToSchema)]
pub(super) struct DeadLettersView {
    /// How many there are.
    count: u64,
    /// The latest of them, at most 200, the latest first.
    dead_letters: Vec<DeadLetterView>,
}

/// A row of the ledger that could not be taken.
#[derive(Serialize, ToSchema)]
#[schema(as = LedgerDeadLetter)]
struct DeadLetterView {
    /// The row's id, at most 256 characters of it.
    transaction_id: String,
    /// The row's time, as the ledger's database writes it.
    created_at: String,
    /// Why not: a code as `POST /inject` would answer it, `too_large`, `transaction_conflict`, or `unreadable` when the
    /// ledger's database itself cannot show the row.
    #[schema(example = "invalid_field")]
    reason: String,
    /// Why not, for people.
    detail: String,
    /// The row's values as texts, at most 256 characters of each.
    #[schema(value_type = Object)]
    row: Box<RawValue>,
    /// When it was found.
    #[schema(value_type = DateTime<chrono::Utc>)]
    found_at: String,
}

/// Gives the rows of the ledger that could not be taken.
///
/// Each row has one dead letter, however often it is read; one that was changed since has another.
#[utoipa::path(
    get, path = "/ledger/dead-letters", tag = "Operation",
    responses((status = 200, description = "The latest dead letters, the latest first.", body = DeadLettersView))
)]
pub(super) async fn dead_letters(State(api): State<ApiState>) -> Result<Json<DeadLettersView>, ApiError> {
    let (count, letters) = api.dead_letters.latest(SHOWN_MAX).await?;
    let dead_letters = letters.into_iter().map(view).collect::<Result<_, _>>();
    let dead_letters = dead_letters.map_err(|error| ApiError::internal(&error.to_string()))?;
    Ok(Json(DeadLettersView { count, dead_letters }))
}

fn view(letter: KeptDeadLetter) -> Result<DeadLetterView, serde_json::Error> {
    let found_at = DateTime::from_timestamp_micros(letter.found_micros).unwrap_or_default();
    Ok(DeadLetterView {
        transaction_id: letter.transaction_id,
        created_at: letter.created_at,
        reason: letter.reason,
        detail: letter.detail,
        row: RawValue::from_string(letter.row)?,
        found_at: found_at.to_rfc3339_opts(SecondsFormat::Micros, true),
    })
}
