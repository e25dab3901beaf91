//! What a ledger feeds: transactions that happened, as history, in the order in which the ledger has them.
//!
//! Each has a number and is durable as everything else; nobody waits for a verdict on it, so it gets none unless that was
//! asked for. Ids that are known are recognised, and their status goes on. How far the ledger is read is kept in
//! the commit of the last row, never before.

use std::collections::HashMap;
use std::sync::Arc;

use tollgate_model::transaction::{Fingerprint, Transaction};
use tollgate_store::{CommitRecord, DeadLetter, LedgerProgress, TransactionRecord};

use crate::monitor::group::{Commit, Waiting};
use crate::monitor::pending::{Errand, Later, Ticket, Turn};
use crate::monitor::place::Place;
use crate::monitor::reported::{Heard, accepted_of};
use crate::monitor::{Monitor, MonitorError, River, unreadable};

/// The event of a status that a ledger's row brought.
const EVENT: &str = "ledger.row";
/// Rows evaluated at once where a verdict is asked for: few, because callers wait behind them.
const EVALUATED_AT_ONCE: usize = 16;

/// A row of a ledger.
#[derive(Debug)]
pub struct Fed {
    /// What it says.
    pub transaction: Transaction,
    /// Of what it says.
    pub fingerprint: Fingerprint,
    /// What is to be kept of it when its id is known as another transaction.
    pub if_it_differs: DeadLetter,
}

/// What is wanted of rows that are new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedManner {
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
type Mine = Vec<(Fed, Ticket)>;

impl Monitor {
    /// Takes rows of a ledger into the history, and notes the progress in the commit of the last of them, or behind it.
    /// Returns when all of that is durable. The same rows again change nothing.
    ///
    /// # Errors
    /// See [`MonitorError`]. Some rows may be taken then; the progress is not noted.
    pub async fn feed(
        &self,
        rows: Vec<Fed>,
        manner: FeedManner,
        mut progress: LedgerProgress,
    ) -> Result<FeedReport, MonitorError> {
        let river = &self.river;
        river.readiness()?;
        let (mut report, mut rows) = (FeedReport::default(), rows);
        loop {
            let (mine, busy) = river.enter(rows);
            let new = river.sort_out(mine, &mut report, &mut progress).await?;
            report.n_taken += new.len();
            if busy.is_empty() {
                river.take_in(new, manner, Some(progress)).await?;
                return Ok(report);
            }
            river.take_in(new, manner, None).await?;
            rows = Vec::with_capacity(busy.len());
            for (row, other) in busy {
                // Whatever it came to, this row is looked at again.
                other.wait().await.ok();
                rows.push(row);
            }
        }
    }
}

impl River {
    /// The rows whose ids nobody else is busy with, and the rest.
    fn enter(&self, rows: Vec<Fed>) -> (Mine, Vec<(Fed, Later)>) {
        let (mut mine, mut busy) = (Vec::with_capacity(rows.len()), Vec::new());
        for row in rows {
            match self.pending.enter(&row.transaction.transaction_id, Errand::Feed(row.fingerprint)) {
                Turn::First(ticket) => mine.push((row, ticket)),
                Turn::Same(other) | Turn::Other(other) => busy.push((row, other)),
            }
        }
        (mine, busy)
    }

    /// Brings those that are known to their end; the others are left.
    async fn sort_out(
        &self,
        mine: Mine,
        report: &mut FeedReport,
        progress: &mut LedgerProgress,
    ) -> Result<Mine, MonitorError> {
        let ids: Vec<_> = mine.iter().map(|(row, _)| Arc::clone(&row.transaction.transaction_id)).collect();
        let known = self.means.store.known(&ids).await.map_err(|error| unreadable(&error))?;
        let mut known: HashMap<_, _> =
            known.into_iter().map(|known| (Arc::clone(&known.record.transaction_id), known)).collect();
        let (mut new, mut updates) = (Vec::with_capacity(mine.len()), Vec::new());
        let (mut standings, mut noted) = (Vec::new(), Vec::new());
        for (row, ticket) in mine {
            let Some(known) = known.remove(&row.transaction.transaction_id) else {
                new.push((row, ticket));
                continue;
            };
            let accepted = accepted_of(&known)?;
            if accepted.disagreement_with(&row.transaction, self.means.amounts).is_some() {
                report.n_differing += 1;
                progress.dead_letters.push(row.if_it_differs);
                ticket.settle(Ok(Arc::default())).ok();
            } else {
                let told = &row.transaction;
                let Heard { change, standing } =
                    Heard::of(&known, accepted, told.status.as_deref(), told.changed());
                let assessment: Arc<str> = known.assessment().unwrap_or_default().into();
                if let Some(change) = change {
                    report.n_updated += 1;
                    updates.push(ticket.answer());
                    let waiting = Waiting { ticket, _taken_on: None };
                    self.update(change, standing, assessment, EVENT.into(), waiting);
                } else {
                    report.n_known += 1;
                    standings.extend(standing.map(|standing| (known.record.sequence, standing)));
                    noted.push((ticket, assessment));
                }
            }
        }
        all_durable(updates).await?;
        let commit = CommitRecord { standings: &standings, ..CommitRecord::default() };
        self.means.store.commit(&commit).await.map_err(|error| unreadable(&error))?;
        for (ticket, assessment) in noted {
            ticket.settle(Ok(assessment)).ok();
        }
        Ok(new)
    }

    /// Takes new ones in, and notes the progress.
    async fn take_in(
        self: &Arc<Self>,
        new: Mine,
        manner: FeedManner,
        progress: Option<LedgerProgress>,
    ) -> Result<(), MonitorError> {
        let noted_alone = match manner {
            FeedManner::History if !new.is_empty() => {
                let durable = new.iter().map(|(_, ticket)| ticket.answer()).collect();
                let river = Arc::clone(self);
                // As many inserts as there are rows and series.
                let admitting = tokio::task::spawn_blocking(move || river.admit_fed(new, progress));
                admitting.await.map_err(|_| MonitorError::Unavailable)?;
                return all_durable(durable).await;
            }
            FeedManner::History => progress,
            FeedManner::Judge => {
                self.judge_fed(new).await?;
                progress
            }
        };
        let Some(progress) = noted_alone else { return Ok(()) };
        let commit = CommitRecord { ledger: &[progress], ..CommitRecord::default() };
        self.means.store.commit(&commit).await.map_err(|error| unreadable(&error))
    }

    fn admit_fed(&self, new: Mine, mut progress: Option<LedgerProgress>) {
        let n_behind = new.len().saturating_sub(1);
        for (index, (row, ticket)) in new.into_iter().enumerate() {
            let Fed { mut transaction, fingerprint, .. } = row;
            let (place, transaction, arrival) = self.means.history.admit_as(|sequence| {
                let place = Place::new(sequence, self.committer.clone());
                let arrival = self.arrivals.stamp(&mut transaction, self.means.clock.now());
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
            place.fill(Commit::Fed { record, progress, ticket });
        }
    }

    async fn judge_fed(self: &Arc<Self>, new: Mine) -> Result<(), MonitorError> {
        let mut new = new.into_iter();
        loop {
            let some: Vec<_> = new.by_ref().take(EVALUATED_AT_ONCE).collect();
            if some.is_empty() {
                return Ok(());
            }
            let durable = some.iter().map(|(_, ticket)| ticket.answer()).collect();
            for (row, ticket) in some {
                let waiting = Waiting { ticket, _taken_on: None };
                Arc::clone(self).admit(Arc::new(row.transaction), waiting).await;
            }
            all_durable(durable).await?;
        }
    }
}

/// Waits for all, also when one of them went wrong: nothing is under way any more when who fed them hears of it. Whether each went
/// well, or what came of the first that did not.
async fn all_durable(answers: Vec<Later>) -> Result<(), MonitorError> {
    let mut outcome = Ok(());
    for answer in answers {
        outcome = outcome.and(answer.wait().await.map(drop));
    }
    outcome
}
