//! `POST /inject`

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use chrono::Utc;
use tollgate_model::transaction::{InjectRequest, InvalidTransaction, RequestOptions, Transaction};

use crate::api::body::JsonBody;
use crate::api::error::ApiError;
use crate::api::error_code::ErrorCode;
use crate::api::{ApiState, openapi::schema};

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Largest body, in bytes.
const INJECT_BYTES_MAX: usize = 64 * 1024;

pub(in crate::api) const ERRORS: &[ErrorCode] = &[
    ErrorCode::MisspelledField,
    ErrorCode::TransactionConflict,
    ErrorCode::Overloaded,
    ErrorCode::Unavailable,
    ErrorCode::Starting,
    ErrorCode::HistoryUnavailable,
    ErrorCode::Stopping,
];

/// Judges a transaction by every rule in force.
///
/// When the answer is there, the transaction and its verdict are durable. The same transaction again gets the same
/// answer, byte for byte.
///
/// An `Idempotency-Key` header, bare or in quotation marks, stands for a `transaction_id` that the body leaves out; where the
/// body has one, the header is not looked at.
#[utoipa::path(
    post, path = "/inject", tag = "Transactions", request_body = schema::Transaction,
    responses((status = 200, description = "The transaction was judged.", body = schema::Assessment))
)]
pub(in crate::api) async fn inject(
    State(api): State<ApiState>,
    IdempotencyKey(key): IdempotencyKey,
    body: JsonBody<INJECT_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let terms =
        RequestOptions { settings: api.requests, idempotency_key: key.as_ref().map(HeaderValue::as_bytes) };
    let InjectRequest { transaction, fingerprint, objection } =
        InjectRequest::read(&body.0, &terms, Utc::now())?;
    if let Some(objection) = objection {
        // Boxed: it is rare, and its future would be a part of that of every request.
        Box::pin(refuse_unless_stored(&api, &transaction, objection)).await?;
    }
    if transaction.has_unclear_identifier() {
        api.metrics.unclear_identifier("inject");
    }
    let assessment = api.monitor.judge(transaction, fingerprint).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], assessment.to_string()).into_response())
}

/// The key, where there is one; several would be several transactions.
pub(in crate::api) struct IdempotencyKey(Option<HeaderValue>);

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut keys = parts.headers.get_all(IDEMPOTENCY_KEY).iter();
        let (key, another) = (keys.next(), keys.next());
        if another.is_none() {
            Ok(Self(key.cloned()))
        } else {
            let message = "there is more than one `Idempotency-Key` header; send one";
            Err(ApiError::new(ErrorCode::InvalidField, message).at("Idempotency-Key"))
        }
    }
}

/// A transaction that is stored was accepted as it is: whoever repeats it, or asks for a verdict on a row of a ledger, gets
/// the answer.
async fn refuse_unless_stored(
    api: &ApiState,
    transaction: &Transaction,
    objection: InvalidTransaction,
) -> Result<(), ApiError> {
    match api.monitor.find(&transaction.transaction_id).await? {
        Some(_) => Ok(()),
        None => Err(objection.into()),
    }
}
