//! `GET /alerts/dead-letters`

use std::num::NonZeroUsize;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use chrono::{DateTime, SecondsFormat};
use serde::Serialize;
use serde_json::value::RawValue;
use tollgate_model::sequence::Sequence;
use tollgate_store::{AlertCounts, DeadAlert};
use utoipa::ToSchema;

use crate::ApiState;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::page::{Page, PageParameters};
use crate::streamed;

/// Number of dead letters in a response without `limit`.
const LETTERS_MAX: usize = 100;

pub(crate) const ERRORS: &[ErrorCode] = &[ErrorCode::InvalidField, ErrorCode::Unavailable];

/// Alerts that no webhook accepted.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeadLetters {
    /// Total number of dead letters.
    count: u64,
    /// Number of alerts still being delivered.
    pending: u64,
    /// The oldest dead letters, at most 100 without `limit`.
    dead_letters: Vec<DeadLetterView>,
}

/// An alert that no webhook accepted.
#[derive(Serialize, ToSchema)]
#[schema(as = DeadLetter)]
pub(crate) struct DeadLetterView {
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
    params(PageParameters),
    responses((
        status = 200, description = "Alerts that could not be delivered to any webhook.", body = DeadLetters,
        headers(("Link" = String, description = "Address of the next page, if there is one and `limit` was given."))
    ))
)]
pub(crate) async fn dead_letters(
    State(api): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = Page::read(query.as_deref())?;
    let after =
        page.cursor(|number| u64::try_from(number.parse::<i64>().ok()?).ok())?.map_or(Sequence(0), Sequence);
    let limit = page.limit.map_or(LETTERS_MAX, NonZeroUsize::get);
    let store = api.activity.store.clone();
    let counts = store.alert_counts().await?;
    let mut numbers = store.dead_alerts(after, limit + 1).await?;
    let has_more = numbers.len() > limit;
    numbers.truncate(limit);
    let last = numbers.last().filter(|_| has_more);
    let next = last.and_then(|last| page.link_to_next("/alerts/dead-letters", &last.0.to_string()));
    let letters = streamed::found(numbers, move |number| {
        let store = store.clone();
        async move {
            let Some(letter) = store.dead_alert(number).await? else { return Ok(None) };
            Ok(Some(serde_json::to_vec(&DeadLetterView::from_letter(letter)?)?))
        }
    });
    let AlertCounts { n_pending, n_dead } = counts;
    let open = format!("{{\"count\":{n_dead},\"pending\":{n_pending},\"dead_letters\":[");
    let mut response = streamed::json(streamed::awaited(open, letters, "]}")).await;
    response.headers_mut().extend(next);
    Ok(response)
}

impl DeadLetterView {
    pub(crate) fn from_letter(letter: DeadAlert) -> Result<Self, serde_json::Error> {
        let DeadAlert { record, n_attempts, error, dead_micros } = letter;
        let payload = RawValue::from_string(record.payload.to_string())?;
        Ok(Self {
            id: record.id.to_string(),
            transaction_id: record.transaction_id.to_string(),
            attempts: n_attempts,
            error,
            created_at: time(record.created_micros),
            dead_since: time(dead_micros),
            payload,
        })
    }
}

fn time(micros: i64) -> String {
    DateTime::from_timestamp_micros(micros).unwrap_or_default().to_rfc3339_opts(SecondsFormat::Micros, true)
}
