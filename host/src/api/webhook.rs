//! `POST /ledgerwebhook`: transactions, and what becomes of them, as a ledger reports them.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use chrono::Utc;

use super::ApiState;
use super::body::JsonBody;
use super::error::ApiError;
use super::error_code::ErrorCode;
use super::openapi::schema;
use super::quoted::quoted;
use crate::signature::{SignatureError, SigningKeys, Stamped, Standard};
use crate::transaction::{Json as Value, JsonLimits, Report};

/// Largest body, in bytes.
const WEBHOOK_BYTES_MAX: usize = 256 * 1024;

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

/// Takes note of what a ledger reports.
///
/// An event `transaction.…` brings a transaction. Where that has no `transaction_id`, its id is a UUID of version 5 that follows
/// from `webhook-id` or, without that header, from `data` without its status, so that an event that is told again is about the
/// same transaction. One that is not known is judged as by `POST /inject`. Of a known one the status goes on, in what is stored and in what rules count from then on; its verdict
/// stays, and everything else must be as it was. The event means the status in `data`, or its own word (`applied` in
/// `transaction.applied`) when there is none or the word tells of a later stage: pending, any word not listed here, queued,
/// scheduled, inflight, applied, rejected, expired, void, refunded. A status never goes back, so events may come late,
/// twice and in any order. `created` and `updated` are no statuses. `Transaction.Applied`, `transaction_applied` and
/// `TransactionApplied` mean the same, as far as the word is one of these. Every other event is acknowledged and changes nothing.
///
/// Where the service was given `LEDGER_WEBHOOK_SECRET`, every event must be signed: as Standard Webhooks (`webhook-id`,
/// `webhook-timestamp`, `webhook-signature` with `v1` signatures), or with `X-Blnk-Timestamp` and `X-Blnk-Signature`, the
/// HMAC-SHA256 of `timestamp.body` in hexadecimal digits; within 300 seconds of now.
#[utoipa::path(
    post, path = "/ledgerwebhook", tag = "Transactions", request_body = schema::WebhookEnvelope,
    responses((
        status = 200,
        description = "What was reported is durable; the text names the event, and the id where there is one.",
        body = String,
        content_type = "application/json",
        example = json!("transaction txn_1 from event transaction.applied processed")
    ))
)]
pub(super) async fn ledger_webhook(
    State(api): State<ApiState>,
    headers: HeaderMap,
    body: JsonBody<WEBHOOK_BYTES_MAX>,
) -> Result<Json<String>, ApiError> {
    if let Some(keys) = &api.ledger_keys {
        verify(keys, &headers, &body.0, Utc::now().timestamp())?;
    }
    let limits = JsonLimits::envelope(api.requests.object_keys_max);
    let Envelope { event, data } = Envelope::read(Value::parse(&body.0, limits)?)?;
    let Some(word) = Report::word_of(&event) else {
        api.metrics.event_ignored();
        return Ok(Json(acknowledgement(&event, data.as_ref())));
    };
    let data = match data {
        Some(data @ Value::Object(_)) => data,
        None | Some(Value::Null) => {
            return Err(ApiError::new(ErrorCode::MissingField, "`data` is required").at("data"));
        }
        Some(_) => {
            return Err(ApiError::new(ErrorCode::InvalidField, "`data` must be an object").at("data"));
        }
    };
    let message = only(&headers, "webhook-id").filter(|id| !id.is_empty());
    let report = Report::read(&word, data, message, Utc::now())?;
    if report.transaction().has_unclear_identifier() {
        api.metrics.unclear_identifier("event");
    }
    let id = report.transaction().transaction_id.clone();
    let answer = format!("transaction {id} from event {event} processed");
    api.monitor.report(report, event.into()).await?;
    Ok(Json(answer))
}

/// Whether the ledger sent these bytes, in whichever of the two manners it says so.
fn verify(keys: &SigningKeys, headers: &HeaderMap, body: &[u8], now: i64) -> Result<(), SignatureError> {
    let standard = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(|name| only(headers, name));
    let stamped = ["x-blnk-timestamp", "x-blnk-signature"].map(|name| only(headers, name));
    match (standard, stamped) {
        ([Some(id), Some(timestamp), Some(signatures)], _) => {
            keys.verify_standard(Standard { id, timestamp, signatures }, body, now)
        }
        // A request that begins to speak of one manner is not believed in the other.
        ([None, None, None], [Some(timestamp), Some(signature)]) => {
            keys.verify_stamped(Stamped { timestamp, signature }, body, now)
        }
        _ => Err(SignatureError::Missing),
    }
}

/// The value of a header that is there once, and text.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// What a ledger sends; members that the interface does not name are its own business.
struct Envelope {
    event: Box<str>,
    data: Option<Value>,
}

impl Envelope {
    fn read(envelope: Value) -> Result<Self, ApiError> {
        let Value::Object(members) = envelope else {
            return Err(ApiError::new(ErrorCode::NotAnObject, "a webhook envelope must be an object"));
        };
        let (mut event, mut data) = (None, None);
        for (name, value) in members {
            match &*name {
                "event" => event = Some(value),
                "data" => data = Some(value),
                _ => {}
            }
        }
        match event {
            Some(Value::Text(event)) => Ok(Self { event, data }),
            None | Some(Value::Null) => {
                Err(ApiError::new(ErrorCode::MissingField, "`event` is required").at("event"))
            }
            Some(_) => Err(ApiError::new(ErrorCode::InvalidField, "`event` must be a text").at("event")),
        }
    }
}

/// The answer to an event about something else than a transaction.
fn acknowledgement(event: &str, data: Option<&Value>) -> String {
    match data.and_then(|data| data.at(&["transaction_id"])) {
        Some(Value::Text(id)) => {
            format!("event {} acknowledged; transaction {} is left as it is", quoted(event), quoted(id))
        }
        _ => format!("event {} acknowledged", quoted(event)),
    }
}
