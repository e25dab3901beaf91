//! Why a transaction was not judged.

use std::sync::Arc;

/// The reason why a transaction was not judged. Nothing is stored, except possibly when the disk did not confirm a
/// write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MonitorError {
    /// Another transaction has this id; it differs in this field, given as a path of the wire format.
    #[error("another transaction with this id was accepted before, with another `{0}`, and stands")]
    Conflict(Arc<str>),
    /// The transaction with this id has the same hash.
    #[error("a transaction with this hash was judged before, under the id `{0}`; its verdict stands")]
    DuplicateHash(Arc<str>),
    /// Too many transactions are under way.
    #[error("the service is busy; try again shortly")]
    Overloaded,
    /// The store failed.
    #[error("the transaction could not be stored; try again")]
    Unavailable,
    /// The history is not completely restored.
    #[error("the service is starting; its history is not complete yet")]
    Starting,
    /// The history has reached its memory limit.
    #[error("the history is over its memory limit and cannot be moved to disk; try again later")]
    HistoryFull,
    /// The history of the transaction is on the disk and cannot be read, or not in time.
    #[error("the history of the transaction cannot be read from the disk; try again later")]
    HistoryUnread,
    /// The service is not ready, and the operator has injects refused meanwhile; names of the failing checks.
    #[error("the service is not ready, and SERVICE_WHEN_NOT_READY has new payments refused: {0} is failing")]
    NotReady(Arc<str>),
    /// The service is stopping.
    #[error("the service is stopping; try again")]
    Stopping,
}
