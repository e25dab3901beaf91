//! The last step of every response, and the response to a panic.

use std::any::Any;

use axum::extract::Request;
use axum::http::header::{self, HeaderValue};
use axum::response::{IntoResponse, Response};

use super::error::ApiError;
use super::error_code::ErrorCode;
use super::linger::{LINGER_BYTES_MAX, linger};
use super::quoted::quoted;
use tollgate_telemetry::metrics::Metrics;

/// Adds the common headers and counts refusals. Nothing else does either.
pub(super) fn finish(metrics: &Metrics, has_body: bool, mut response: Response) -> Response {
    let code = response.extensions().get::<ErrorCode>().copied();
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Some(code) = code {
        metrics.refused(code.as_str());
        if has_body && leaves_body_unread(code) {
            // The rest of the body blocks further requests on this connection.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
    response
}

/// Returns whether a refusal with this code leaves part of the body unread.
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
    let message = format!("there is no resource at {}", quoted(head.uri.path()));
    ApiError::new(ErrorCode::NotFound, message)
}

pub(super) async fn method_not_allowed(request: Request) -> ApiError {
    let (head, body) = request.into_parts();
    linger(&head.headers, body, LINGER_BYTES_MAX);
    let message = format!("this path does not support the method {}", quoted(head.method.as_str()));
    ApiError::new(ErrorCode::MethodNotAllowed, message)
}

/// Returns the response to a panic. Its message may contain anything, so it goes to the log and never into a response.
pub(super) fn panicked(_: Box<dyn Any + Send>) -> Response {
    ApiError::logged_already().into_response()
}
