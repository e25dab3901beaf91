//! The stored transactions as the past of the history.

use std::thread;

use sqlx::SqliteConnection;
use tokio::runtime::Handle;
use tollgate_history::{Past, PastError, PastItem, PastSummary};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use super::{StatusUpdateRecord, Store, status_updates, transactions};

/// Number of sequence numbers read at once, without a pause.
const BATCH: u64 = 512;
/// The same for transactions, beside others that are judged. With 512, the 99th percentile of their time is 50 % higher.
const BATCH_IN_BACKGROUND: u64 = 32;
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
            let end = Sequence(seen.0.saturating_add(BATCH)).min(through);
            let updates = self.updates(own.as_mut(), seen, end)?;
            let mut updates = updates.iter().peekable();
            while seen < end {
                let batch = if self.is_in_background { BATCH_IN_BACKGROUND } else { BATCH };
                let next = Sequence(seen.0.saturating_add(batch)).min(end);
                for (sequence, body) in self.bodies(own.as_mut(), seen, next)? {
                    while let Some((update, body)) = updates.next_if(|(update, _)| update.sequence < sequence)
                    {
                        show_update(update, body, show)?;
                    }
                    show(PastItem::Accepted { sequence, transaction: &parse(sequence, &body)? });
                }
                seen = next;
                thread::yield_now();
            }
            updates.try_for_each(|(update, body)| show_update(update, body, show))?;
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
    /// Reads the transactions of a range. They are decoded on the calling thread, at its priority, and not on a thread
    /// of the runtime.
    fn bodies(
        &self,
        own: Option<&mut SqliteConnection>,
        after: Sequence,
        through: Sequence,
    ) -> Result<Vec<(Sequence, String)>, PastError> {
        let bodies = self.executor.block_on(async {
            match own {
                Some(own) => transactions::bodies(own, after, through).await,
                None => self.store.bodies(after, through).await,
            }
        });
        bodies.map_err(|error| unreadable(&error))
    }

    /// Reads the updates of a range, each with the body of its transaction.
    fn updates(
        &self,
        own: Option<&mut SqliteConnection>,
        after: Sequence,
        through: Sequence,
    ) -> Result<Vec<(StatusUpdateRecord, String)>, PastError> {
        let updates = self.executor.block_on(async {
            match own {
                Some(own) => status_updates::between(own, after, through).await,
                None => self.store.status_updates(after, through).await,
            }
        });
        updates.map_err(|error| unreadable(&error))
    }
}

fn show_update(
    update: &StatusUpdateRecord,
    body: &str,
    show: &mut dyn FnMut(PastItem<'_>),
) -> Result<(), PastError> {
    let StatusUpdateRecord { sequence, target, .. } = *update;
    let accepted = parse(target, body)?;
    let (before, after) = update.applied_to(&accepted);
    show(PastItem::Updated { sequence, target, before: &before, after: &after });
    Ok(())
}

fn parse(sequence: Sequence, body: &str) -> Result<Transaction, PastError> {
    Transaction::from_stored(body)
        .map_err(|error| PastError { reason: format!("the row with sequence number {sequence}: {error}") })
}

fn unreadable(error: &dyn std::fmt::Display) -> PastError {
    PastError { reason: error.to_string() }
}
