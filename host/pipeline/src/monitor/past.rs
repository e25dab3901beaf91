//! Past transactions that a caller adds to the history without a verdict, many at a time.
//!
//! ```text
//!  ids under way ─▶ in the store? ──yes──▶ stored already, or a conflict
//!                         │ no
//!                         ▼
//!                   turn in the batch ─▶ history.admit: sequence number ─▶ committer ─▶ durable
//! ```
//!
//! A transaction whose id is under way for something else, such as a verdict, loses its place: it is looked up when that has ended.

use std::collections::HashMap;
use std::sync::Arc;

use tollgate_model::transaction::{Fingerprint, Transaction};
use tollgate_store::{CurrentRecord, TransactionOrigin};

use crate::monitor::group::{CommitWaiter, TransactionInFlight};
use crate::monitor::pending::{Completion, EntryState, Operation, PendingEntry};
use crate::monitor::reported::AmountPrecision;
use crate::monitor::turns::Turn;
use crate::monitor::{MonitorError, TransactionPipeline, unreadable};

/// A past transaction, to be stored without a verdict.
#[derive(Debug)]
pub struct PastTransaction {
    /// The transaction.
    pub transaction: Transaction,
    /// The fingerprint of its request.
    pub fingerprint: Fingerprint,
}

/// A group of transactions that are to be stored, and what became of each.
pub(super) struct PastGroup {
    answers: Vec<PastAnswer>,
    /// Those that this owns and has not looked up.
    owned: Vec<(PastTransaction, PendingEntry)>,
    /// Those whose ids are busy with something else, by their index.
    busy: Vec<(usize, PastTransaction, Completion)>,
    /// Those that are being stored already.
    coming: Vec<Completion>,
}

/// The answer to one of the transactions.
enum PastAnswer {
    /// None yet, since its id is busy with something else.
    Busy,
    Coming(Completion),
}

impl PastGroup {
    /// Puts the ids of the transactions under way.
    pub(super) fn begin(pipeline: &TransactionPipeline, past: Vec<PastTransaction>) -> Self {
        let mut group = Self {
            answers: Vec::with_capacity(past.len()),
            owned: Vec::with_capacity(past.len()),
            busy: Vec::new(),
            coming: Vec::new(),
        };
        for (index, one) in past.into_iter().enumerate() {
            group.answers.push(PastAnswer::Busy);
            group.enter(pipeline, index, one);
        }
        group
    }

    fn enter(&mut self, pipeline: &TransactionPipeline, index: usize, one: PastTransaction) {
        let operation = Operation::Record(one.fingerprint);
        let coming = match pipeline.pending.enter(&one.transaction.transaction_id, operation) {
            EntryState::First(entry) => {
                let completion = entry.completion();
                self.owned.push((one, entry));
                completion
            }
            EntryState::Same(completion) => {
                self.coming.push(completion.clone());
                completion
            }
            EntryState::Other(other) => return self.busy.push((index, one, other)),
        };
        if let Some(answer) = self.answers.get_mut(index) {
            *answer = PastAnswer::Coming(coming);
        }
    }

    /// Stores all, at this turn of their batch. Returns when they are durable. The permits are held until then, even if this is
    /// dropped.
    pub(super) async fn store(
        mut self,
        pipeline: Arc<TransactionPipeline>,
        turn: Turn,
        permits: Arc<TransactionInFlight>,
    ) -> Vec<Result<(), MonitorError>> {
        let new = pipeline.look_up(std::mem::take(&mut self.owned)).await;
        turn.wait().await;
        pipeline.admit_past(new, &permits).await;
        // Another batch may be giving them their numbers. Later groups of this one come after those.
        for coming in std::mem::take(&mut self.coming) {
            coming.wait().await.ok();
        }
        drop(turn);
        while !self.busy.is_empty() {
            let busy = std::mem::take(&mut self.busy);
            // Nothing is entered before all have ended: one of them may wait for a transaction that waits for the entry.
            for (_, _, other) in &busy {
                other.clone().wait().await.ok();
            }
            for (index, one, _) in busy {
                self.enter(&pipeline, index, one);
            }
            let new = pipeline.look_up(std::mem::take(&mut self.owned)).await;
            pipeline.admit_past(new, &permits).await;
        }
        let mut answers = Vec::with_capacity(self.answers.len());
        for answer in self.answers {
            answers.push(match answer {
                PastAnswer::Coming(completion) => completion.wait().await.map(drop),
                PastAnswer::Busy => Err(MonitorError::Unavailable),
            });
        }
        answers
    }
}

impl TransactionPipeline {
    /// Settles the transactions that are stored, and returns the others.
    async fn look_up(
        &self,
        owned: Vec<(PastTransaction, PendingEntry)>,
    ) -> Vec<(PastTransaction, PendingEntry)> {
        let ids: Vec<_> = owned.iter().map(|(one, _)| Arc::clone(&one.transaction.transaction_id)).collect();
        let known = match self.deps.store.known(&ids).await {
            Ok(known) => known,
            Err(error) => {
                let error = unreadable(&error);
                owned.into_iter().for_each(|(_, entry)| drop(entry.settle(Err(error.clone()))));
                return Vec::new();
            }
        };
        let known: HashMap<_, _> =
            known.into_iter().map(|known| (Arc::clone(&known.record.transaction_id), known)).collect();
        let mut new = Vec::with_capacity(owned.len());
        for (one, entry) in owned {
            let Some(known) = known.get(&one.transaction.transaction_id) else {
                new.push((one, entry));
                continue;
            };
            let compared = self.compare_past(known, &one);
            if matches!(compared, Err(MonitorError::Conflict(_))) {
                self.deps.metrics.conflicted();
            }
            entry.settle(compared.map(|()| Arc::default())).ok();
        }
        new
    }

    /// Compares a transaction with the stored one.
    fn compare_past(&self, known: &CurrentRecord, one: &PastTransaction) -> Result<(), MonitorError> {
        // A verdict that was requested later has the fingerprint of that request.
        if [known.record.fingerprint, known.fingerprint()].contains(&one.fingerprint) {
            return Ok(());
        }
        if known.assessment().is_none() && known.record.origin != TransactionOrigin::Past {
            // A ledger may describe it in other words.
            return self.compare_unjudged(known, &one.transaction, AmountPrecision::Sent).map(drop);
        }
        self.compare_known(known, &one.transaction, one.fingerprint)
    }

    /// Gives the transactions their numbers, one after the other, as long as there is room for them.
    async fn admit_past(
        self: &Arc<Self>,
        new: Vec<(PastTransaction, PendingEntry)>,
        permits: &Arc<TransactionInFlight>,
    ) {
        if new.is_empty() {
            return;
        }
        let (pipeline, permits) = (Arc::clone(self), Arc::clone(permits));
        // Blocking, because it makes one insert per transaction and series.
        let admitting = tokio::task::spawn_blocking(move || {
            for (one, entry) in new {
                match pipeline.readiness() {
                    Ok(()) => {
                        let waiting = CommitWaiter::of_past(entry, Arc::clone(&permits));
                        pipeline.admit_unjudged(one.transaction, waiting, None);
                    }
                    Err(error) => drop(entry.settle(Err(error))),
                }
            }
        });
        // Entries that are dropped have their answer.
        admitting.await.ok();
    }
}
