//! Ids under way: who is first carries the transaction, who comes meanwhile waits for the same answer.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::SetOnce;
use tollgate_model::transaction::Fingerprint;

use crate::monitor::{MonitorAnswer, MonitorError};

type Ids = HashMap<Arc<str>, (Operation, Completion)>;

/// What somebody wants of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// The verdict on this transaction.
    Judge(Fingerprint),
    /// That this is known of it.
    Report(Fingerprint),
    /// That it is part of the history, as a ledger feeds it.
    Feed(Fingerprint),
}

/// Every id between its arrival and its answer.
#[derive(Debug, Default)]
pub(super) struct PendingIds {
    ids: Arc<Mutex<Ids>>,
}

/// What a caller finds when it arrives.
pub(super) enum EntryState {
    /// Nobody has this id: carry it and settle the ticket.
    First(PendingEntry),
    /// The same is under way.
    Same(Completion),
    /// Something else is under way for this id.
    Other(Completion),
}

/// The right, and the duty, to settle an id. Dropped without that, everybody who waits is told to try again.
#[derive(Debug)]
pub(super) struct PendingEntry {
    id: Arc<str>,
    operation: Operation,
    ids: Arc<Mutex<Ids>>,
    completion: Completion,
}

/// An answer to come. Whoever holds the ticket sees to it that it does.
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
    /// That of the transaction it is about.
    pub(super) const fn fingerprint(&self) -> Fingerprint {
        match self.operation {
            Operation::Judge(fingerprint) | Operation::Report(fingerprint) | Operation::Feed(fingerprint) => {
                fingerprint
            }
        }
    }

    /// The id of the transaction.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn completion(&self) -> Completion {
        self.completion.clone()
    }

    /// Gives everybody who waits the answer, and gives it back.
    pub(super) fn settle(self, answer: MonitorAnswer) -> MonitorAnswer {
        // Whoever comes from here on finds the answer in the store.
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
    /// The first one counts.
    fn give(&self, answer: MonitorAnswer) {
        self.0.set(answer).ok();
    }

    pub(super) async fn wait(self) -> MonitorAnswer {
        self.0.wait().await.clone()
    }
}
