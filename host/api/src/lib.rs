//! The REST API.
//!
//! ```text
//!  listener: connections, timeouts
//!     │
//!  request  ─▶ guard: URL, Host, Origin ─▶ route ─▶ body: media type, cap ─▶ handler ─▶ flow
//!  response ◀── finish: headers, count ◀── panic caught ◀── ApiError or bytes of the flow ◀─┘
//! ```
//!
//! A handler only translates: bytes to a value, and the result of a flow to bytes. Every refusal is an [`ApiError`], so
//! all errors share one body format and one catalogue of codes.

mod accept;
mod alerts;
mod api_service;
mod body;
mod compressed;
mod console;
mod docs;
mod error;
mod error_code;
mod events;
mod finish;
mod git;
mod guard;
mod health;
mod hosts;
mod instructions;
mod ledger;
mod linger;
mod listener;
mod lists;
mod openapi;
mod page;
mod preconditions;
mod query;
mod quoted;
mod request_limits;
mod route;
mod routes;
mod stats;
mod streamed;
mod system;
mod transactions;
mod webhook;

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use tokio::net::TcpListener;
use tollgate_links::signature::SigningKeys;
use tollgate_model::transaction::RequestSettings;

use api_service::ApiService;
use tollgate_ledger::payments::Payments;
use tollgate_pipeline::activity::Activity;
use tollgate_pipeline::alerting::Alerting;
use tollgate_pipeline::monitor::Monitor;
use tollgate_rules::git_sync::GitSync;
use tollgate_rules::intake::Intake;
use tollgate_rules::replay::Replays;
use tollgate_telemetry::metrics::Metrics;
use tollgate_telemetry::traces::Traces;

pub use error_code::is_temporary;
pub use health::{Readiness, ReadinessProbe, ReadyStatus};
pub use hosts::AllowedHosts;
pub use listener::{Listener, ListenerError, listen};

/// State shared by all handlers. Cheap to clone; it is cloned several times per request.
#[derive(Clone)]
pub struct ApiState {
    deps: Arc<ApiDeps>,
}

/// The dependencies of the handlers.
#[derive(Clone)]
pub struct ApiDeps {
    /// Transaction pipeline.
    pub monitor: Arc<Monitor>,
    /// Derives stored verdicts again.
    pub replays: Replays,
    /// Rule pipeline.
    pub intake: Arc<Intake>,
    /// Git repository of the rules.
    pub git: GitSync,
    /// Alert delivery.
    pub alerting: Alerting,
    /// Keys that verify a ledger's webhook signatures; `None` if signatures are not required.
    pub ledger_keys: Option<Arc<SigningKeys>>,
    /// Payments of a ledger.
    pub payments: Payments,
    /// Metrics registry.
    pub metrics: Arc<Metrics>,
    /// Called for every `/readyz` request.
    pub readiness: ReadinessProbe,
    /// Host names and page origins that the service accepts.
    pub hosts: Arc<AllowedHosts>,
    /// Limits and options for requests.
    pub requests: RequestSettings,
    /// Stored verdicts, figures of the past and events.
    pub activity: Activity,
    /// Exports traces; `None` if no collector is configured.
    pub traces: Option<Traces>,
}

/// Serves clients until `stopped` completes, then finishes open requests within the configured stop timeout.
pub async fn serve(
    listener: TcpListener,
    state: ApiState,
    http_listener: Listener,
    stopped: impl Future<Output = ()>,
) {
    let metrics = Arc::clone(&state.metrics);
    http_listener.serve(listener, ApiService::new(state), metrics, stopped).await;
}

impl ApiState {
    /// Creates a state from its dependencies.
    #[must_use]
    pub fn new(deps: ApiDeps) -> Self {
        Self { deps: Arc::new(deps) }
    }

    /// Returns the OpenAPI document. It does not change while the service runs.
    fn document(&self) -> &'static str {
        static DOCUMENT: LazyLock<String> = LazyLock::new(|| openapi::document_of(routes::routes()));
        &DOCUMENT
    }
}

impl Deref for ApiState {
    type Target = ApiDeps;

    fn deref(&self) -> &ApiDeps {
        &self.deps
    }
}

impl fmt::Debug for ApiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiState").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
