//! The body of a request: announced as JSON, read up to a cap and no further.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};

use super::error::ApiError;
use super::error_code::ErrorCode;
use super::linger::{LINGER_BYTES_MAX, linger};

/// What a route that reads a body can answer because of it, its parsing included.
pub(super) const ERRORS: &[ErrorCode] = &[
    ErrorCode::UnsupportedMediaType,
    ErrorCode::BodyTooLarge,
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

/// At most `BYTES_MAX` bytes that claim to be JSON.
#[derive(Debug)]
pub(super) struct JsonBody<const BYTES_MAX: usize>(pub(super) Vec<u8>);

impl<S: Send + Sync, const BYTES_MAX: usize> FromRequest<S> for JsonBody<BYTES_MAX> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let (head, mut body) = request.into_parts();
        let admitted =
            require_json(&head.headers).and_then(|()| refuse_announced_length(&head.headers, BYTES_MAX));
        if let Err(refusal) = admitted {
            linger(&head.headers, body, BYTES_MAX + LINGER_BYTES_MAX);
            return Err(refusal);
        }
        match read(&mut body, BYTES_MAX).await {
            Ok(bytes) => Ok(Self(bytes)),
            Err(refusal) => {
                linger(&head.headers, body, LINGER_BYTES_MAX);
                Err(refusal)
            }
        }
    }
}

/// A page can send other types than JSON anywhere without asking first; so this is a defence, not pedantry.
fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let refuse = |message| Err(ApiError::new(ErrorCode::UnsupportedMediaType, message));
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(media_type), None) = (types.next(), types.next()) else {
        return refuse("there must be one `Content-Type` header, and it must say `application/json`");
    };
    if !media_type.to_str().is_ok_and(is_json) {
        return refuse("the `Content-Type` header must say `application/json`");
    }
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    if !encodings.all(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return refuse("a body must come without a `Content-Encoding`");
    }
    Ok(())
}

/// `application/json`, with parameters or without; a charset, when there is one, must be UTF-8.
fn is_json(media_type: &str) -> bool {
    let mut parts = media_type.split(';').map(str::trim);
    parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
        && parts.filter_map(|parameter| parameter.split_once('=')).all(|(name, value)| {
            !name.trim_end().eq_ignore_ascii_case("charset")
                || value.trim_start().trim_matches('"').eq_ignore_ascii_case("utf-8")
        })
}

/// Refuses before the first byte of the body is read. The server below holds a body to the length it announces.
fn refuse_announced_length(headers: &HeaderMap, bytes_max: usize) -> Result<(), ApiError> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    match announced.and_then(|length| length.parse::<u64>().ok()) {
        Some(length) if length > bytes_max as u64 => Err(too_large(bytes_max)),
        _ => Ok(()),
    }
}

/// Reads piece by piece and stops at the piece that goes over the cap.
async fn read(body: &mut Body, bytes_max: usize) -> Result<Vec<u8>, ApiError> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(bytes_max);
    let mut bytes = Vec::with_capacity(announced.min(bytes_max));
    while let Some(frame) = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
        let frame = frame
            .map_err(|_| ApiError::new(ErrorCode::IncompleteBody, "the body ended before it was complete"))?;
        if let Ok(piece) = frame.into_data() {
            if bytes.len() + piece.len() > bytes_max {
                return Err(too_large(bytes_max));
            }
            bytes.extend_from_slice(&piece);
        }
    }
    Ok(bytes)
}

fn too_large(bytes_max: usize) -> ApiError {
    ApiError::new(ErrorCode::BodyTooLarge, format!("a body has at most {bytes_max} bytes here"))
}
