//! The turns in which the transactions of a batch get their numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The order in which the transactions of a batch get their numbers.
#[derive(Debug, Default)]
pub(super) struct AdmissionOrder {
    turns: Mutex<Turns>,
}

#[derive(Debug, Default)]
struct Turns {
    /// The place of the first transaction that has no number yet and may get one.
    next: u64,
    /// Places after `next` whose transactions have a number, or need none.
    ended: BTreeSet<u64>,
    waiting: BTreeMap<u64, oneshot::Sender<()>>,
}

/// The place of one transaction in its batch. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    order: Arc<AdmissionOrder>,
    place: u64,
}

impl AdmissionOrder {
    /// Returns the turn of the transaction at this place, counted from 0; each place has one.
    pub(super) fn turn(self: &Arc<Self>, place: u64) -> Turn {
        Turn { order: Arc::clone(self), place }
    }
}

impl Turn {
    /// Waits until every transaction before this one has its number, or needs none.
    pub(super) async fn wait(&self) {
        let coming = {
            let mut turns = self.order.turns.lock();
            if turns.next == self.place {
                return;
            }
            let (sender, coming) = oneshot::channel();
            turns.waiting.insert(self.place, sender);
            coming
        };
        // The sender is dropped with the order alone, which this turn keeps.
        coming.await.ok();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut turns = self.order.turns.lock();
        turns.ended.insert(self.place);
        while let Some(first) = turns.ended.first().copied().filter(|first| *first == turns.next) {
            turns.ended.remove(&first);
            turns.next += 1;
        }
        let next = turns.next;
        if let Some(waiting) = turns.waiting.remove(&next) {
            waiting.send(()).ok();
        }
    }
}
