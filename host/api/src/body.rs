//! Request bodies: checks the media type and reads up to a cap.

use std::future::poll_fn;
use std::pin::Pin;

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{FromRequest, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};

use super::error::ApiError;
use super::error_code::ErrorCode;
use super::linger::{ANNOUNCED_BYTES_MAX, LINGER_BYTES_MAX, linger, linger_for_late};
use super::request_limits::ArrivalError;

/// Errors that a route with a JSON body can return, parsing included.
pub(super) const ERRORS: &[ErrorCode] = &[
    ErrorCode::UnsupportedMediaType,
    ErrorCode::BodyTooLarge,
    ErrorCode::RequestTimeout,
    ErrorCode::IncompleteBody,
    ErrorCode::MalformedJson,
    ErrorCode::InvalidUtf8,
    ErrorCode::DuplicateKey,
    ErrorCode::TooDeep,
    ErrorCode::TooManyKeys,
    ErrorCode::NumberOutOfRange,
    ErrorCode::NulCharacter,
    ErrorCode::NotAnObject,
    ErrorCode::MissingField,
    ErrorCode::InvalidField,
];

/// Errors that a route with a binary body can return.
pub(super) const ERRORS_OF_BYTES: &[ErrorCode] = &[
    ErrorCode::UnsupportedMediaType,
    ErrorCode::BodyTooLarge,
    ErrorCode::RequestTimeout,
    ErrorCode::IncompleteBody,
];

/// Errors of the whole response that a route with a body of lines can return. Those of a line are part of the response.
pub(super) const ERRORS_OF_LINES: &[ErrorCode] = &[ErrorCode::UnsupportedMediaType];

/// A body declared as a WebAssembly module, at most `BYTES_MAX` bytes.
#[derive(Debug)]
pub(super) struct WasmBody<const BYTES_MAX: usize>(pub(super) Vec<u8>);

impl<S: Send + Sync, const BYTES_MAX: usize> FromRequest<S> for WasmBody<BYTES_MAX> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        read_announced(request, &[DeclaredType::Wasm], BYTES_MAX).await.map(|(_, bytes)| Self(bytes))
    }
}

/// A body declared as JSON, at most `BYTES_MAX` bytes.
#[derive(Debug)]
pub(super) struct JsonBody<const BYTES_MAX: usize>(pub(super) Vec<u8>);

impl<S: Send + Sync, const BYTES_MAX: usize> FromRequest<S> for JsonBody<BYTES_MAX> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        read_announced(request, &[DeclaredType::Json], BYTES_MAX).await.map(|(_, bytes)| Self(bytes))
    }
}

/// Reads an event of a ledger, of at most `bytes_max` bytes. Without a `Content-Type` it is JSON too, because old ledgers
/// send none: if it has no `Origin`, as every request of a web page has, or if `is_signed` holds.
pub(super) async fn read_event(
    request: Request,
    bytes_max: usize,
    is_signed: impl FnOnce(&HeaderMap, &[u8]) -> bool,
) -> Result<Vec<u8>, ApiError> {
    if request.headers().contains_key(header::CONTENT_TYPE) {
        return read_announced(request, &[DeclaredType::Json], bytes_max).await.map(|(_, bytes)| bytes);
    }
    let (mut head, body) = request.into_parts();
    let (headers, json) = (head.headers.clone(), HeaderValue::from_static(DeclaredType::Json.essence()));
    head.headers.insert(header::CONTENT_TYPE, json);
    let request = Request::from_parts(head, body);
    let (_, bytes) = read_announced(request, &[DeclaredType::Json], bytes_max).await?;
    if headers.contains_key(header::ORIGIN) && !is_signed(&headers, &bytes) {
        let message = "an event with an `Origin` needs the header `Content-Type: application/json`";
        return Err(ApiError::new(ErrorCode::UnsupportedMediaType, message));
    }
    Ok(bytes)
}

/// A JSON body of at most `BYTES_MAX` bytes, or no body. A page that sends no body is recognised by its `Origin`.
#[derive(Debug)]
pub(super) struct MaybeJsonBody<const BYTES_MAX: usize>(pub(super) Vec<u8>);

impl<S: Send + Sync, const BYTES_MAX: usize> FromRequest<S> for MaybeJsonBody<BYTES_MAX> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        if request.headers().contains_key(header::CONTENT_TYPE) {
            return JsonBody::<BYTES_MAX>::from_request(request, state).await.map(|body| Self(body.0));
        }
        let (head, mut body) = request.into_parts();
        match read(&mut body, 0).await {
            Ok(nothing) => Ok(Self(nothing)),
            Err(late) if late.code() == ErrorCode::RequestTimeout => Err(late),
            Err(_) => {
                linger(&head.headers, body, LINGER_BYTES_MAX);
                let message = "a request with a body needs the header `Content-Type: application/json`";
                Err(ApiError::new(ErrorCode::UnsupportedMediaType, message))
            }
        }
    }
}

/// The declared media type of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeclaredType {
    /// `application/json`
    Json,
    /// `text/plain`
    PlainText,
    /// `application/wasm`
    Wasm,
    /// `application/x-ndjson`
    JsonLines,
}

/// Reads a body of at most `bytes_max` bytes whose declared type is in `takes`.
pub(super) async fn read_announced(
    request: Request,
    takes: &[DeclaredType],
    bytes_max: usize,
) -> Result<(DeclaredType, Vec<u8>), ApiError> {
    let (head, mut body) = request.into_parts();
    let announced = require_one_of(takes, &head.headers).and_then(|announced| {
        refuse_announced_length(&head.headers, bytes_max)?;
        Ok(announced)
    });
    let announced = match announced {
        Ok(announced) => announced,
        Err(refusal) => {
            linger(&head.headers, body, bytes_max.max(ANNOUNCED_BYTES_MAX) + LINGER_BYTES_MAX);
            return Err(refusal);
        }
    };
    match read(&mut body, bytes_max).await {
        Ok(bytes) => Ok((announced, bytes)),
        Err(refusal) => {
            match refusal.code() {
                ErrorCode::RequestTimeout => linger_for_late(body),
                _ => linger(&head.headers, body, LINGER_BYTES_MAX),
            }
            Err(refusal)
        }
    }
}

/// Checks the media type as a defence against web pages: a page can send forms and plain text anywhere without a
/// preflight. Plain text is accepted only where the method already requires a preflight. JSON and modules always
/// require one.
fn require_one_of(takes: &[DeclaredType], headers: &HeaderMap) -> Result<DeclaredType, ApiError> {
    let refuse = |message: String| Err(ApiError::new(ErrorCode::UnsupportedMediaType, message));
    let names = || takes.iter().map(|one| format!("`{}`", one.essence())).collect::<Vec<_>>().join(" or ");
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(media_type), None) = (types.next(), types.next()) else {
        return refuse(format!("exactly one `Content-Type` header is required: {}", names()));
    };
    let said = media_type.to_str().unwrap_or_default();
    let Some(announced) = takes.iter().find(|one| one.is_said_by(said)) else {
        return refuse(format!("the `Content-Type` header must be {}", names()));
    };
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    if !encodings.all(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return refuse("a body with a `Content-Encoding` is not accepted".to_owned());
    }
    Ok(*announced)
}

/// Spellings of UTF-8 in common use.
const UTF_8: [&str; 2] = ["utf-8", "utf8"];

impl DeclaredType {
    const fn essence(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::PlainText => "text/plain",
            Self::Wasm => "application/wasm",
            Self::JsonLines => "application/x-ndjson",
        }
    }

    /// Returns whether `media_type` names this type. A charset parameter, if present, must be UTF-8.
    fn is_said_by(self, media_type: &str) -> bool {
        let mut parts = media_type.split(';').map(str::trim);
        parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case(self.essence()))
            && parts.filter_map(|parameter| parameter.split_once('=')).all(|(name, value)| {
                !name.trim_end().eq_ignore_ascii_case("charset")
                    || UTF_8.iter().any(|name| value.trim().trim_matches('"').eq_ignore_ascii_case(name))
            })
    }
}

/// Refuses a body before its first byte is read. The HTTP server enforces the announced length.
fn refuse_announced_length(headers: &HeaderMap, bytes_max: usize) -> Result<(), ApiError> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    match announced.and_then(|length| length.parse::<u64>().ok()) {
        Some(length) if length > bytes_max as u64 => Err(too_large(bytes_max)),
        _ => Ok(()),
    }
}

/// Reads the body piece by piece and stops at the piece that exceeds the cap.
async fn read(body: &mut Body, bytes_max: usize) -> Result<Vec<u8>, ApiError> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(bytes_max);
    let mut bytes = Vec::with_capacity(announced.min(bytes_max));
    while let Some(piece) = next_piece(body).await? {
        if bytes.len() + piece.len() > bytes_max {
            return Err(too_large(bytes_max));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// Reads the next piece of a body; returns `None` at its end.
pub(super) async fn next_piece(body: &mut Body) -> Result<Option<Bytes>, ApiError> {
    while let Some(frame) = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
        let frame = frame.map_err(|error| incomplete(&error.into_inner()))?;
        if let Ok(piece) = frame.into_data() {
            return Ok(Some(piece));
        }
    }
    Ok(None)
}

/// Returns the head and the body of a request whose declared type is in `takes`, for a handler that reads the body while it
/// answers.
pub(super) fn announced(request: Request, takes: &[DeclaredType]) -> Result<(Parts, Body), ApiError> {
    let (head, body) = request.into_parts();
    match require_one_of(takes, &head.headers) {
        Ok(_) => Ok((head, body)),
        Err(refusal) => {
            linger(&head.headers, body, ANNOUNCED_BYTES_MAX);
            Err(refusal)
        }
    }
}

/// Distinguishes a body that was too slow from one that was cut off.
fn incomplete(cause: &BoxError) -> ApiError {
    match cause.downcast_ref() {
        Some(ArrivalError::Late) => ApiError::new(ErrorCode::RequestTimeout, "the body took too long"),
        Some(ArrivalError::Broken(_)) | None => {
            ApiError::new(ErrorCode::IncompleteBody, "the body ended before it was complete")
        }
    }
}

pub(super) fn too_large(bytes_max: usize) -> ApiError {
    ApiError::new(ErrorCode::BodyTooLarge, format!("the body is larger than {bytes_max} bytes"))
}
