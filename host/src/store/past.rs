//! The kept transactions as the history's past.

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::{Store, StoreError};
use crate::history::{Past, PastError};
use crate::sequence::Sequence;
use crate::transaction::Transaction;

/// How many transactions are read at once.
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
        show: &mut dyn FnMut(Sequence, &Transaction),
    ) -> Result<(), PastError> {
        // The next batch is read while this one is shown.
        let mut reading = self.read(after);
        loop {
            let batch = self.executor.block_on(reading).map_err(|error| unreadable(&error))?;
            let batch = batch.map_err(|error| unreadable(&error))?;
            let Some((last, _)) = batch.last() else { break };
            if *last >= through {
                return each(&batch, through, show);
            }
            reading = self.read(*last);
            each(&batch, through, show)?;
        }
        Ok(())
    }
}

impl StoredPast {
    fn read(&self, after: Sequence) -> JoinHandle<Result<Batch, StoreError>> {
        let store = self.store.clone();
        self.executor.spawn(async move { store.bodies(after, BATCH).await })
    }
}

/// Bodies with their numbers, in order.
type Batch = Vec<(Sequence, String)>;

fn each(
    batch: &Batch,
    through: Sequence,
    show: &mut dyn FnMut(Sequence, &Transaction),
) -> Result<(), PastError> {
    for (sequence, body) in batch.iter().take_while(|(sequence, _)| *sequence <= through) {
        let transaction = Transaction::from_stored(body).map_err(|error| PastError {
            reason: format!("the one with sequence number {sequence}: {error}"),
        })?;
        show(*sequence, &transaction);
    }
    Ok(())
}

fn unreadable(error: &dyn std::fmt::Display) -> PastError {
    PastError { reason: error.to_string() }
}
