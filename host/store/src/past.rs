//! The stored transactions as the past of the history.

use std::thread;

use sqlx::SqliteConnection;
use tokio::runtime::Handle;
use tollgate_history::{Past, PastError, PastItem, PastSummary};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use super::{StatusUpdateRecord, Store, StoreError, status_updates, transactions};

/// Number of sequence numbers read at once, without a pause.
const BATCH: u64 = 512;
/// The same beside transactions that are judged. With 512, the 99th percentile of their time is a third higher.
const BATCH_IN_BACKGROUND: u64 = 64;
/// Number of single transactions read at once.
const SINGLE_BATCH: usize = 256;

/// A store that is read by blocking threads. Must not be used on a thread of the async runtime.
#[derive(Debug)]
pub struct StoredPast {
    store: Store,
    executor: Handle,
    /// Whether each range is read over a connection of its own, whose thread then has the priority of the caller.
    is_in_background: bool,
}

impl StoredPast {
    /// Returns the past in this store, whose connections belong to the current runtime.
    ///
    /// # Panics
    /// When called outside a tokio runtime.
    #[must_use]
    pub fn of(store: &Store) -> Self {
        Self { store: store.clone(), executor: Handle::current(), is_in_background: false }
    }

    /// Same as [`StoredPast::of`], for threads of low priority beside those that judge transactions.
    ///
    /// # Panics
    /// When called outside a tokio runtime.
    #[must_use]
    pub fn in_background(store: &Store) -> Self {
        Self { is_in_background: true, ..Self::of(store) }
    }
}

impl Past for StoredPast {
    fn each_after(
        &self,
        after: Sequence,
        through: Sequence,
        show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError> {
        // Without a connection of its own, for lack of file descriptors, it reads over those of the store.
        let mut own = match self.is_in_background {
            true => self.executor.block_on(self.store.reading_connection()).ok(),
            false => None,
        };
        let mut seen = after;
        while seen < through {
            let batch = if self.is_in_background { BATCH_IN_BACKGROUND } else { BATCH };
            let end = Sequence(seen.0.saturating_add(batch)).min(through);
            self.read(own.as_mut(), seen, end)?.each(show)?;
            seen = end;
            thread::yield_now();
        }
        Ok(())
    }

    fn each_of(
        &self,
        numbers: &[Sequence],
        show: &mut dyn FnMut(Sequence, &Transaction, usize) -> bool,
    ) -> Result<(), PastError> {
        for some in numbers.chunks(SINGLE_BATCH) {
            let (store, some) = (self.store.clone(), some.to_vec());
            let bodies = self.executor.block_on(async move { store.bodies_of(&some).await });
            for (sequence, body) in bodies.map_err(|error| unreadable(&error))? {
                if !show(sequence, &parse(sequence, &body)?, body.len()) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn testimony(&self, through: Sequence) -> Result<Option<PastSummary>, PastError> {
        let store = self.store.clone();
        let said = self.executor.block_on(async move { store.testimony(through).await });
        said.map(Some).map_err(|error| unreadable(&error))
    }
}

impl StoredPast {
    /// Reads a range. Its rows are decoded on the calling thread, at its priority, and not on a thread of the runtime.
    fn read(
        &self,
        own: Option<&mut SqliteConnection>,
        after: Sequence,
        through: Sequence,
    ) -> Result<LogBatch, PastError> {
        let batch = self.executor.block_on(async {
            let (bodies, updates) = match own {
                Some(own) => {
                    let bodies = transactions::bodies(&mut *own, after, through).await?;
                    (bodies, status_updates::between(own, after, through).await?)
                }
                None => {
                    let bodies = self.store.bodies(after, through).await?;
                    (bodies, self.store.status_updates(after, through).await?)
                }
            };
            Ok(LogBatch { bodies, updates })
        });
        batch.map_err(|error: StoreError| unreadable(&error))
    }
}

/// A range of the log: transactions, and updates with the bodies of their transactions, each in order.
#[derive(Default)]
struct LogBatch {
    bodies: Vec<(Sequence, String)>,
    updates: Vec<(StatusUpdateRecord, String)>,
}

impl LogBatch {
    fn each(&self, show: &mut dyn FnMut(PastItem<'_>)) -> Result<(), PastError> {
        let mut updates = self.updates.iter().peekable();
        for (sequence, body) in &self.bodies {
            while let Some((update, body)) = updates.next_if(|(update, _)| update.sequence < *sequence) {
                show_update(update, body, show)?;
            }
            let transaction = &parse(*sequence, body)?;
            show(PastItem::Accepted { sequence: *sequence, transaction });
        }
        updates.try_for_each(|(update, body)| show_update(update, body, show))
    }
}

fn show_update(
    update: &StatusUpdateRecord,
    body: &str,
    show: &mut dyn FnMut(PastItem<'_>),
) -> Result<(), PastError> {
    let StatusUpdateRecord { sequence, target, .. } = *update;
    let accepted = parse(target, body)?;
    let before = &accepted.with_status(update.before.as_deref());
    let after = &accepted.with_status(Some(&update.after));
    show(PastItem::Updated { sequence, target, before, after });
    Ok(())
}

fn parse(sequence: Sequence, body: &str) -> Result<Transaction, PastError> {
    Transaction::from_stored(body)
        .map_err(|error| PastError { reason: format!("the row with sequence number {sequence}: {error}") })
}

fn unreadable(error: &dyn std::fmt::Display) -> PastError {
    PastError { reason: error.to_string() }
}
