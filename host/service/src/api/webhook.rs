//! `POST /ledgerwebhook`: transactions, and what becomes of them, as a ledger reports them.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tollgate_links::signature::{SignatureError, SigningKeys, StandardHeaders, TimestampHeaders};
use tollgate_model::ledger_kind::LedgerKind;
use tollgate_model::ledger_kind::{self, ReportChannel, looks_like_blnk};
use tollgate_model::transaction::{
    InvalidTransaction, Json as Value, JsonError, JsonLimits, TransactionReport,
};
use tollgate_store::DeadLetter;

use super::ApiState;
use super::body::JsonBody;
use super::error::ApiError;
use super::error_code::ErrorCode;
use super::openapi::schema;
use super::quoted::quoted;
use crate::payments::{EntryOutcome, envelope};

/// Largest body, in bytes.
const WEBHOOK_BYTES_MAX: usize = 256 * 1024;
/// The type of the hooks of Blnk that tell what was posted; of those before that nothing has happened yet.
const POST_HOOK: &str = "POST_TRANSACTION";
/// In the place of the word of an event.
const HOOK: &str = "hook";
/// The words of the metrics for what becomes of an event.
const TAKEN: &str = "taken";
const WAITING: &str = "waiting";
const IGNORED: &str = "ignored";
const DEAD: &str = "dead";
const REFUSED: &str = "refused";
/// Characters of an id or a time that a dead letter shows.
const SHOWN_CHARACTERS: usize = 256;

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
/// from `webhook-id` or, without that header, from `data` without its status and `updated_at`, so that an event that is told again is about the
/// same transaction. One that is not known is judged as by `POST /inject`. Of a known one the status goes on, in what is stored and
/// in what rules count from then on; its verdict stays. What is moved, amount, currency, source and destination, must be as it was;
/// other words are kept as `latest_description`. The event means the status in `data`, or its own word (`applied` in
/// `transaction.applied`) when there is none or the word tells of a later stage: pending, any word not listed here, queued,
/// scheduled, inflight, applied, rejected, expired, void, refunded. The furthest stands, so events may come late,
/// twice and in any order. Where `updated_at` in `data` tells when the ledger changed the payment, a time or a version of its row,
/// the latest change stands. `created` and `updated` are no statuses. `Transaction.Applied`, `transaction_applied` and
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
    let now = Utc::now();
    let taken = match &api.ledger_keys {
        Some(keys) => verify(keys, &headers, &body.0, now.timestamp()).map_err(ApiError::from),
        None => Ok(()),
    };
    let taken = match taken {
        Ok(()) => take(&api, &headers, &body.0, now).await,
        Err(error) => Err(error),
    };
    let result = match &taken {
        Ok((_, result)) => {
            api.payments.news().took(now);
            result
        }
        Err(error) => {
            api.payments.news().refused(now, &error.summary());
            REFUSED
        }
    };
    api.metrics.ledger_event(result);
    taken.map(|(answer, _)| Json(answer))
}

/// Takes note of what Blnk reports: the same as `POST /ledgerwebhook`, where tools for Blnk look for it.
#[utoipa::path(
    post, path = "/blnkwebhook", tag = "Transactions", request_body = schema::WebhookEnvelope,
    responses((
        status = 200,
        description = "What was reported is durable; the text names the event, and the id where there is one.",
        body = String,
        content_type = "application/json",
        example = json!("transaction txn_1 from event transaction.applied processed")
    ))
)]
pub(super) async fn blnk_webhook(
    state: State<ApiState>,
    headers: HeaderMap,
    body: JsonBody<WEBHOOK_BYTES_MAX>,
) -> Result<Json<String>, ApiError> {
    ledger_webhook(state, headers, body).await
}

/// Takes a dead letter of an event once more; what became of it. It is gone when it was taken.
pub(super) async fn replay(api: &ApiState, number: i64, sent: &str) -> Result<String, ApiError> {
    let (answer, result) = take(api, &HeaderMap::new(), sent.as_bytes(), Utc::now()).await?;
    if result != DEAD {
        api.payments.forget(number).await?;
    }
    Ok(answer)
}

/// The answer to an event, and the word of the metrics for what became of it.
type EventAnswer = Result<(String, &'static str), ApiError>;

/// Takes what the ledger sent.
async fn take(api: &ApiState, headers: &HeaderMap, body: &[u8], arrival: DateTime<Utc>) -> EventAnswer {
    let limits = JsonLimits::envelope(api.requests.object_keys_max);
    let read = match Value::parse(body, limits) {
        Ok(sent) => Envelope::read(sent)?,
        Err(error) => return unreadable(api, body, error, arrival).await,
    };
    let Envelope { event, data, is_hook } = read;
    let word = match TransactionReport::word_of(&event) {
        _ if is_hook && api.payments.kind() == LedgerKind::Blnk && *event == *POST_HOOK => {
            Cow::Borrowed(HOOK)
        }
        Some(word) if !is_hook => word,
        _ => {
            api.metrics.event_ignored();
            return Ok((acknowledgement(&event, data.as_ref()), IGNORED));
        }
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
    let telling = if is_hook { ReportChannel::Hook } else { ReportChannel::Event(&word) };
    let message = only(headers, "webhook-id").filter(|id| !id.is_empty());
    if api.payments.kind() == LedgerKind::Generic && looks_like_blnk(&data) {
        api.payments.news().looks_like_blnk();
    }
    // An entry of a generic ledger never waits, and is told again where it cannot be read.
    let told = if api.payments.kind() == LedgerKind::Generic { Value::Null } else { data.clone() };
    let entry = match api.payments.read(ledger_kind::EntryReport { telling, data, message, arrival }) {
        Ok(entry) => entry,
        Err(error) if api.payments.kind() == LedgerKind::Generic => return Err(error.into()),
        Err(error) => {
            let member = if is_hook { "hook_type" } else { "event" };
            let sent = envelope(member, &event, &told.to_string());
            let dead = dead_letter(&told, sent, error.code(), error.to_string(), arrival);
            return bury(api, &event, dead).await;
        }
    };
    if entry.report.transaction().has_unclear_identifier() {
        api.metrics.unclear_identifier("event");
    }
    let id = Arc::clone(&entry.id);
    Ok(match api.payments.take(entry, telling, &told, Arc::from(&*event)).await? {
        EntryOutcome::Payment(payment) => {
            (format!("transaction {payment} from event {event} processed"), TAKEN)
        }
        EntryOutcome::Waits(parent) => {
            (format!("transaction {id} from event {event} is kept until {parent} is told"), WAITING)
        }
        EntryOutcome::Nothing => (acknowledgement(&event, Some(&told)), IGNORED),
        EntryOutcome::Dead(reason) => dead(&event, reason),
    })
}

/// An envelope that no transaction can be read of. One of Blnk, which would tell it again for weeks, is kept.
async fn unreadable(api: &ApiState, body: &[u8], error: JsonError, arrival: DateTime<Utc>) -> EventAnswer {
    /// As far as anybody's parser has to read it.
    #[derive(Deserialize)]
    struct LenientEvent<'b> {
        event: String,
        #[serde(borrow)]
        data: &'b RawValue,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct LenientData {
        transaction_id: String,
        created_at: String,
    }
    let sent = serde_json::from_slice::<LenientEvent<'_>>(body).ok();
    match sent.filter(|sent| {
        api.payments.kind() == LedgerKind::Blnk && TransactionReport::word_of(&sent.event).is_some()
    }) {
        Some(LenientEvent { event, data }) => {
            let invalid = InvalidTransaction::from(error);
            let sent = envelope("event", &event, data.get());
            let mut letter = dead_letter(&Value::Null, sent, invalid.code(), invalid.to_string(), arrival);
            if let Ok(named) = serde_json::from_str::<LenientData>(data.get()) {
                (letter.transaction_id, letter.created_at) = (named.transaction_id, named.created_at);
            }
            bury(api, &event, letter).await
        }
        None => Err(error.into()),
    }
}

/// The dead letter of an event that can never be taken: of its data, as far as that can be read, and of all that was sent.
fn dead_letter(
    data: &Value,
    sent: String,
    reason: &'static str,
    detail: String,
    found: DateTime<Utc>,
) -> DeadLetter {
    let text = |name: &str| match data.at(&[name]) {
        Some(Value::Text(text)) => text.chars().take(SHOWN_CHARACTERS).collect(),
        _ => String::new(),
    };
    DeadLetter {
        digest: Sha256::digest(&sent).into(),
        transaction_id: text("transaction_id"),
        created_at: text("created_at"),
        reason,
        detail,
        row: sent,
        found_micros: found.timestamp_micros(),
    }
}

async fn bury(api: &ApiState, event: &str, letter: DeadLetter) -> EventAnswer {
    let reason = letter.reason;
    api.payments.bury(letter).await?;
    Ok(dead(event, reason))
}

fn dead(event: &str, reason: &str) -> (String, &'static str) {
    (format!("event {} cannot be taken ({reason}): it is kept as a dead letter", quoted(event)), DEAD)
}

/// Whether the ledger sent these bytes, in whichever of the two manners it says so.
fn verify(keys: &SigningKeys, headers: &HeaderMap, body: &[u8], now: i64) -> Result<(), SignatureError> {
    let standard = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(|name| only(headers, name));
    let stamped = ["x-blnk-timestamp", "x-blnk-signature"].map(|name| only(headers, name));
    match (standard, stamped) {
        ([Some(id), Some(timestamp), Some(signatures)], _) => {
            keys.verify_standard(StandardHeaders { id, timestamp, signatures }, body, now)
        }
        // A request that begins to speak of one manner is not believed in the other.
        ([None, None, None], [Some(timestamp), Some(signature)]) => {
            keys.verify_stamped(TimestampHeaders { timestamp, signature }, body, now)
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
    /// The name of the event, or the type of the hook.
    event: Box<str>,
    data: Option<Value>,
    is_hook: bool,
}

impl Envelope {
    fn read(envelope: Value) -> Result<Self, ApiError> {
        let Value::Object(members) = envelope else {
            return Err(ApiError::new(ErrorCode::NotAnObject, "a webhook envelope must be an object"));
        };
        let (mut event, mut hook, mut data) = (None, None, None);
        for (name, value) in members {
            match &*name {
                "event" => event = Some(value),
                "hook_type" => hook = Some(value),
                "data" => data = Some(value),
                _ => {}
            }
        }
        match (event, hook) {
            (Some(Value::Text(event)), _) => Ok(Self { event, data, is_hook: false }),
            (None, Some(Value::Text(hook))) => Ok(Self { event: hook, data, is_hook: true }),
            (None | Some(Value::Null), _) => {
                Err(ApiError::new(ErrorCode::MissingField, "`event` is required").at("event"))
            }
            (Some(_), _) => Err(ApiError::new(ErrorCode::InvalidField, "`event` must be a text").at("event")),
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
