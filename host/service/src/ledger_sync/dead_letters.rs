//! The rows that could not be taken, for whoever looks after the ledger.

use tollgate_store::{KeptDeadLetter, Store};

use crate::ledger_sync::ErrorChain;
use crate::monitor::MonitorError;

/// Every dead letter there is, whichever ledger it is of, and whether one is followed or not. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LedgerDeadLetters {
    store: Store,
}

impl LedgerDeadLetters {
    /// Those in this store.
    #[must_use]
    pub const fn of(store: Store) -> Self {
        Self { store }
    }

    /// How many there are, and the latest, at most so many, the latest first.
    ///
    /// # Errors
    /// [`MonitorError::Unavailable`] when the store cannot be read.
    pub async fn latest(&self, limit: usize) -> Result<(u64, Vec<KeptDeadLetter>), MonitorError> {
        self.store.dead_letters(limit).await.map_err(|error| {
            tracing::error!(error = %ErrorChain(&error), "the dead letters cannot be read");
            MonitorError::Unavailable
        })
    }
}
