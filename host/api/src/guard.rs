//! Checks that apply to every request, made on its head before any of its body is read.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, Version, header};

use super::error::ApiError;
use super::error_code::ErrorCode;
use super::health;
use super::hosts::{AllowedHosts, Host};
use super::linger::{LINGER_BYTES_MAX, linger};
use super::quoted::quoted;
use super::request_limits::{FULL_MESSAGE, HealthOnly};

/// Maximum length of a URL, in bytes.
const URL_BYTES_MAX: usize = 8 * 1024;

/// Errors of these checks that any route can return.
pub(super) const ERRORS: &[ErrorCode] =
    &[ErrorCode::InvalidHost, ErrorCode::HostNotAllowed, ErrorCode::UrlTooLong];

/// Additional errors of all routes except those that report health.
pub(super) const ERRORS_OF_WORK: &[ErrorCode] = &[ErrorCode::Overloaded];

/// Additional errors of routes that change state.
pub(super) const ERRORS_OF_CHANGES: &[ErrorCode] = &[ErrorCode::OriginNotAllowed];

/// Returns the request if it passes all checks.
pub(super) fn admit(hosts: &AllowedHosts, request: Request) -> Result<Request, ApiError> {
    match inspect(hosts, &request) {
        Ok(()) => Ok(request),
        Err(refusal) => {
            let (head, body) = request.into_parts();
            linger(&head.headers, body, LINGER_BYTES_MAX);
            Err(refusal)
        }
    }
}

fn inspect(hosts: &AllowedHosts, request: &Request) -> Result<(), ApiError> {
    let is_health_only = request.extensions().get::<HealthOnly>().is_some();
    if is_health_only && !health::PATHS.contains(&request.uri().path()) {
        return Err(ApiError::new(ErrorCode::Overloaded, FULL_MESSAGE));
    }
    if url_bytes(request) > URL_BYTES_MAX {
        let message = format!("the URL is longer than {URL_BYTES_MAX} bytes");
        return Err(ApiError::new(ErrorCode::UrlTooLong, message));
    }
    let host = admitted_host(hosts, request)?;
    if changes_state(request.method()) {
        admit_origins(hosts, request.headers(), host.as_ref())?;
    }
    Ok(())
}

/// Returns whether a method may change state.
pub(super) fn changes_state(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE)
}

fn url_bytes(request: &Request) -> usize {
    let uri = request.uri();
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    authority + uri.path_and_query().map_or(0, |path| path.as_str().len())
}

/// Returns the host that a request is addressed to. Only requests before HTTP/1.1 may have `None`.
fn admitted_host(hosts: &AllowedHosts, request: &Request) -> Result<Option<Host>, ApiError> {
    let mut headers = request.headers().get_all(header::HOST).iter();
    let named = match (headers.next(), headers.next()) {
        (None, _) if request.version() < Version::HTTP_11 => None,
        (None, _) => return Err(ApiError::new(ErrorCode::InvalidHost, "the `Host` header is missing")),
        (Some(host), None) => Some(host.to_str().unwrap_or_default()),
        (Some(_), Some(_)) => {
            return Err(ApiError::new(ErrorCode::InvalidHost, "there is more than one `Host` header"));
        }
    };
    // A target in absolute form also names a host, and proxies use that one.
    let targeted = request.uri().authority().map(axum::http::uri::Authority::as_str);
    let mut addressed = None;
    for name in named.into_iter().chain(targeted) {
        let host = Host::parse(name).ok_or_else(|| {
            ApiError::new(ErrorCode::InvalidHost, format!("{} is not a host", quoted(name)))
        })?;
        if !hosts.admit(&host) {
            let message = format!(
                "the host {} is not allowed; add it to SERVICE_ALLOWED_HOSTS, or have the reverse proxy forward the \
                 `Host` header of the client",
                quoted(name)
            );
            return Err(ApiError::new(ErrorCode::HostNotAllowed, message));
        }
        addressed = Some(host);
    }
    Ok(addressed)
}

/// Checks the origin. A request without `Origin` does not come from a web page.
fn admit_origins(
    hosts: &AllowedHosts,
    headers: &HeaderMap,
    addressed: Option<&Host>,
) -> Result<(), ApiError> {
    for origin in headers.get_all(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or("null");
        if !hosts.admit_origin(origin, addressed) {
            let message = format!("web pages of the origin {} may not send changes", quoted(origin));
            return Err(ApiError::new(ErrorCode::OriginNotAllowed, message));
        }
    }
    Ok(())
}
