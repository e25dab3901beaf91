//! Conditions that the listener detects and the layers above it report to the client: no free slot, a body that does
//! not arrive.

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
