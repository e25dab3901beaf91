//! `POST /ledgerwebhook`: transactions as a ledger reports them.

use axum::Json;
use axum::extract::State;
use chrono::Utc;

use super::ApiState;
use super::body::JsonBody;
use super::error::ApiError;
use super::error_code::ErrorCode;
use super::openapi::schema;
use super::quoted::quoted;
use crate::transaction::{Json as Value, JsonLimits, Transaction};

/// Largest body, in bytes.
const WEBHOOK_BYTES_MAX: usize = 256 * 1024;

/// The one event that is taken.
const TRANSACTION_CREATED: &str = "transaction.created";

pub(super) const ERRORS: &[ErrorCode] = &[
    ErrorCode::UnsupportedEvent,
    ErrorCode::TransactionConflict,
    ErrorCode::Overloaded,
    ErrorCode::Unavailable,
    ErrorCode::Starting,
    ErrorCode::HistoryUnavailable,
    ErrorCode::Stopping,
];

/// Judges a transaction that a ledger reports, as `POST /inject` does.
///
/// The event taken is `transaction.created`. The transaction must bring its `transaction_id`; a redelivery gets the same
/// answer and changes nothing.
#[utoipa::path(
    post, path = "/ledgerwebhook", tag = "Transactions", request_body = schema::WebhookEnvelope,
    responses((
        status = 200,
        description = "The transaction was judged; the text names its id and the event.",
        body = String,
        example = json!("transaction txn_1 from event transaction.created processed")
    ))
)]
pub(super) async fn ledger_webhook(
    State(api): State<ApiState>,
    body: JsonBody<WEBHOOK_BYTES_MAX>,
) -> Result<Json<String>, ApiError> {
    let data = data_of_created(Value::parse(&body.0, JsonLimits::ENVELOPE)?)?;
    let (transaction, fingerprint) = Transaction::from_json(data, Utc::now())?;
    let id = transaction.transaction_id.clone();
    api.monitor.judge(transaction, fingerprint).await?;
    Ok(Json(format!("transaction {id} from event {TRANSACTION_CREATED} processed")))
}

/// The transaction inside an envelope; members that the interface does not name are the ledger's own business.
fn data_of_created(envelope: Value) -> Result<Value, ApiError> {
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
        Some(Value::Text(event)) if *event == *TRANSACTION_CREATED => {}
        Some(Value::Text(event)) => {
            let message = format!("the event {} is not taken; `{TRANSACTION_CREATED}` is", quoted(&event));
            return Err(ApiError::new(ErrorCode::UnsupportedEvent, message).at("event"));
        }
        None | Some(Value::Null) => {
            return Err(ApiError::new(ErrorCode::MissingField, "`event` is required").at("event"));
        }
        Some(_) => return Err(ApiError::new(ErrorCode::InvalidField, "`event` must be a text").at("event")),
    }
    match data {
        Some(data @ Value::Object(_)) => Ok(data),
        None | Some(Value::Null) => {
            Err(ApiError::new(ErrorCode::MissingField, "`data` is required").at("data"))
        }
        Some(_) => Err(ApiError::new(ErrorCode::InvalidField, "`data` must be an object").at("data")),
    }
}
