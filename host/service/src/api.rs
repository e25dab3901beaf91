//! The door for REST clients.
//!
//! ```text
//!  doorway: connections, limits of time
//!     │
//!  request ─▶ guard: URL, Host, Origin ─▶ route ─▶ body: media type, cap ─▶ handler ─▶ flow
//!  answer  ◀── finish: headers, count ◀── panic caught ◀── ApiError or bytes of the flow ◀─┘
//! ```
//!
//! A handler translates: bytes to a noun, an answer of a flow to bytes. It decides nothing. Every refusal is an
//! [`ApiError`], so every error of this door has the same body and a code of one catalogue.

mod alerts;
mod api_service;
mod body;
mod docs;
mod error;
mod error_code;
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
mod quoted;
mod routes;
mod transactions;
mod webhook;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tokio::net::TcpListener;
use tollgate_links::signature::SigningKeys;
use tollgate_model::transaction::RequestSettings;

use crate::alerting::Alerting;
use crate::audit::Replays;
use crate::git_sync::GitSync;
use crate::intake::Intake;
use crate::ledger_sync::LedgerDeadLetters;
use crate::monitor::Monitor;
use crate::payments::Payments;
use crate::telemetry::metrics::Metrics;
use api_service::ApiService;

pub use error::ApiError;
pub use error_code::ErrorCode;
pub use health::{Readiness, ReadinessProbe, ReadyStatus};
pub use hosts::AllowedHosts;
pub use listener::{Listener, ListenerError, listen};

/// What every handler has at hand. Cheap to clone, and cloned several times for each request.
#[derive(Clone)]
pub struct ApiState {
    deps: Arc<ApiDeps>,
}

/// What the handlers translate to and from.
#[derive(Clone)]
pub struct ApiDeps {
    /// The transaction river.
    pub monitor: Arc<Monitor>,
    /// Who derives verdicts again.
    pub replays: Replays,
    /// The script river.
    pub intake: Arc<Intake>,
    /// The repository of the rules.
    pub git: GitSync,
    /// Who hears of alerts.
    pub alerting: Alerting,
    /// What a ledger signs its webhooks with; `None` when it does not have to.
    pub ledger_keys: Option<Arc<SigningKeys>>,
    /// The payments of a ledger.
    pub payments: Payments,
    /// What could not be taken of the ledger.
    pub dead_letters: LedgerDeadLetters,
    /// The numbers of this service.
    pub metrics: Arc<Metrics>,
    /// Asked for every `/readyz`.
    pub readiness: ReadinessProbe,
    /// Under which names the service answers, and to which pages.
    pub hosts: Arc<AllowedHosts>,
    /// What requests may bring.
    pub requests: RequestSettings,
}

/// Serves whom the doorway lets in until `stopped` is there, and then, for as long as it says, what is under way.
pub async fn serve(
    listener: TcpListener,
    state: ApiState,
    http_listener: Listener,
    stopped: impl Future<Output = ()>,
) {
    let metrics = Arc::clone(&state.metrics);
    http_listener.serve(listener, ApiService::of(state), metrics, stopped).await;
}

impl ApiState {
    /// With these.
    #[must_use]
    pub fn of(deps: ApiDeps) -> Self {
        Self { deps: Arc::new(deps) }
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
