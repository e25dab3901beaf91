//! What is kept, as the history's past.

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::{StatusUpdateRecord, Store, StoreError};
use crate::history::{Past, PastError, PastItem};
use crate::sequence::Sequence;
use crate::transaction::Transaction;

/// How many transactions, and how many updates, are read at once.
const BATCH: usize = 4_096;

/// A store, to be read from threads that may wait; never from one that runs the executor.
#[derive(Debug)]
pub struct StoredPast {
    store: Store,
    executor: Handle,
}

impl StoredPast {
    /// Of this store, whose connections live on the executor this is called on.
    ///
    /// # Panics
    /// When it is called outside an executor.
    #[must_use]
    pub fn of(store: &Store) -> Self {
        Self { store: store.clone(), executor: Handle::current() }
    }
}

impl Past for StoredPast {
    fn each_after(
        &self,
        after: Sequence,
        through: Sequence,
        show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError> {
        // The next batch is read while this one is shown.
        let mut reading = self.read(after);
        loop {
            let batch = self.executor.block_on(reading).map_err(|error| unreadable(&error))?;
            let batch = batch.map_err(|error| unreadable(&error))?;
            let complete = batch.complete_through();
            if complete >= through {
                return batch.each(through, show);
            }
            reading = self.read(complete);
            batch.each(complete, show)?;
        }
    }
}

impl StoredPast {
    fn read(&self, after: Sequence) -> JoinHandle<Result<Batch, StoreError>> {
        let store = self.store.clone();
        self.executor.spawn(async move {
            let bodies = store.bodies(after, BATCH).await?;
            let updates = store.status_updates(after, BATCH).await?;
            Ok(Batch { bodies, updates })
        })
    }
}

/// What comes next: transactions with their numbers, updates with the bodies of theirs, each in order.
struct Batch {
    bodies: Vec<(Sequence, String)>,
    updates: Vec<(StatusUpdateRecord, String)>,
}

impl Batch {
    /// Up to where nothing is missing: a list that is full may have been cut off.
    fn complete_through(&self) -> Sequence {
        let last_of_full = |n: usize, last: Option<Sequence>| last.filter(|_| n == BATCH);
        let bodies = last_of_full(self.bodies.len(), self.bodies.last().map(|(sequence, _)| *sequence));
        let updates =
            last_of_full(self.updates.len(), self.updates.last().map(|(update, _)| update.sequence));
        bodies.into_iter().chain(updates).min().unwrap_or(Sequence(u64::MAX))
    }

    fn each(&self, through: Sequence, show: &mut dyn FnMut(PastItem<'_>)) -> Result<(), PastError> {
        let mut updates = self.updates.iter().take_while(|(update, _)| update.sequence <= through).peekable();
        for (sequence, body) in self.bodies.iter().take_while(|(sequence, _)| *sequence <= through) {
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
        .map_err(|error| PastError { reason: format!("the one with sequence number {sequence}: {error}") })
}

fn unreadable(error: &dyn std::fmt::Display) -> PastError {
    PastError { reason: error.to_string() }
}
