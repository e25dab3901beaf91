//! Read access to the ledger rows and events that could not be taken.

use tollgate_store::{KeptDeadLetter, Store};

use crate::ledger_sync::ErrorChain;
use crate::monitor::MonitorError;

/// The dead letters of all ledgers, whether or not one is followed at the moment. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct LedgerDeadLetters {
    store: Store,
}

impl LedgerDeadLetters {
    /// Returns the dead letters of this store.
    #[must_use]
    pub(crate) const fn of(store: Store) -> Self {
        Self { store }
    }

    /// Returns the total number of dead letters and at most `limit` of them, the latest first.
    ///
    /// # Errors
    /// [`MonitorError::Unavailable`] when the store cannot be read.
    pub(crate) async fn latest(&self, limit: usize) -> Result<(u64, Vec<KeptDeadLetter>), MonitorError> {
        self.store.dead_letters(limit).await.map_err(|error| {
            tracing::error!(error = %ErrorChain(&error), "the dead letters cannot be read");
            MonitorError::Unavailable
        })
    }
}
