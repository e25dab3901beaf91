//! Transactions that are stored without a verdict.

use std::sync::Arc;

use tollgate_model::transaction::Transaction;
use tollgate_store::{LedgerProgress, TransactionRecord};

use crate::monitor::TransactionPipeline;
use crate::monitor::group::{Caller, Commit, CommitCompletion, CommitWaiter, NumberedRecord};
use crate::monitor::sequence_slot::SequenceSlot;

impl TransactionPipeline {
    /// Gives a transaction its number and commits it without a verdict, and the progress of a ledger with it.
    pub(super) fn admit_unjudged(
        &self,
        mut transaction: Transaction,
        mut waiting: CommitWaiter,
        progress: Option<LedgerProgress>,
    ) {
        transaction.read_long_texts();
        self.deps.history.prepare(&transaction);
        let (slot, transaction, arrival) = self.deps.history.admit_as(|sequence| {
            let slot = SequenceSlot::new(sequence, self.committer.clone());
            let arrival = self.arrivals.stamp(&mut transaction);
            let transaction = Arc::new(transaction);
            (Arc::clone(&transaction), (slot, transaction, arrival))
        });
        self.deps.history.make_room();
        let record = TransactionRecord {
            sequence: slot.sequence(),
            transaction_id: Arc::clone(&transaction.transaction_id),
            fingerprint: waiting.pending_entry.fingerprint(),
            event_micros: transaction.timestamp.micros(),
            accepted_micros: arrival.timestamp_micros(),
            rule_set_version: 0,
            body: transaction.to_stored(),
            assessment: None,
            origin: waiting.pending_entry.origin(),
        };
        if let Some(hash) = &mut waiting.hash {
            hash.accepted_at(arrival);
        }
        let caller = Caller::Waiting(waiting);
        let completion = CommitCompletion { caller, answer: Arc::default(), evaluation: None };
        let record = NumberedRecord::Transaction(record, progress);
        slot.fill(Commit { record, announcement: None, completion });
    }
}
