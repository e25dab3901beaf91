//! A page that renders `/openapi.json`. All of its files are embedded in the binary.

use std::sync::{Arc, LazyLock};

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use utoipa_swagger_ui::Config;

use super::error::ApiError;
use super::error_code::ErrorCode;
use super::quoted::quoted;

pub(super) const ERRORS: &[ErrorCode] = &[ErrorCode::NotFound];

/// The page loads only from this service, and no other page may frame it. Its styles are inline.
const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The address of the document is relative, so a proxy may add a prefix. No external service validates it.
static PAGE: LazyLock<Arc<Config<'static>>> =
    LazyLock::new(|| Arc::new(Config::from("../openapi.json").validator_url("none")));

/// Redirects to the documentation page.
#[utoipa::path(
    get, path = "/docs", tag = "Documentation",
    responses((status = 308, description = "The page is at `/docs/`."))
)]
pub(super) async fn to_page() -> Redirect {
    Redirect::permanent("docs/")
}

/// Returns the documentation page.
#[utoipa::path(
    get, path = "/docs/", tag = "Documentation",
    responses((status = 200, description = "The documentation page.", content_type = "text/html", body = String))
)]
pub(super) async fn page() -> Result<Response, ApiError> {
    asset("index.html")
}

/// Returns a file of the documentation page.
#[utoipa::path(
    get, path = "/docs/{file}", tag = "Documentation",
    params(("file" = String, Path, description = "Name of the file")),
    responses((
        status = 200, description = "A file of the documentation page.", content_type = "application/octet-stream", body = String
    ))
)]
pub(super) async fn file(name: Result<Path<String>, PathRejection>) -> Result<Response, ApiError> {
    asset(&name.map(|Path(name)| name).unwrap_or_default())
}

fn asset(name: &str) -> Result<Response, ApiError> {
    let found = utoipa_swagger_ui::serve(name, Arc::clone(&PAGE))
        .map_err(|error| ApiError::internal(&error.to_string()))?;
    // The library returns its index for an empty name, but no file has that name.
    let Some(file) = found.filter(|_| !name.is_empty()) else {
        let message = format!("the documentation page has no file {}", quoted(name));
        return Err(ApiError::new(ErrorCode::NotFound, message));
    };
    let headers = [
        (header::CONTENT_TYPE, file.content_type.as_str()),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    ];
    Ok((headers, file.bytes).into_response())
}
