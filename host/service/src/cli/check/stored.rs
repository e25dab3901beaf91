//! Estimates of what rules cost against the transactions of a data directory.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tollgate_guest_abi::Manifest;
use tollgate_history::{History, QueryEstimate};
use tollgate_model::calendar::ZoneData;
use tollgate_model::named_list::NamedList;
use tollgate_store::{Store, StoreError, StoredPast};

/// The transactions of a data directory, which a running service may have open.
pub(super) struct StoredTransactions {
    history: History,
    /// Has the connections of the store.
    _runtime: tokio::runtime::Runtime,
}

/// The reason why the transactions cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoredError {
    /// There is no runtime.
    #[error("the runtime cannot be started")]
    Runtime(#[from] std::io::Error),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StoredTransactions {
    /// Opens a data directory to read it.
    pub(super) fn open(data_dir: &Path, zones: &Arc<ZoneData>) -> Result<Self, StoredError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (past, (n_stored, last)) = runtime.block_on(async {
            let store = Store::open_to_read(data_dir).await?;
            Ok::<_, StoreError>((StoredPast::of(&store), store.extent().await?))
        })?;
        let history = History::over(Arc::new(past)).in_zones(Arc::clone(zones));
        history.assume_stored(last, usize::try_from(n_stored).unwrap_or(usize::MAX));
        Ok(Self { history, _runtime: runtime })
    }

    /// Returns what the questions of a rule about the history cost, for people. Named lists count as empty.
    pub(super) fn estimate(&self, manifest: &Manifest) -> String {
        let Manifest { needs, semantics, .. } = manifest;
        let lists = HashMap::<String, NamedList>::new();
        match self.history.estimate(&needs.aggregates, &needs.previous, *semantics, &lists) {
            Ok(QueryEstimate { n_stored, fuel, bytes, kept_bytes }) => format!(
                "  estimate with {n_stored} stored transactions: {fuel} units of fuel to read the history, {bytes} bytes of memory, \
                 of which {kept_bytes} cannot leave it"
            ),
            Err(error) => format!("  no estimate: {error}"),
        }
    }
}
