//! Health, readiness and metrics, for operators.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::ApiState;
use super::accept::AcceptedTypes;
use super::error::ApiError;
use tollgate_telemetry::metrics;

/// Paths that are served even if all client slots are taken.
pub(super) const PATHS: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// Whether the service accepts transactions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Readiness {
    /// Overall status.
    pub status: ReadyStatus,
    /// The checks and a short text for each; `ok` if there is nothing to report.
    pub checks: BTreeMap<&'static str, String>,
}

/// Determines the readiness of the service.
pub type ReadinessProbe = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Readiness> + Send>> + Send + Sync>;

/// The overall status of a [`Readiness`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReadyStatus {
    /// The service accepts transactions.
    Ready,
    /// The service is starting.
    Starting,
    /// The service is stopping.
    Stopping,
    /// The service cannot accept transactions at the moment.
    Unavailable,
}

/// Response of a live process.
#[derive(Serialize, ToSchema)]
pub(super) struct Health {
    /// Always `ok`.
    #[schema(example = "ok")]
    status: &'static str,
}

/// Returns whether the process is alive.
#[utoipa::path(
    get, path = "/healthz", tag = "Operation",
    responses((status = 200, description = "The process is alive.", body = Health))
)]
pub(super) async fn healthz() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Returns whether the service accepts transactions.
#[utoipa::path(
    get, path = "/readyz", tag = "Operation",
    responses(
        (status = 200, description = "The service accepts transactions.", body = Readiness),
        (status = 503, description = "The service does not accept transactions; the body states why.", body = Readiness)
    )
)]
pub(super) async fn readyz(State(api): State<ApiState>) -> Response {
    let readiness = (api.readiness)().await;
    let status = match readiness.status {
        ReadyStatus::Ready => StatusCode::OK,
        ReadyStatus::Starting | ReadyStatus::Stopping | ReadyStatus::Unavailable => {
            StatusCode::SERVICE_UNAVAILABLE
        }
    };
    (status, Json(readiness)).into_response()
}

/// Returns the metrics in the OpenMetrics text format, or in the text format of Prometheus (0.0.4) if `Accept` prefers
/// `text/plain`.
#[utoipa::path(
    get, path = "/metrics", tag = "Operation",
    responses((
        status = 200,
        description = "All metric families; durations are in seconds.",
        content((String = "application/openmetrics-text"), (String = "text/plain"))
    ))
)]
pub(super) async fn metrics(State(api): State<ApiState>, headers: HeaderMap) -> Result<Response, ApiError> {
    let page = api.metrics.encode().map_err(|error| ApiError::internal(&error.to_string()))?;
    let is_plain =
        AcceptedTypes::from_headers(&headers).prefers("text/plain", "application/openmetrics-text");
    let (media_type, page) = match is_plain {
        true => (metrics::PLAIN_TEXT, metrics::plain_text(&page)),
        false => (metrics::CONTENT_TYPE, page),
    };
    Ok(([(header::CONTENT_TYPE, media_type), (header::VARY, "accept")], page).into_response())
}
