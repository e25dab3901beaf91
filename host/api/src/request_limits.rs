//! Conditions that the listener detects and the layers above it report to the client: no free slot, a body that does
//! not arrive, a shutdown.

use std::time::Duration;

use tokio::sync::watch;

/// Marks a request that is answered only if it is a health check.
#[derive(Debug, Clone, Copy)]
pub(super) struct HealthOnly;

/// Message for clients without a slot.
pub(super) const FULL_MESSAGE: &str = "too many open connections";

/// The reason why a body is incomplete.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArrivalError {
    /// The body took too long.
    #[error("the body took too long")]
    Late,
    /// The client disconnected or sent an invalid body.
    #[error(transparent)]
    Broken(#[from] hyper::Error),
}

/// The path of requests whose handler reads the body while it answers. It limits each wait for the body itself.
pub(super) const STREAMED_PATH: &str = "/inject/batch";

/// The limit and the state of the connection, for the handler of such a request.
#[derive(Debug, Clone)]
pub(super) struct StreamedRequest {
    /// Time in which the next line of the body must arrive.
    pub(super) line_timeout: Duration,
    /// The progress of the shutdown.
    pub(super) stage: watch::Receiver<ShutdownStage>,
}

/// Shutdown progress of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShutdownStage {
    /// Shutdown has not started.
    Open,
    /// Requests in progress are answered.
    Draining,
    /// Remaining connections are closed.
    Over,
}
