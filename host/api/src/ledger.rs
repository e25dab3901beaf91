//! `GET /ledger/dead-letters`, `POST /ledger/dead-letters/{id}/replay`, `DELETE /ledger/dead-letters/{id}`

use std::num::NonZeroUsize;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, SecondsFormat};
use serde::Serialize;
use serde_json::value::RawValue;
use tollgate_store::KeptDeadLetter;
use utoipa::ToSchema;

use super::ApiState;
use super::body::MaybeJsonBody;
use super::error::ApiError;
use super::error_code::ErrorCode;
use super::page::{Page, PageParameters};
use super::{streamed, webhook};
use tollgate_ledger::payments::EVENTS;

/// Number of dead letters in a response without `limit`.
const SHOWN_MAX: usize = 200;

pub(super) const ERRORS: &[ErrorCode] = &[ErrorCode::InvalidField, ErrorCode::Unavailable];
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
pub(super) const DELETE_ERRORS: &[ErrorCode] = &[ErrorCode::DeadLetterNotFound, ErrorCode::Unavailable];
/// Maximum size of the body, in bytes. The body is ignored.
const REPLAY_BYTES_MAX: usize = 1024;

/// Ledger rows and events that could not be accepted.
#[derive(Serialize, ToSchema)]
pub(super) struct DeadLettersView {
    /// Total number of dead letters.
    count: u64,
    /// The latest dead letters, at most 200 without `limit`, latest first.
    dead_letters: Vec<LedgerDeadLetterView>,
}

/// A ledger row or event that could not be accepted.
#[derive(Serialize, ToSchema)]
#[schema(as = LedgerDeadLetter)]
struct LedgerDeadLetterView {
    /// Number of the dead letter.
    #[schema(example = 7)]
    id: i64,
    /// Whether the dead letter is an event or a hook and can be replayed. A corrected row is read again without a
    /// replay.
    is_event: bool,
    /// Id of the row, at most 256 characters.
    transaction_id: String,
    /// Time of the row, as the ledger's database formats it.
    created_at: String,
    /// Reason code: an error code of `POST /inject`, `too_large`, `transaction_conflict`, or one of the following.
    /// `exceeds_hold` and `not_held` mean that the entry contradicts a hold. `unreadable` means that the ledger's
    /// database cannot return the row.
    #[schema(example = "invalid_field")]
    reason: String,
    /// Reason, for people.
    detail: String,
    /// Values of the row as texts, at most 256 characters each, or the event as it was sent.
    #[schema(value_type = Object)]
    row: Box<RawValue>,
    /// Time at which the dead letter was recorded.
    #[schema(value_type = DateTime<chrono::Utc>)]
    found_at: String,
}

/// Lists the ledger rows and events that could not be accepted.
///
/// A row has one dead letter, even if it is read several times. A row that has changed since gets another one.
#[utoipa::path(
    get, path = "/ledger/dead-letters", tag = "Operation", operation_id = "list_ledger_dead_letters",
    params(PageParameters),
    responses((
        status = 200, description = "The latest dead letters, newest first.", body = DeadLettersView,
        headers(("Link" = String, description = "Address of the next page, if there is one and `limit` was given."))
    ))
)]
pub(super) async fn dead_letters(
    State(api): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = Page::read(query.as_deref())?;
    let before = page.cursor(|number| number.parse().ok())?.unwrap_or(i64::MAX);
    let limit = page.limit.map_or(SHOWN_MAX, NonZeroUsize::get);
    let store = api.activity.store.clone();
    let (count, mut numbers) = store.dead_letters(before, limit + 1).await?;
    let has_more = numbers.len() > limit;
    numbers.truncate(limit);
    let last = numbers.last().filter(|_| has_more);
    let next = last.and_then(|last| page.link_to_next("/ledger/dead-letters", &last.to_string()));
    let letters = streamed::found(numbers, move |number| {
        let store = store.clone();
        async move {
            let Some(letter) = store.dead_letter(number).await? else { return Ok(None) };
            Ok(Some(serde_json::to_vec(&view(letter)?)?))
        }
    });
    let open = format!("{{\"count\":{count},\"dead_letters\":[");
    let mut response = streamed::json(streamed::awaited(open, letters, "]}")).await;
    response.headers_mut().extend(next);
    Ok(response)
}

/// Processes a dead letter of an event again.
///
/// The response states the result. If the event is accepted, the dead letter is deleted; otherwise it stays.
#[utoipa::path(
    post, path = "/ledger/dead-letters/{id}/replay", tag = "Operation", operation_id = "replay_ledger_dead_letter",
    params(("id" = i64, Path, description = "Id of the dead letter")),
    responses((
        status = 200,
        description = "The result of the event.",
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
        || ApiError::new(ErrorCode::DeadLetterNotFound, "there is no dead letter of an event with this id");
    let Path(id) = id.map_err(|_| none())?;
    let sent = api.payments.dead_letter(id).await?.ok_or_else(none)?;
    Ok(Json(webhook::replay(&api, id, &sent).await?))
}

/// Deletes a dead letter of a row or an event.
///
/// Its report is not accepted, and there is no other copy of an event. The dead letter no longer counts towards the
/// limits, so another one has room. Its number is not used again.
#[utoipa::path(
    delete, path = "/ledger/dead-letters/{id}", tag = "Operation", operation_id = "delete_ledger_dead_letter",
    params(("id" = i64, Path, description = "Id of the dead letter")),
    responses((status = 204, description = "The dead letter is deleted."))
)]
pub(super) async fn delete(
    State(api): State<ApiState>,
    id: Result<Path<i64>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    let none = || ApiError::new(ErrorCode::DeadLetterNotFound, "there is no dead letter with this id");
    let Path(id) = id.map_err(|_| none())?;
    if !api.payments.delete_letter(id).await? {
        return Err(none());
    }
    Ok(StatusCode::NO_CONTENT)
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
