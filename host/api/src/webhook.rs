//! `POST /ledgerwebhook`: transactions and their status changes, as reported by a ledger.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tollgate_links::signature::{SignatureError, SigningKeys, StandardHeaders, TimestampHeaders};
use tollgate_model::ledger_kind::LedgerKind;
use tollgate_model::ledger_kind::{self, ReportChannel, looks_like_blnk};
use tollgate_model::transaction::{
    InvalidTransaction, Json as Value, JsonError, JsonLimits, METADATA, TransactionReport, mark_left_out,
    metadata_paths,
};
use tollgate_store::DeadLetter;

use super::ApiState;
use super::body::read_event;
use super::error::ApiError;
use super::error_code::ErrorCode;
use super::openapi::schema;
use super::quoted::quoted;
use tollgate_pipeline::payments::{EntryOutcome, envelope};

const WEBHOOK_BYTES_MAX: usize = 256 * 1024;
/// Type of the Blnk hook sent after posting. Hooks sent before it describe nothing that has happened yet.
const POST_HOOK: &str = "POST_TRANSACTION";
/// Stands for the word of an event, which a hook does not have.
const HOOK: &str = "hook";
/// Metric labels for the result of an event.
const TAKEN: &str = "taken";
const WAITING: &str = "waiting";
const IGNORED: &str = "ignored";
const DEAD: &str = "dead";
const REFUSED: &str = "refused";
/// Maximum length of an id or a time in a dead letter, in characters.
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
    let limits = JsonLimits::envelope(api.requests.object_keys_max);
    let parsed = match api.payments.kind() {
        LedgerKind::Generic => Value::parse(body, limits).map(|sent| (sent, Vec::new())),
        LedgerKind::Blnk => {
            Value::parse_leaving_out(body, limits.without_wide_numbers(), &["data", METADATA])
        }
    };
    let read = match parsed {
        Ok((sent, left_out)) => Envelope::read(sent)?.without(left_out),
        Err(error) => return unreadable(api, body, error, arrival).await,
    };
    let Envelope { event, data, is_hook } = read;
    let word = match TransactionReport::word_of(&event, api.payments.status_words()) {
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
    let channel = if is_hook { ReportChannel::Hook } else { ReportChannel::Event(&word) };
    let message = only(headers, "webhook-id").filter(|id| !id.is_empty());
    if api.payments.kind() == LedgerKind::Generic && looks_like_blnk(&data) {
        api.payments.ledger_events().looks_like_blnk();
    }
    // An entry of a generic ledger never waits, and is sent again if it cannot be read.
    let kept_data = if api.payments.kind() == LedgerKind::Generic { Value::Null } else { data.clone() };
    let entry = match api.payments.read(ledger_kind::EntryReport { channel, data, message, arrival }) {
        Ok(entry) => entry,
        Err(error) if api.payments.kind() == LedgerKind::Generic => return Err(error.into()),
        Err(error) => {
            let member = if is_hook { "hook_type" } else { "event" };
            let sent = envelope(member, &event, &kept_data.to_string());
            let dead = dead_letter(&kept_data, sent, error.code(), error.to_string(), arrival);
            return store_dead_letter(api, &event, dead).await;
        }
    };
    if entry.report.transaction().has_unclear_identifier() {
        api.metrics.unclear_identifier("event");
    }
    let id = Arc::clone(&entry.id);
    let status = entry.report.transaction().status.clone();
    Ok(match api.payments.take(entry, channel, &kept_data, Arc::from(&*event)).await? {
        EntryOutcome::Payment(payment) => {
            let stays = unmoved(api, &payment, status.as_deref()).await;
            (format!("transaction {payment} from event {event} processed{stays}"), TAKEN)
        }
        EntryOutcome::Waits(parent) => {
            (format!("transaction {id} from event {event} is held until {parent} is reported"), WAITING)
        }
        EntryOutcome::Nothing => (acknowledgement(&event, Some(&kept_data)), IGNORED),
        EntryOutcome::Dead(reason) => dead(&event, reason),
    })
}

/// Returns the end of the answer if a generic ledger reported another status than the one that stands. An entry of Blnk
/// has a status of its own.
async fn unmoved(api: &ApiState, payment: &str, reported: Option<&str>) -> String {
    let (Some(reported), LedgerKind::Generic) = (reported, api.payments.kind()) else { return String::new() };
    // The report is durable, so an error here does not fail it.
    let current_status = match api.payments.monitor().find(payment).await {
        Ok(Some(judged)) => judged.transaction.status,
        Ok(None) | Err(_) => None,
    };
    match current_status {
        Some(status) if *status != *reported => format!("; its status stays {status}"),
        _ => String::new(),
    }
}

/// Handles an envelope without a readable transaction. A Blnk envelope is kept as a dead letter, because Blnk would
/// send it again for weeks.
async fn unreadable(api: &ApiState, body: &[u8], error: JsonError, arrival: DateTime<Utc>) -> EventAnswer {
    /// The parts of an event that a lenient parser can read.
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
        api.payments.kind() == LedgerKind::Blnk
            && TransactionReport::word_of(&sent.event, api.payments.status_words()).is_some()
    }) {
        Some(LenientEvent { event, data }) => {
            let invalid = InvalidTransaction::from(error);
            let sent = envelope("event", &event, data.get());
            let mut letter = dead_letter(&Value::Null, sent, invalid.code(), invalid.to_string(), arrival);
            if let Ok(named) = serde_json::from_str::<LenientData>(data.get()) {
                let shown = |text: String| text.chars().take(SHOWN_CHARACTERS).collect();
                (letter.transaction_id, letter.created_at) =
                    (shown(named.transaction_id), shown(named.created_at));
            }
            store_dead_letter(api, &event, letter).await
        }
        None => Err(error.into()),
    }
}

/// Creates the dead letter of an event that can never be accepted, with its readable fields and the whole message.
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
        alert: None,
    }
}

async fn store_dead_letter(api: &ApiState, event: &str, letter: DeadLetter) -> EventAnswer {
    let reason = letter.reason;
    api.payments.store_dead_letter(letter).await?;
    Ok(dead(event, reason))
}

fn dead(event: &str, reason: &str) -> (String, &'static str) {
    (format!("event {} cannot be processed ({reason}): it is kept as a dead letter", quoted(event)), DEAD)
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

/// A message from a ledger; unknown members are ignored.
struct Envelope {
    /// Name of the event, or type of the hook.
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

    /// Marks the data with the metadata that was left out when it was parsed.
    fn without(mut self, left_out: Vec<Box<str>>) -> Self {
        if let Some(data) = &mut self.data {
            mark_left_out(data, metadata_paths(left_out));
        }
        self
    }
}

/// Returns the response to an event that is not about a transaction.
fn acknowledgement(event: &str, data: Option<&Value>) -> String {
    match data.and_then(|data| data.at(&["transaction_id"])) {
        Some(Value::Text(id)) => {
            format!("event {} acknowledged; transaction {} is unchanged", quoted(event), quoted(id))
        }
        _ => format!("event {} acknowledged", quoted(event)),
    }
}
