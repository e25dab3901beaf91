//! Ids under way: the first caller carries the transaction, later ones wait for the same answer.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::SetOnce;
use tollgate_model::transaction::Fingerprint;
use tollgate_store::TransactionOrigin;

use crate::monitor::{MonitorAnswer, MonitorError};

type Ids = HashMap<Arc<str>, (Operation, Completion)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Judge(Fingerprint),
    Report(Fingerprint),
    /// A row that a ledger feeds into the history.
    Feed(Fingerprint),
    /// A past transaction that a caller adds to the history.
    Record(Fingerprint),
}

/// All ids between arrival and answer.
#[derive(Debug, Default)]
pub(super) struct PendingIds {
    ids: Arc<Mutex<Ids>>,
}

/// The state of an id when a caller arrives.
pub(super) enum EntryState {
    /// The id is free: the caller must run its work and settle the entry.
    First(PendingEntry),
    /// The same operation is under way.
    Same(Completion),
    /// Another operation is under way for this id.
    Other(Completion),
}

/// The sole right, and the duty, to settle an id. If dropped unsettled, all waiters are answered that they should
/// retry.
#[derive(Debug)]
pub(super) struct PendingEntry {
    id: Arc<str>,
    operation: Operation,
    ids: Arc<Mutex<Ids>>,
    completion: Completion,
}

/// A future answer; the owner of the [`PendingEntry`] guarantees that it comes.
#[derive(Debug, Clone, Default)]
pub(super) struct Completion(Arc<SetOnce<MonitorAnswer>>);

impl PendingIds {
    pub(super) fn enter(&self, id: &Arc<str>, operation: Operation) -> EntryState {
        match self.ids.lock().entry(Arc::clone(id)) {
            Entry::Occupied(entry) => {
                let (first, completion) = entry.get();
                if *first == operation {
                    EntryState::Same(completion.clone())
                } else {
                    EntryState::Other(completion.clone())
                }
            }
            Entry::Vacant(entry) => {
                let completion = Completion::default();
                entry.insert((operation, completion.clone()));
                EntryState::First(PendingEntry {
                    id: Arc::clone(id),
                    operation,
                    ids: Arc::clone(&self.ids),
                    completion,
                })
            }
        }
    }
}

impl PendingEntry {
    pub(super) const fn fingerprint(&self) -> Fingerprint {
        match self.operation {
            Operation::Judge(fingerprint)
            | Operation::Report(fingerprint)
            | Operation::Feed(fingerprint)
            | Operation::Record(fingerprint) => fingerprint,
        }
    }

    /// Returns whether a ledger reports the transaction.
    pub(super) const fn is_a_report(&self) -> bool {
        matches!(self.operation, Operation::Report(_))
    }

    /// Returns how the transaction comes to be stored, if it is new.
    pub(super) const fn origin(&self) -> TransactionOrigin {
        match self.operation {
            Operation::Judge(_) => TransactionOrigin::Request,
            Operation::Report(_) | Operation::Feed(_) => TransactionOrigin::Ledger,
            Operation::Record(_) => TransactionOrigin::Past,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn completion(&self) -> Completion {
        self.completion.clone()
    }

    /// Gives the answer to all waiters, and returns it.
    pub(super) fn settle(self, answer: MonitorAnswer) -> MonitorAnswer {
        // Later callers find the answer in the store.
        self.ids.lock().remove(&self.id);
        self.completion.give(answer.clone());
        answer
    }
}

impl Drop for PendingEntry {
    fn drop(&mut self) {
        if !self.completion.0.initialized() {
            self.ids.lock().remove(&self.id);
            self.completion.give(Err(MonitorError::Unavailable));
        }
    }
}

impl Completion {
    /// Sets the answer; the first one counts.
    fn give(&self, answer: MonitorAnswer) {
        self.0.set(answer).ok();
    }

    pub(super) async fn wait(self) -> MonitorAnswer {
        self.0.wait().await.clone()
    }
}
