//! Errors of queries.

use crate::spill::{SpillError, SpillMiss};

/// The reason a query has no answer. No estimate is returned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// A transaction cannot be read back.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// The window includes discarded transactions; see [`History::forget`](super::History::forget).
    #[error("the window includes transactions that are no longer kept in memory")]
    Forgotten,
    /// The query would cost more than the caller allows.
    #[error("the query would have to read more transactions one by one than it is allowed to")]
    TooManyRows,
    /// The time for the queries of the transaction has passed.
    #[error("the queries about the transaction took too long")]
    TooSlow,
}

impl From<LookupError> for SpillMiss<LookupError> {
    fn from(error: LookupError) -> Self {
        Self { extent: None, error }
    }
}
