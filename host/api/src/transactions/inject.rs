//! `POST /inject`

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use tollgate_model::assessment::Assessment;
use tollgate_model::transaction::{InjectRequest, InvalidTransaction, RequestOptions, Transaction};

use crate::body::JsonBody;
use crate::error::ApiError;
use crate::error_code::ErrorCode;
use crate::{ApiState, openapi::schema};

const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The header of a verdict that tells the sender what its request lacks.
const WARNING: HeaderName = HeaderName::from_static("x-tollgate-warning");
/// A repetition of the request would be judged as another transaction.
const NO_ID: HeaderValue = HeaderValue::from_static("no-id");

pub(super) const INJECT_BYTES_MAX: usize = 64 * 1024;

pub(crate) const ERRORS: &[ErrorCode] = &[
    ErrorCode::MisspelledField,
    ErrorCode::TransactionConflict,
    ErrorCode::DuplicateHash,
    ErrorCode::Overloaded,
    ErrorCode::Unavailable,
    ErrorCode::Starting,
    ErrorCode::HistoryUnavailable,
    ErrorCode::NotReady,
    ErrorCode::Stopping,
];

/// Evaluates a transaction against every rule in force.
///
/// When the response arrives, the transaction and its verdict are durable. Repeating a transaction under its id returns the
/// same response, byte for byte.
///
/// The id is the `transaction_id` of the body, or the `Idempotency-Key` header if the body has none. A request with
/// neither gets a generated id, so a repetition of it is judged as another transaction. Its response has the header
/// `X-Tollgate-Warning: no-id`.
#[utoipa::path(
    post, path = "/inject", tag = "Transactions", request_body = schema::Transaction,
    params((
        "Idempotency-Key" = Option<String>, Header, max_length = 255, pattern = r#"^[^"\\\x00-\x1f\x7f-\uffff]*$"#,
        example = "order-4711",
        description = "The id of the transaction if the body has no `transaction_id`: bare or in quotation marks, the same for each repetition."
    )),
    responses((
        status = 200, description = "The transaction was evaluated.", body = Assessment,
        headers((
            "X-Tollgate-Warning" = Option<String>,
            description = "`no-id`: the request has neither a `transaction_id` nor an `Idempotency-Key`."
        ))
    ))
)]
pub(crate) async fn inject(
    State(api): State<ApiState>,
    IdempotencyKey(key): IdempotencyKey,
    body: JsonBody<INJECT_BYTES_MAX>,
) -> Result<Response, ApiError> {
    let terms = RequestOptions {
        settings: api.requests,
        idempotency_key: key.as_ref().map(HeaderValue::as_bytes),
        line: None,
    };
    let request = InjectRequest::read(&body.0, &terms, api.monitor.now())?;
    let has_generated_id = request.has_generated_id;
    let assessment = judge(&api, request).await?;
    let verdict = Body::from(Bytes::from_owner(Arc::<[u8]>::from(assessment)));
    let mut response = ([(header::CONTENT_TYPE, "application/json")], verdict).into_response();
    if has_generated_id {
        api.metrics.judged_without_id();
        response.headers_mut().insert(WARNING, NO_ID);
    }
    Ok(response)
}

/// Judges a transaction, unless it is invalid and not stored.
pub(super) async fn judge(api: &ApiState, mut request: InjectRequest) -> Result<Arc<str>, ApiError> {
    if let Some(objection) = request.objection.take() {
        // Boxed because this path is rare: its future would otherwise enlarge the future of every request.
        Box::pin(refuse_unless_stored(api, &request.transaction, objection)).await?;
    }
    count(api, &request);
    Ok(api.monitor.judge(request.transaction, request.fingerprint).await?)
}

/// Counts what is odd in a request that is judged.
pub(super) fn count(api: &ApiState, request: &InjectRequest) {
    if request.is_clamped {
        api.metrics.time_clamped();
    }
    if request.transaction.has_unclear_identifier() {
        api.metrics.unclear_identifier("inject");
    }
}

/// The key, if present. Several keys are refused, because they would mean several transactions.
pub(crate) struct IdempotencyKey(pub(super) Option<HeaderValue>);

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

/// Accepts an invalid transaction if it is already stored. The sender of a repeated transaction, or of a request to
/// judge a ledger row, gets its response.
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
