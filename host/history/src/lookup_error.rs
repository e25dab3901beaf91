//! Why a question has no answer.

use crate::spill::{SpillError, SpillMiss};

/// Why the history does not answer. There is no answer then, not even a guess.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// It takes a transaction that cannot be read back.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// It is about a time of which transactions were let go: see [`History::forget`](super::History::forget).
    #[error("the window reaches back to a time of which not every transaction is kept in memory any more")]
    Forgotten,
    /// It would take a look at more transactions than whoever asks may have looked at.
    #[error("more transactions have to be looked at one by one than the question may take")]
    TooManyRows,
}

impl From<LookupError> for SpillMiss<LookupError> {
    fn from(error: LookupError) -> Self {
        Self { extent: None, error }
    }
}
