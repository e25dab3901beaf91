//! What every answer gets on its way out, and the answers that no handler gives.

use std::any::Any;

use axum::extract::Request;
use axum::http::header::{self, HeaderValue};
use axum::response::{IntoResponse, Response};

use super::error::ApiError;
use super::error_code::ErrorCode;
use super::linger::{LINGER_BYTES_MAX, linger};
use super::quoted::quoted;
use crate::telemetry::metrics::Metrics;

/// Adds the headers that all answers share and counts refusals: the one place where either happens.
pub(super) fn finish(metrics: &Metrics, has_body: bool, mut response: Response) -> Response {
    let code = response.extensions().get::<ErrorCode>().copied();
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Some(code) = code {
        metrics.refused(code.as_str());
        if has_body && leaves_body_unread(code) {
            // The connection cannot carry another request behind what is left of this one: say so.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
    response
}

/// Whether a refusal with this code comes before the body was read to its end.
const fn leaves_body_unread(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::BodyTooLarge
            | ErrorCode::IncompleteBody
            | ErrorCode::RequestTimeout
            | ErrorCode::UnsupportedMediaType
            | ErrorCode::UrlTooLong
            | ErrorCode::InvalidHost
            | ErrorCode::HostNotAllowed
            | ErrorCode::OriginNotAllowed
            | ErrorCode::NotFound
            | ErrorCode::MethodNotAllowed
    )
}

pub(super) async fn not_found(request: Request) -> ApiError {
    let (head, body) = request.into_parts();
    linger(&head.headers, body, LINGER_BYTES_MAX);
    let message = format!("nothing is served under {}", quoted(head.uri.path()));
    ApiError::new(ErrorCode::NotFound, message)
}

pub(super) async fn method_not_allowed(request: Request) -> ApiError {
    let (head, body) = request.into_parts();
    linger(&head.headers, body, LINGER_BYTES_MAX);
    let message = format!("this path is not served for the method {}", quoted(head.method.as_str()));
    ApiError::new(ErrorCode::MethodNotAllowed, message)
}

/// The words of a panic may hold anything: they are in the log, as those of all panics, and never in an answer.
pub(super) fn panicked(_: Box<dyn Any + Send>) -> Response {
    ApiError::logged_already().into_response()
}
