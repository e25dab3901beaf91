//! Status updates take effect: everything that waits, in one pause of the evaluations.

use std::sync::Arc;

use tokio::sync::mpsc;
use tollgate_history::{History, StatusChange};
use tollgate_model::transaction::ReportedStatus;
use tollgate_store::StatusUpdateRecord;

use crate::monitor::gate::UpdateGate;
use crate::monitor::group::{Caller, Commit, CommitCompletion, CommitWaiter, NumberedRecord};
use crate::monitor::sequence_slot::{CommitMessage, SequenceSlot};

/// Most updates of one pause: so few that it stays short also where entries must be read back from the spill file.
const BATCH_MAX: usize = 64;

/// An update on its way: its transaction is stored, and nobody else changes it meanwhile.
#[derive(Debug)]
pub(super) struct Update {
    pub(super) change: StatusChange,
    /// What is kept of it; its number is still to come.
    pub(super) record: StatusUpdateRecord,
    /// What was told of the status by now, where that has to be kept.
    pub(super) standing: Option<ReportedStatus>,
    /// The answer the transaction got.
    pub(super) assessment: Arc<str>,
    pub(super) waiting: CommitWaiter,
}

/// The one who updates.
pub(super) struct Updater {
    pub(super) gate: Arc<UpdateGate>,
    pub(super) history: Arc<History>,
    pub(super) committer: mpsc::UnboundedSender<CommitMessage>,
}

impl Updater {
    /// Updates until nobody can send any more. The next pause comes when the last batch is durable, so there are no more
    /// pauses than commits, however many updates arrive.
    pub(super) async fn run(self, mut arriving: mpsc::UnboundedReceiver<Update>) {
        let updater = Arc::new(self);
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while arriving.recv_many(&mut batch, BATCH_MAX).await > 0 {
            let alone = updater.gate.update().await;
            while batch.len() < BATCH_MAX
                && let Ok(update) = arriving.try_recv()
            {
                batch.push(update);
            }
            let last = batch.last().map(|update| update.waiting.pending_entry.completion());
            let updates = std::mem::take(&mut batch);
            let same = Arc::clone(&updater);
            // It may take as long as the series are many.
            let applied = tokio::task::spawn_blocking(move || {
                same.apply(updates);
                drop(alone);
            });
            if let Err(error) = applied.await {
                tracing::error!(error = %error, "status updates were lost on the way; they are taken back");
            }
            if let Some(last) = last {
                last.wait().await.ok();
            }
        }
    }

    /// Lets them take effect, and hands them to the committer.
    fn apply(&self, updates: Vec<Update>) {
        let split = |Update { change, record, standing, assessment, waiting }| {
            (change, (record, standing, assessment, waiting))
        };
        let (changes, rest): (Vec<_>, Vec<_>) = updates.into_iter().map(split).unzip();
        let places =
            self.history.update(changes, |sequence| SequenceSlot::new(sequence, self.committer.clone()));
        for (place, (record, standing, assessment, waiting)) in places.into_iter().zip(rest) {
            let record = StatusUpdateRecord { sequence: place.sequence(), ..record };
            let caller = Caller::Waiting(waiting);
            let completion = CommitCompletion { caller, answer: assessment, evaluation: None };
            let record = NumberedRecord::Update(record, standing);
            place.fill(Commit { record, announcement: None, completion });
        }
    }
}
