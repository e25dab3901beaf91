//! What a ledger feeds: transactions that happened, as history, in the order in which the ledger has them.
//!
//! Each has a number and is durable as everything else; nobody waits for a verdict on it, so it gets none unless that was
//! asked for. Ids that are known are recognised, and their status goes on. How far the ledger is read is kept in
//! the commit of the last row, never before.

use std::collections::HashMap;
use std::sync::Arc;

use tollgate_model::transaction::{Fingerprint, Transaction};
use tollgate_store::{CommitRecord, DeadLetter, LedgerProgress, TransactionRecord};

use crate::monitor::group::{Caller, Commit, CommitCompletion, CommitWaiter, NumberedRecord};
use crate::monitor::pending::{Completion, EntryState, Operation, PendingEntry};
use crate::monitor::reported::{ReportOutcome, accepted_of};
use crate::monitor::sequence_slot::SequenceSlot;
use crate::monitor::{Monitor, MonitorError, TransactionPipeline, unreadable};

/// The event of a status that a ledger's row brought.
const EVENT: &str = "ledger.row";
/// Rows evaluated at once where a verdict is asked for: few, because callers wait behind them.
const EVALUATED_AT_ONCE: usize = 16;

/// A row of a ledger.
#[derive(Debug)]
pub struct LedgerFeedRow {
    /// What it says.
    pub transaction: Transaction,
    /// Of what it says.
    pub fingerprint: Fingerprint,
    /// What is to be kept of it when its id is known as another transaction.
    pub if_it_differs: DeadLetter,
}

/// What is wanted of rows that are new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedMode {
    /// That the history knows them.
    History,
    /// A verdict on each as well, as if it had been injected.
    Judge,
}

/// What became of the rows of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeedReport {
    /// New, and durable.
    pub n_taken: usize,
    /// Known; their status went on.
    pub n_updated: usize,
    /// Known, and nothing new in them.
    pub n_known: usize,
    /// Known as other transactions: dead letters.
    pub n_differing: usize,
}

/// Rows that are this call's alone for as long as it has their tickets.
type OwnedRows = Vec<(LedgerFeedRow, PendingEntry)>;

impl Monitor {
    /// Takes rows of a ledger into the history, and notes the progress in the commit of the last of them, or behind it.
    /// Returns when all of that is durable. The same rows again change nothing.
    ///
    /// # Errors
    /// See [`MonitorError`]. Some rows may be taken then; the progress is not noted.
    pub async fn feed(
        &self,
        rows: Vec<LedgerFeedRow>,
        manner: FeedMode,
        mut progress: LedgerProgress,
    ) -> Result<FeedReport, MonitorError> {
        let pipeline = &self.pipeline;
        pipeline.readiness()?;
        let (mut report, mut rows) = (FeedReport::default(), rows);
        loop {
            let (mine, busy) = pipeline.enter(rows);
            let new = pipeline.sort_out(mine, &mut report, &mut progress).await?;
            report.n_taken += new.len();
            if busy.is_empty() {
                pipeline.take_in(new, manner, Some(progress)).await?;
                return Ok(report);
            }
            pipeline.take_in(new, manner, None).await?;
            rows = Vec::with_capacity(busy.len());
            for (row, other) in busy {
                // Whatever it came to, this row is looked at again.
                other.wait().await.ok();
                rows.push(row);
            }
        }
    }
}

impl TransactionPipeline {
    /// The rows whose ids nobody else is busy with, and the rest.
    fn enter(&self, rows: Vec<LedgerFeedRow>) -> (OwnedRows, Vec<(LedgerFeedRow, Completion)>) {
        let (mut mine, mut busy) = (Vec::with_capacity(rows.len()), Vec::new());
        for row in rows {
            match self.pending.enter(&row.transaction.transaction_id, Operation::Feed(row.fingerprint)) {
                EntryState::First(pending_entry) => mine.push((row, pending_entry)),
                EntryState::Same(other) | EntryState::Other(other) => busy.push((row, other)),
            }
        }
        (mine, busy)
    }

    /// Brings those that are known to their end; the others are left.
    async fn sort_out(
        &self,
        mine: OwnedRows,
        report: &mut FeedReport,
        progress: &mut LedgerProgress,
    ) -> Result<OwnedRows, MonitorError> {
        let ids: Vec<_> = mine.iter().map(|(row, _)| Arc::clone(&row.transaction.transaction_id)).collect();
        let known = self.deps.store.known(&ids).await.map_err(|error| unreadable(&error))?;
        let mut known: HashMap<_, _> =
            known.into_iter().map(|known| (Arc::clone(&known.record.transaction_id), known)).collect();
        let (mut new, mut updates) = (Vec::with_capacity(mine.len()), Vec::new());
        let (mut standings, mut noted) = (Vec::new(), Vec::new());
        for (row, pending_entry) in mine {
            let Some(known) = known.remove(&row.transaction.transaction_id) else {
                new.push((row, pending_entry));
                continue;
            };
            let accepted = accepted_of(&known)?;
            if accepted.disagreement_with(&row.transaction, self.deps.amounts).is_some() {
                report.n_differing += 1;
                progress.dead_letters.push(row.if_it_differs);
                pending_entry.settle(Ok(Arc::default())).ok();
            } else {
                let told = &row.transaction;
                let ReportOutcome { change, standing } =
                    ReportOutcome::of(&known, accepted, told.status.as_deref(), told.changed());
                let assessment: Arc<str> = known.assessment().unwrap_or_default().into();
                if let Some(change) = change {
                    report.n_updated += 1;
                    updates.push(pending_entry.completion());
                    let waiting = CommitWaiter { pending_entry, _in_flight: None };
                    self.update(change, standing, assessment, EVENT.into(), waiting);
                } else {
                    report.n_known += 1;
                    standings.extend(standing.map(|standing| (known.record.sequence, standing)));
                    noted.push((pending_entry, assessment));
                }
            }
        }
        all_durable(updates).await?;
        let standings = standings.iter().map(|(target, standing)| (*target, standing)).collect();
        let commit = CommitRecord { standings, ..CommitRecord::default() };
        self.deps.store.commit(&commit).await.map_err(|error| unreadable(&error))?;
        for (pending_entry, assessment) in noted {
            pending_entry.settle(Ok(assessment)).ok();
        }
        Ok(new)
    }

    /// Takes new ones in, and notes the progress.
    async fn take_in(
        self: &Arc<Self>,
        new: OwnedRows,
        manner: FeedMode,
        progress: Option<LedgerProgress>,
    ) -> Result<(), MonitorError> {
        let noted_alone = match manner {
            FeedMode::History if !new.is_empty() => {
                let durable = new.iter().map(|(_, pending_entry)| pending_entry.completion()).collect();
                let pipeline = Arc::clone(self);
                // As many inserts as there are rows and series.
                let admitting = tokio::task::spawn_blocking(move || pipeline.admit_fed(new, progress));
                admitting.await.map_err(|_| MonitorError::Unavailable)?;
                return all_durable(durable).await;
            }
            FeedMode::History => progress,
            FeedMode::Judge => {
                self.judge_fed(new).await?;
                progress
            }
        };
        let Some(progress) = noted_alone else { return Ok(()) };
        let commit = CommitRecord { ledger: vec![&progress], ..CommitRecord::default() };
        self.deps.store.commit(&commit).await.map_err(|error| unreadable(&error))
    }

    fn admit_fed(&self, new: OwnedRows, mut progress: Option<LedgerProgress>) {
        let n_behind = new.len().saturating_sub(1);
        for (index, (row, pending_entry)) in new.into_iter().enumerate() {
            let LedgerFeedRow { mut transaction, fingerprint, .. } = row;
            let (place, transaction, arrival) = self.deps.history.admit_as(|sequence| {
                let place = SequenceSlot::new(sequence, self.committer.clone());
                let arrival = self.arrivals.stamp(&mut transaction, self.deps.clock.now());
                let transaction = Arc::new(transaction);
                (Arc::clone(&transaction), (place, transaction, arrival))
            });
            let record = TransactionRecord {
                sequence: place.sequence(),
                transaction_id: Arc::clone(&transaction.transaction_id),
                fingerprint,
                event_micros: transaction.timestamp.micros(),
                accepted_micros: arrival.timestamp_micros(),
                rule_set_version: 0,
                body: transaction.to_stored(),
                assessment: None,
            };
            // INVARIANT: the last row carries it, and the store holds a prefix: it is noted with or after every row.
            let progress = if index == n_behind { progress.take() } else { None };
            let caller = Caller::Waiting(CommitWaiter { pending_entry, _in_flight: None });
            let completion = CommitCompletion { caller, answer: Arc::default(), evaluation: None };
            let record = NumberedRecord::Transaction(record, progress);
            place.fill(Commit { record, announcement: None, completion });
        }
    }

    async fn judge_fed(self: &Arc<Self>, new: OwnedRows) -> Result<(), MonitorError> {
        let mut new = new.into_iter();
        loop {
            let some: Vec<_> = new.by_ref().take(EVALUATED_AT_ONCE).collect();
            if some.is_empty() {
                return Ok(());
            }
            let durable = some.iter().map(|(_, pending_entry)| pending_entry.completion()).collect();
            for (row, pending_entry) in some {
                let waiting = CommitWaiter { pending_entry, _in_flight: None };
                Arc::clone(self).admit(Arc::new(row.transaction), waiting).await;
            }
            all_durable(durable).await?;
        }
    }
}

/// Waits for all, also when one of them went wrong: nothing is under way any more when who fed them hears of it. Whether each went
/// well, or what came of the first that did not.
async fn all_durable(answers: Vec<Completion>) -> Result<(), MonitorError> {
    let mut outcome = Ok(());
    for answer in answers {
        outcome = outcome.and(answer.wait().await.map(drop));
    }
    outcome
}
