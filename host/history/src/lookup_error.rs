//! Errors of queries.

use crate::spill::{SpillError, SpillMiss};

/// The reason a query has no answer. No estimate is returned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// A transaction cannot be read back.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// The window includes discarded transactions; see [`History::forget`](super::History::forget).
    #[error("the window reaches back to a time of which not every transaction is kept in memory any more")]
    Forgotten,
    /// The query would have to read more transactions than the caller allows.
    #[error("more transactions have to be looked at one by one than the question may take")]
    TooManyRows,
}

impl From<LookupError> for SpillMiss<LookupError> {
    fn from(error: LookupError) -> Self {
        Self { extent: None, error }
    }
}
