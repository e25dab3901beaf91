//! `POST /ledgerwebhook`: transactions and their status changes, as reported by a ledger.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use chrono::{DateTime, Utc};
use tollgate_ledger::event::{AcceptedEvent, EventEffect, EventMessage};
use tollgate_links::signature::{SignatureError, SigningKeys, StandardHeaders, TimestampHeaders};

use super::ApiState;
use super::body::read_event;
use super::error::ApiError;
use super::error_code::ErrorCode;
use super::openapi::schema;
use super::quoted::quoted;

const WEBHOOK_BYTES_MAX: usize = 256 * 1024;
/// Metric labels for the result of an event.
const TAKEN: &str = "taken";
const WAITING: &str = "waiting";
const IGNORED: &str = "ignored";
const DEAD: &str = "dead";
const REFUSED: &str = "refused";

pub(super) const ERRORS: &[ErrorCode] = &[
    ErrorCode::SignatureMissing,
    ErrorCode::SignatureInvalid,
    ErrorCode::SignatureExpired,
    ErrorCode::MisspelledField,
    ErrorCode::TransactionConflict,
    ErrorCode::Overloaded,
    ErrorCode::Unavailable,
    ErrorCode::Starting,
    ErrorCode::HistoryUnavailable,
    ErrorCode::Stopping,
];

/// Records a report from a ledger.
///
/// An event `transaction.…` reports a transaction. A transaction without a `transaction_id` gets a UUID of version 5,
/// derived from `webhook-id`. Without that header, it is derived from `data` without its status and `updated_at`. A
/// repeated event therefore refers to the same transaction.
///
/// An unknown transaction is evaluated as by `POST /inject`. For a known one, the report advances the status, both in
/// the store and in later rule evaluations; its verdict stays. Amount, currency, source and destination must not
/// change. Other changed fields are kept as `latest_description`.
///
/// The status is the one in `data`. If it is absent, or the word of the event is a later stage, the word is used
/// (`applied` in `transaction.applied`). The stages, in order, are: created, queued, scheduled, held, settled, failed,
/// expired, void, returned. `docs/ledger.md` lists their words. The furthest stage is kept, so events may arrive
/// late, twice and in any order. The answer then says that the status stays as it is. If `updated_at` in `data` holds the time or version of the ledger's change, the latest
/// change is kept instead. `created` and `updated` are not statuses. `Transaction.Applied`, `transaction_applied` and
/// `TransactionApplied` mean `transaction.applied`; other spellings are accepted for the listed words only. All other
/// events are acknowledged and change nothing.
///
/// If `LEDGER_WEBHOOK_SECRET` is set, every event must be signed within 300 seconds of the current time. Two schemes
/// are accepted. Standard Webhooks uses `webhook-id`, `webhook-timestamp`, and `webhook-signature` with `v1`
/// signatures. The other uses `X-Blnk-Timestamp` and `X-Blnk-Signature`, the HMAC-SHA256 of `timestamp.body` in
/// hexadecimal digits.
#[utoipa::path(
    post, path = "/ledgerwebhook", tag = "Transactions", request_body = schema::WebhookEnvelope,
    responses((
        status = 200,
        description = "The report is durable; the text names the event, and the transaction id if there is one.",
        body = String,
        content_type = "application/json",
        example = json!("transaction txn_1 from event transaction.applied processed")
    ))
)]
pub(super) async fn ledger_webhook(
    State(api): State<ApiState>,
    request: Request,
) -> Result<Json<String>, ApiError> {
    let now = Utc::now();
    match receive(&api, request, now).await {
        Ok((answer, result)) => {
            api.payments.ledger_events().record_accepted(now);
            api.metrics.ledger_event(result);
            Ok(Json(answer))
        }
        Err(error) => {
            note_refusal(&api, &error);
            Err(error)
        }
    }
}

/// Counts and logs an event that was refused, and shows it in `/readyz`.
pub(super) fn note_refusal(api: &ApiState, error: &ApiError) {
    api.payments.ledger_events().record_refused(Utc::now(), &error.summary());
    api.metrics.ledger_event(REFUSED);
}

/// Reads, authenticates and takes an event.
async fn receive(api: &ApiState, request: Request, now: DateTime<Utc>) -> EventAnswer {
    let headers = request.headers().clone();
    let verified = |headers: &HeaderMap, body: &[u8]| {
        api.ledger_keys.as_ref().map(|keys| verify(keys, headers, body, now.timestamp()))
    };
    let is_signed = |headers: &HeaderMap, body: &[u8]| matches!(verified(headers, body), Some(Ok(())));
    let body = read_event(request, WEBHOOK_BYTES_MAX, is_signed).await?;
    verified(&headers, &body).unwrap_or(Ok(()))?;
    take(api, &headers, &body, now).await
}

/// Records a report from Blnk.
///
/// Equivalent to `POST /ledgerwebhook`, at the path that tools for Blnk expect.
#[utoipa::path(
    post, path = "/blnkwebhook", tag = "Transactions", request_body = schema::WebhookEnvelope,
    responses((
        status = 200,
        description = "The report is durable; the text names the event, and the transaction id if there is one.",
        body = String,
        content_type = "application/json",
        example = json!("transaction txn_1 from event transaction.applied processed")
    ))
)]
pub(super) async fn blnk_webhook(state: State<ApiState>, request: Request) -> Result<Json<String>, ApiError> {
    ledger_webhook(state, request).await
}

/// Processes a dead letter of an event again and returns the result. An accepted event deletes the dead letter.
pub(super) async fn replay(api: &ApiState, number: i64, sent: &str) -> Result<String, ApiError> {
    let (answer, result) = take(api, &HeaderMap::new(), sent.as_bytes(), Utc::now()).await?;
    if result != DEAD {
        api.payments.delete_dead_letter(number).await?;
    }
    Ok(answer)
}

/// The response to an event, and the metric label of its result.
type EventAnswer = Result<(String, &'static str), ApiError>;

async fn take(api: &ApiState, headers: &HeaderMap, body: &[u8], arrival: DateTime<Utc>) -> EventAnswer {
    let id = only(headers, "webhook-id").filter(|id| !id.is_empty());
    let object_keys_max = api.requests.object_keys_max;
    Ok(answer(api.payments.take_event(EventMessage { body, id, arrival, object_keys_max }).await?))
}

/// Words the effect of an event.
fn answer(AcceptedEvent { name, effect }: AcceptedEvent) -> (String, &'static str) {
    match effect {
        EventEffect::Payment { id, kept_status } => {
            let stays = kept_status.map_or(String::new(), |status| format!("; its status stays {status}"));
            (format!("transaction {id} from event {name} processed{stays}"), TAKEN)
        }
        EventEffect::Waits { id, parent } => {
            (format!("transaction {id} from event {name} is held until {parent} is reported"), WAITING)
        }
        EventEffect::Nothing { id } => {
            let unchanged =
                id.map_or(String::new(), |id| format!("; transaction {} is unchanged", quoted(&id)));
            (format!("event {} acknowledged{unchanged}", quoted(&name)), IGNORED)
        }
        EventEffect::Dead { reason } => {
            let event = quoted(&name);
            (format!("event {event} cannot be processed ({reason}): it is kept as a dead letter"), DEAD)
        }
    }
}

/// Verifies that the ledger sent these bytes, under either signature scheme.
fn verify(keys: &SigningKeys, headers: &HeaderMap, body: &[u8], now: i64) -> Result<(), SignatureError> {
    let standard = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(|name| only(headers, name));
    let stamped = ["x-blnk-timestamp", "x-blnk-signature"].map(|name| only(headers, name));
    match (standard, stamped) {
        ([Some(id), Some(timestamp), Some(signatures)], _) => {
            keys.verify_standard(StandardHeaders { id, timestamp, signatures }, body, now)
        }
        // A request with any header of one scheme is not verified under the other.
        ([None, None, None], [Some(timestamp), Some(signature)]) => {
            keys.verify_stamped(TimestampHeaders { timestamp, signature }, body, now)
        }
        _ => Err(SignatureError::Missing),
    }
}

/// Returns the value of a header that occurs exactly once and is text.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}
