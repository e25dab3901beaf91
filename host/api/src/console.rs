//! The web console. All of its files are embedded in the binary.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use sha2::{Digest as _, Sha256};
use tollgate_console::{ConsoleFile, FILES};

use super::compressed::takes_gzip;
use super::error::ApiError;
use super::error_code::ErrorCode;
use super::quoted::quoted;

pub(super) const ERRORS: &[ErrorCode] = &[ErrorCode::NotFound];

/// The page loads only from this service, runs no text as script, and no other page may frame it.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
     img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Distinguishes the page of this build from that of another.
static ETAG: LazyLock<String> = LazyLock::new(|| {
    let digest = FILES.iter().fold(Sha256::new(), |digest, file| digest.chain_update(file.bytes)).finalize();
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
});

/// Leads a browser to the console. Other clients are told that there is nothing here.
#[utoipa::path(
    get, path = "/", tag = "Documentation",
    responses((status = 307, description = "The console is at `/console/`."))
)]
pub(super) async fn console_from_root(headers: HeaderMap) -> Result<Redirect, ApiError> {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.contains("text/html")) {
        return Ok(Redirect::temporary("console/"));
    }
    Err(ApiError::new(ErrorCode::NotFound, "there is no resource at `/`"))
}

/// Redirects to the console.
#[utoipa::path(
    get, path = "/console", tag = "Documentation",
    responses((status = 308, description = "The console is at `/console/`."))
)]
pub(super) async fn to_console() -> Redirect {
    Redirect::permanent("console/")
}

/// Returns the console, or a page that says how to build it.
#[utoipa::path(
    get, path = "/console/", tag = "Documentation",
    responses(
        (status = 200, description = "The console.", content_type = "text/html", body = String),
        (status = 304, description = "The page that the client has is current.")
    )
)]
pub(super) async fn console_page(headers: HeaderMap) -> Result<Response, ApiError> {
    answer("index.html", &headers)
}

/// Returns a file of the console.
#[utoipa::path(
    get, path = "/console/{file}", tag = "Documentation",
    params(("file" = String, Path, description = "Name of the file")),
    responses((
        status = 200, description = "A file of the console.", content_type = "application/octet-stream", body = String
    ))
)]
pub(super) async fn console_file(
    name: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    answer(&name.map(|Path(name)| name).unwrap_or_default(), &headers)
}

fn answer(name: &str, headers: &HeaderMap) -> Result<Response, ApiError> {
    let Some(file) = FILES.iter().find(|file| file.name == name) else {
        let message = format!("the console has no file {}", quoted(name));
        return Err(ApiError::new(ErrorCode::NotFound, message));
    };
    let tag = |name| headers.get(name).map(HeaderValue::as_bytes);
    if !file.is_immutable && tag(header::IF_NONE_MATCH) == Some(ETAG.as_bytes()) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, ETAG.as_str())]).into_response());
    }
    let mut response = body(file, headers).into_response();
    let answered = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, file.content_type),
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::VARY, "accept-encoding"),
        (header::CACHE_CONTROL, if file.is_immutable { IMMUTABLE } else { "no-cache" }),
        (CROSS_ORIGIN_OPENER_POLICY, "same-origin"),
    ] {
        answered.insert(name, HeaderValue::from_static(value));
    }
    if !file.is_immutable {
        answered.extend(HeaderValue::from_str(&ETAG).map(|tag| (header::ETAG, tag)));
    }
    Ok(response)
}

const CROSS_ORIGIN_OPENER_POLICY: header::HeaderName =
    header::HeaderName::from_static("cross-origin-opener-policy");

/// Returns the content, compressed if the client takes that.
fn body(file: &ConsoleFile, headers: &HeaderMap) -> Response {
    match file.gzip.filter(|_| takes_gzip(headers)) {
        Some(compressed) => ([(header::CONTENT_ENCODING, "gzip")], compressed).into_response(),
        None => file.bytes.into_response(),
    }
}
