//! Applies status updates to the history: all waiting ones during one pause of the evaluations.

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc};
use tollgate_history::{History, StatusChange};
use tollgate_model::transaction::ReportedStatus;
use tollgate_store::StatusUpdateRecord;

use crate::monitor::MonitorError;
use crate::monitor::gate::UpdateGate;
use crate::monitor::group::{Caller, Commit, CommitCompletion, CommitWaiter, NumberedRecord};
use crate::monitor::sequence_slot::{CommitMessage, SequenceSlot};

/// Maximum number of updates in one pause; keeps it short even if entries must be read from the spill file.
const BATCH_MAX: usize = 64;

/// An update under way: its transaction is stored, and no other operation changes it.
#[derive(Debug)]
pub(super) struct Update {
    pub(super) change: StatusChange,
    pub(super) record: StatusUpdateRecord,
    pub(super) reported_statuses: Option<ReportedStatus>,
    pub(super) assessment: Arc<str>,
    pub(super) waiting: CommitWaiter,
}

pub(super) struct Updater {
    pub(super) gate: Arc<UpdateGate>,
    /// Held while keys leave memory for transactions.
    pub(super) room: Arc<Mutex<()>>,
    pub(super) history: Arc<History>,
    pub(super) committer: mpsc::UnboundedSender<CommitMessage>,
}

impl Updater {
    /// Runs until all senders are gone. The next pause begins when the last batch is durable, so there are never more
    /// pauses than commits.
    pub(super) async fn run(self, mut arriving: mpsc::UnboundedReceiver<Update>) {
        let updater = Arc::new(self);
        let mut batch = Vec::with_capacity(BATCH_MAX);
        // Those whose history must be read first, which nobody does while evaluations wait.
        let mut next = Vec::new();
        loop {
            batch.append(&mut next);
            if batch.is_empty() && arriving.recv_many(&mut batch, BATCH_MAX).await == 0 {
                return;
            }
            // Transactions let no key leave that is read back here, until it has changed.
            let room = Arc::clone(&updater.room).lock_owned().await;
            updater.prepare_history(&mut batch).await;
            if batch.is_empty() {
                continue;
            }
            let alone = updater.gate.update().await;
            while batch.len() < BATCH_MAX
                && let Ok(update) = arriving.try_recv()
            {
                batch.push(update);
            }
            next.extend(batch.extract_if(.., |update| updater.is_elsewhere(update)));
            let last = batch.last().map(|update| update.waiting.pending_entry.completion());
            let updates = std::mem::take(&mut batch);
            let same = Arc::clone(&updater);
            // Blocking: takes longer the more series there are.
            let applied = tokio::task::spawn_blocking(move || {
                same.apply(updates);
                drop((alone, room));
                same.history.make_some_room();
            });
            if let Err(error) = applied.await {
                tracing::error!(error = %error, "status updates did not complete; they are rolled back");
            }
            if let Some(last) = last {
                last.wait().await.ok();
            }
        }
    }

    /// Reads the history of the transactions that is on the disk before evaluations wait. Refuses updates of which it
    /// cannot be read.
    async fn prepare_history(&self, updates: &mut Vec<Update>) {
        let elsewhere = updates.iter().filter(|update| self.is_elsewhere(update));
        let elsewhere: Vec<_> =
            elsewhere.flat_map(|update| [&update.change.before, &update.change.after]).cloned().collect();
        if elsewhere.is_empty() {
            return;
        }
        let history = Arc::clone(&self.history);
        let prepare = move || history.prepare_all(&elsewhere);
        tokio::task::spawn_blocking(prepare).await.ok();
        for refused in updates.extract_if(.., |update| self.is_elsewhere(update)) {
            refused.waiting.pending_entry.settle(Err(MonitorError::HistoryUnread)).ok();
        }
    }

    fn is_elsewhere(&self, update: &Update) -> bool {
        [&update.change.before, &update.change.after].into_iter().any(|of| self.history.is_elsewhere(of))
    }

    fn apply(&self, updates: Vec<Update>) {
        let split = |Update { change, record, reported_statuses, assessment, waiting }| {
            (change, (record, reported_statuses, assessment, waiting))
        };
        let (changes, rest): (Vec<_>, Vec<_>) = updates.into_iter().map(split).unzip();
        let slots =
            self.history.update(changes, |sequence| SequenceSlot::new(sequence, self.committer.clone()));
        for (slot, (record, reported_statuses, assessment, waiting)) in slots.into_iter().zip(rest) {
            let record = StatusUpdateRecord { sequence: slot.sequence(), ..record };
            let caller = Caller::Waiting(waiting);
            let completion = CommitCompletion { caller, answer: assessment, evaluation: None };
            let record = NumberedRecord::Update(record, reported_statuses);
            slot.fill(Commit { record, announcement: None, completion });
        }
    }
}
