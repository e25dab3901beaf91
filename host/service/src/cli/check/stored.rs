//! Estimates of what rules cost against the transactions of a data directory.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tollgate_guest_abi::{Manifest, Needs, Semantics};
use tollgate_history::{History, HistoryError, QueryEstimate};
use tollgate_model::calendar::ZoneData;
use tollgate_model::named_list::NamedList;
use tollgate_model::transaction::StatusWords;
use tollgate_store::{Store, StoreError, StoredPast};

/// The transactions of a data directory, which a running service may have open.
pub(super) struct StoredTransactions {
    history: History,
    /// The needs of all rules that were estimated, by their semantics.
    estimated: RefCell<Vec<(Semantics, Needs)>>,
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
    /// Opens a data directory to read it, with the zone data and status words of a service.
    pub(super) fn open(
        data_dir: &Path,
        zones: &Arc<ZoneData>,
        words: Arc<StatusWords>,
    ) -> Result<Self, StoredError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (past, (n_stored, last)) = runtime.block_on(async {
            let store = Store::open_to_read(data_dir).await?;
            Ok::<_, StoreError>((StoredPast::of(&store), store.extent().await?))
        })?;
        let history = History::over(Arc::new(past)).in_zones(Arc::clone(zones)).with_status_words(words);
        history.assume_stored(last, usize::try_from(n_stored).unwrap_or(usize::MAX));
        Ok(Self { history, estimated: RefCell::default(), _runtime: runtime })
    }

    /// Returns what the questions of a rule about the history cost, for people. Named lists count as empty.
    pub(super) fn estimate(&self, manifest: &Manifest) -> String {
        let Manifest { needs, semantics, .. } = manifest;
        self.remember(*semantics, needs);
        match self.estimate_of(*semantics, needs) {
            Ok(QueryEstimate { n_stored, fuel, bytes, kept_bytes, kept_without_keys_bytes }) => format!(
                "  estimate with {n_stored} stored transactions: {fuel} units of fuel to read the history, {bytes} bytes of memory, \
                 of which {kept_without_keys_bytes} cannot leave it, or {kept_bytes} with SERVICE_KEYS_ON_DISK=false"
            ),
            Err(error) => format!("  no estimate: {error}"),
        }
    }

    /// Returns the memory that the history needs for all rules that were estimated, for people; `None` unless there are
    /// several.
    pub(super) fn total(&self) -> Option<String> {
        let (mut total, mut n_questions) = (QueryEstimate::default(), 0);
        for (semantics, needs) in &*self.estimated.borrow() {
            let estimate = self.estimate_of(*semantics, needs).ok()?;
            total.n_stored = estimate.n_stored;
            total.bytes += estimate.bytes;
            total.kept_bytes += estimate.kept_bytes;
            total.kept_without_keys_bytes += estimate.kept_without_keys_bytes;
            n_questions += needs.aggregates.len() + needs.previous.len();
        }
        let mib = |n_bytes: u64| n_bytes.div_ceil(1 << 20);
        (n_questions > 1).then(|| {
            format!(
                "all {n_questions} different questions together, with {} stored transactions: {} MiB of memory, of which {} MiB cannot \
                 leave it, or {} MiB with SERVICE_KEYS_ON_DISK=false",
                total.n_stored,
                mib(total.bytes),
                mib(total.kept_without_keys_bytes),
                mib(total.kept_bytes)
            )
        })
    }

    fn remember(&self, semantics: Semantics, needs: &Needs) {
        let mut estimated = self.estimated.borrow_mut();
        let known = estimated.iter().position(|(known, _)| *known == semantics).unwrap_or_else(|| {
            estimated.push((semantics, Needs::default()));
            estimated.len() - 1
        });
        let Some((_, all)) = estimated.get_mut(known) else { return };
        let new: Vec<_> =
            needs.aggregates.iter().filter(|one| !all.aggregates.contains(one)).cloned().collect();
        all.aggregates.extend(new);
        let new: Vec<_> = needs.previous.iter().filter(|one| !all.previous.contains(one)).cloned().collect();
        all.previous.extend(new);
    }

    fn estimate_of(&self, semantics: Semantics, needs: &Needs) -> Result<QueryEstimate, HistoryError> {
        let lists = HashMap::<String, NamedList>::new();
        self.history.estimate(&needs.aggregates, &needs.previous, semantics, &lists)
    }
}
