//! Ids under way: who is first carries the transaction, who comes meanwhile waits for the same answer.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::SetOnce;
use tollgate_model::transaction::Fingerprint;

use crate::monitor::{Answer, MonitorError};

type Ids = HashMap<Arc<str>, (Errand, Later)>;

/// What somebody wants of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Errand {
    /// The verdict on this transaction.
    Judge(Fingerprint),
    /// That this is known of it.
    Report(Fingerprint),
    /// That it is part of the history, as a ledger feeds it.
    Feed(Fingerprint),
}

/// Every id between its arrival and its answer.
#[derive(Debug, Default)]
pub(super) struct Pending {
    ids: Arc<Mutex<Ids>>,
}

/// What a caller finds when it arrives.
pub(super) enum Turn {
    /// Nobody has this id: carry it and settle the ticket.
    First(Ticket),
    /// The same is under way.
    Same(Later),
    /// Something else is under way for this id.
    Other(Later),
}

/// The right, and the duty, to settle an id. Dropped without that, everybody who waits is told to try again.
#[derive(Debug)]
pub(super) struct Ticket {
    id: Arc<str>,
    errand: Errand,
    ids: Arc<Mutex<Ids>>,
    answer: Later,
}

/// An answer to come. Whoever holds the ticket sees to it that it does.
#[derive(Debug, Clone, Default)]
pub(super) struct Later(Arc<SetOnce<Answer>>);

impl Pending {
    pub(super) fn enter(&self, id: &Arc<str>, errand: Errand) -> Turn {
        match self.ids.lock().entry(Arc::clone(id)) {
            Entry::Occupied(entry) => {
                let (first, later) = entry.get();
                if *first == errand { Turn::Same(later.clone()) } else { Turn::Other(later.clone()) }
            }
            Entry::Vacant(entry) => {
                let answer = Later::default();
                entry.insert((errand, answer.clone()));
                Turn::First(Ticket { id: Arc::clone(id), errand, ids: Arc::clone(&self.ids), answer })
            }
        }
    }
}

impl Ticket {
    /// That of the transaction it is about.
    pub(super) const fn fingerprint(&self) -> Fingerprint {
        match self.errand {
            Errand::Judge(fingerprint) | Errand::Report(fingerprint) | Errand::Feed(fingerprint) => {
                fingerprint
            }
        }
    }

    /// The id of the transaction.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn answer(&self) -> Later {
        self.answer.clone()
    }

    /// Gives everybody who waits the answer, and gives it back.
    pub(super) fn settle(self, answer: Answer) -> Answer {
        // Whoever comes from here on finds the answer in the store.
        self.ids.lock().remove(&self.id);
        self.answer.give(answer.clone());
        answer
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.answer.0.initialized() {
            self.ids.lock().remove(&self.id);
            self.answer.give(Err(MonitorError::Unavailable));
        }
    }
}

impl Later {
    /// The first one counts.
    fn give(&self, answer: Answer) {
        self.0.set(answer).ok();
    }

    pub(super) async fn wait(self) -> Answer {
        self.0.wait().await.clone()
    }
}
