//! `GET /ledger/dead-letters`, `POST /ledger/dead-letters/{id}/replay`

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use chrono::{DateTime, SecondsFormat};
use serde::Serialize;
use serde_json::value::RawValue;
use tollgate_store::KeptDeadLetter;
use utoipa::ToSchema;

use super::ApiState;
use super::body::MaybeJsonBody;
use super::error::ApiError;
use super::error_code::ErrorCode;
use super::webhook;
use crate::payments::EVENTS;

/// Most dead letters of one answer.
const SHOWN_MAX: usize = 200;

pub(super) const ERRORS: &[ErrorCode] = &[ErrorCode::Unavailable];
pub(super) const REPLAY_ERRORS: &[ErrorCode] = &[
    ErrorCode::DeadLetterNotFound,
    ErrorCode::MisspelledField,
    ErrorCode::TransactionConflict,
    ErrorCode::Overloaded,
    ErrorCode::Unavailable,
    ErrorCode::Starting,
    ErrorCode::HistoryUnavailable,
    ErrorCode::Stopping,
];
/// A body has no meaning here.
const REPLAY_BYTES_MAX: usize = 1024;

/// The rows and events of the ledger that could not be taken.
#[derive(Serialize, ToSchema)]
pub(super) struct DeadLettersView {
    /// How many there are.
    count: u64,
    /// The latest of them, at most 200, the latest first.
    dead_letters: Vec<LedgerDeadLetterView>,
}

/// A row or an event of the ledger that could not be taken.
#[derive(Serialize, ToSchema)]
#[schema(as = LedgerDeadLetter)]
struct LedgerDeadLetterView {
    /// Its own number.
    #[schema(example = 7)]
    id: i64,
    /// Whether it can be replayed: it was an event, or a hook. A row that is mended is read again.
    is_event: bool,
    /// The row's id, at most 256 characters of it.
    transaction_id: String,
    /// The row's time, as the ledger's database writes it.
    created_at: String,
    /// Why not: a code as `POST /inject` would answer it, `too_large`, `transaction_conflict`, `exceeds_hold` or `not_held` of what
    /// contradicts a hold, or `unreadable` when the ledger's database itself cannot show the row.
    #[schema(example = "invalid_field")]
    reason: String,
    /// Why not, for people.
    detail: String,
    /// The row's values as texts, at most 256 characters of each; or the event as it was sent.
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

/// Takes an event that left a dead letter once more.
///
/// The answer says what became of it. When it was taken, the dead letter is gone; it stays when the event can still not be taken.
#[utoipa::path(
    post, path = "/ledger/dead-letters/{id}/replay", tag = "Operation",
    params(("id" = i64, Path, description = "Id of the dead letter")),
    responses((
        status = 200,
        description = "What became of it.",
        body = String,
        content_type = "application/json",
        example = json!("transaction txn_1 from event transaction.applied processed")
    ))
)]
pub(super) async fn replay(
    State(api): State<ApiState>,
    id: Result<Path<i64>, PathRejection>,
    _: MaybeJsonBody<REPLAY_BYTES_MAX>,
) -> Result<Json<String>, ApiError> {
    let none =
        || ApiError::new(ErrorCode::DeadLetterNotFound, "there is no event with a dead letter of this id");
    let Path(id) = id.map_err(|_| none())?;
    let sent = api.payments.buried(id).await?.ok_or_else(none)?;
    Ok(Json(webhook::replay(&api, id, &sent).await?))
}

fn view(letter: KeptDeadLetter) -> Result<LedgerDeadLetterView, serde_json::Error> {
    let found_at = DateTime::from_timestamp_micros(letter.found_micros).unwrap_or_default();
    Ok(LedgerDeadLetterView {
        id: letter.number,
        is_event: letter.feed == EVENTS,
        transaction_id: letter.transaction_id,
        created_at: letter.created_at,
        reason: letter.reason,
        detail: letter.detail,
        row: RawValue::from_string(letter.row)?,
        found_at: found_at.to_rfc3339_opts(SecondsFormat::Micros, true),
    })
}
