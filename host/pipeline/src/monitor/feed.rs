//! Feeds past transactions of a ledger into the history, in the ledger's order.
//!
//! Each gets a sequence number and is made durable like any other, but is judged only if the settings say so. For known
//! ids only the status is updated. The progress in the ledger is stored in the commit of the last row, never earlier.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;
use tollgate_model::transaction::{Fingerprint, Transaction, compare_report};
use tollgate_store::{CommitRecord, DeadLetter, LedgerProgress};

use crate::monitor::elsewhere;
use crate::monitor::group::CommitWaiter;
use crate::monitor::hashes;
use crate::monitor::pending::{Completion, EntryState, Operation, PendingEntry};
use crate::monitor::reported::{ReportOutcome, ReportedChange, accepted_of};
use crate::monitor::{Monitor, MonitorError, TransactionPipeline, unreadable};

/// The event recorded for a status from a row of the ledger.
const EVENT: &str = "ledger.row";
/// Rows evaluated at once if verdicts are requested; few, because callers wait behind them.
const EVALUATED_AT_ONCE: usize = 16;

/// A row of a ledger.
#[derive(Debug)]
pub struct LedgerFeedRow {
    /// The transaction it describes.
    pub transaction: Transaction,
    /// The fingerprint of the transaction.
    pub fingerprint: Fingerprint,
    /// The dead letter to keep if its id belongs to another transaction.
    pub if_it_differs: DeadLetter,
}

/// Treatment of new rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedMode {
    /// Add them to the history.
    History,
    /// Also judge each, as if it had been injected.
    Judge,
}

/// The results for the rows of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeedReport {
    /// New rows, now durable.
    pub n_taken: usize,
    /// Known rows whose status advanced.
    pub n_updated: usize,
    /// Known rows with nothing new.
    pub n_known: usize,
    /// Rows whose id belongs to another transaction; each became a dead letter.
    pub n_differing: usize,
    /// Rows are judged, and the dead letter of such a row could not be kept: the mark was not stored.
    pub is_full: bool,
}

/// Rows with the pending entries that this call owns.
type OwnedRows = Vec<(LedgerFeedRow, PendingEntry)>;

impl Monitor {
    /// Takes rows of a ledger into the history, and stores the progress with or after the last of them. Returns when
    /// all is durable. Repeating a call has no effect.
    ///
    /// # Errors
    /// See [`MonitorError`]. Some rows may have been taken; the progress is not stored.
    pub async fn feed(
        &self,
        rows: Vec<LedgerFeedRow>,
        manner: FeedMode,
        mut progress: LedgerProgress,
    ) -> Result<FeedReport, MonitorError> {
        let pipeline = &self.pipeline;
        pipeline.deps.restoring.wait_a_little().await;
        pipeline.readiness()?;
        let (mut report, mut rows) = (FeedReport::default(), rows);
        loop {
            let (mine, busy) = pipeline.enter(rows);
            let new = pipeline.sort_out(mine, &mut report, &mut progress).await?;
            report.n_taken += new.len();
            if busy.is_empty() {
                if manner == FeedMode::Judge && !pipeline.keep_letters(&mut progress).await? {
                    (report.is_full, progress.mark) = (true, None);
                }
                pipeline.take_in(new, manner, Some(progress)).await?;
                return Ok(report);
            }
            pipeline.take_in(new, manner, None).await?;
            rows = Vec::with_capacity(busy.len());
            for (row, other) in busy {
                // The row is processed again, whatever the result.
                other.wait().await.ok();
                rows.push(row);
            }
        }
    }
}

impl TransactionPipeline {
    /// Stores the dead letters before the mark that passes their rows. Returns whether all are kept.
    async fn keep_letters(&self, progress: &mut LedgerProgress) -> Result<bool, MonitorError> {
        let dead_letters = std::mem::take(&mut progress.dead_letters);
        if dead_letters.is_empty() {
            return Ok(true);
        }
        let letters = LedgerProgress { feed: Arc::clone(&progress.feed), mark: None, dead_letters };
        let commit = CommitRecord { ledger: vec![&letters], ..CommitRecord::default() };
        let store = &self.deps.store;
        store.commit(&commit).await.map_err(|error| unreadable(&error))?;
        for letter in &letters.dead_letters {
            if !store.keeps_dead_letter(&letter.digest).await.map_err(|error| unreadable(&error))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Splits rows into those that this call owns and those whose ids are busy.
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

    /// Completes the known rows and returns the new ones.
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
        let (mut all_statuses, mut noted, mut without_effect) = (Vec::new(), Vec::new(), Vec::new());
        for (row, pending_entry) in mine {
            let Some(known) = known.remove(&row.transaction.transaction_id) else {
                new.push((row, pending_entry));
                continue;
            };
            let accepted = accepted_of(&known)?;
            let reported = &row.transaction;
            // The columns of a database have all digits.
            let compared =
                compare_report(reported, &accepted, known.amount.as_ref(), self.amount_terms(true));
            if let Ok(amount) = compared {
                let change = ReportedChange {
                    status: reported.status.as_deref(),
                    changed: reported.changed(),
                    amount,
                };
                let outcome = self.outcome_of(&known, accepted, change).await?;
                let assessment: Arc<str> = known.assessment().unwrap_or_default().into();
                without_effect.extend(self.without_effect(known.record.sequence, &outcome, &EVENT.into()));
                let ReportOutcome { change, reported_statuses, .. } = outcome;
                if let Some(change) = change {
                    report.n_updated += 1;
                    updates.push(pending_entry.completion());
                    let waiting = CommitWaiter::of_feed(pending_entry, None);
                    self.update(change, reported_statuses, assessment, EVENT.into(), waiting);
                } else {
                    report.n_known += 1;
                    all_statuses.extend(reported_statuses.map(|statuses| (known.record.sequence, statuses)));
                    noted.push((pending_entry, assessment));
                }
            } else {
                report.n_differing += 1;
                progress.dead_letters.push(row.if_it_differs);
                pending_entry.settle(Ok(Arc::default())).ok();
            }
        }
        all_durable(updates).await?;
        let standings = all_statuses.iter().map(|(target, statuses)| (*target, statuses)).collect();
        let commit = CommitRecord { standings, without_effect: &without_effect, ..CommitRecord::default() };
        self.deps.store.commit(&commit).await.map_err(|error| unreadable(&error))?;
        for (pending_entry, assessment) in noted {
            pending_entry.settle(Ok(assessment)).ok();
        }
        Ok(new)
    }

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
                // Blocking, because it makes one insert per row and series.
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
            // INVARIANT: the last row carries the progress, and the store holds a prefix, so it is stored with or after
            // every row.
            let progress = if index == n_behind { progress.take() } else { None };
            let hash = hashes::to_record(&self.deps, &row.transaction);
            self.admit_unjudged(row.transaction, CommitWaiter::of_feed(pending_entry, hash), progress);
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
                let hash = hashes::to_record(&self.deps, &row.transaction);
                let waiting = CommitWaiter::of_feed(pending_entry, hash);
                let deadline = Instant::now() + elsewhere::PATIENCE;
                self.make_room(deadline).await;
                Arc::clone(self).admit(Arc::new(row.transaction), waiting, deadline).await;
            }
            all_durable(durable).await?;
        }
    }
}

/// Waits for all, even after a failure, so that nothing is under way when it returns. Returns the first error.
async fn all_durable(answers: Vec<Completion>) -> Result<(), MonitorError> {
    let mut outcome = Ok(());
    for answer in answers {
        outcome = outcome.and(answer.wait().await.map(drop));
    }
    outcome
}
