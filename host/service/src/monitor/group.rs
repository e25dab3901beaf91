//! What becomes durable together: transactions with their answers or without, status updates, late answers.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tollgate_guest_abi::Verdict;
use tollgate_model::alert::Alert;
use tollgate_model::assessment::{Assessment, RuleFailure};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::ReportedStatus;
use tollgate_store::{
    AlertRecord, CommitRecord, DeferredVerdictRecord, LedgerProgress, StatusUpdateRecord, TransactionRecord,
};

use crate::monitor::pending::PendingEntry;
use crate::monitor::{MonitorAnswer, MonitorError};
use crate::telemetry::metrics::{InFlight, Metrics};

/// Something with a number that waits to become durable, and who waits for it.
#[derive(Debug)]
pub(super) enum Commit {
    /// A transaction with its answer.
    Judged {
        record: TransactionRecord,
        counted: CommittedCounts,
        announcement: Option<Announcement>,
        waiting: CommitWaiter,
    },
    /// An update, which took effect, of a transaction that got this answer.
    Updated {
        record: StatusUpdateRecord,
        standing: Option<ReportedStatus>,
        assessment: Arc<str>,
        waiting: CommitWaiter,
    },
    /// The answer to a transaction that a ledger fed before.
    Late {
        record: DeferredVerdictRecord,
        counted: CommittedCounts,
        announcement: Option<Announcement>,
        told: oneshot::Sender<MonitorAnswer>,
    },
    /// A transaction that a ledger fed, and what is known of that ledger from then on.
    Fed { record: TransactionRecord, progress: Option<LedgerProgress>, pending_entry: PendingEntry },
}

/// What others should hear of a verdict.
#[derive(Debug)]
pub(super) struct Announcement {
    pub(super) alert: Arc<Alert>,
    /// When the verdict was given, in microseconds since 1970 UTC: by the clock, which arrivals may be ahead of.
    pub(super) micros: i64,
}

/// Who waits for it.
#[derive(Debug)]
pub(super) struct CommitWaiter {
    pub(super) pending_entry: PendingEntry,
    /// Nothing for what a ledger feeds, which bounds itself.
    pub(super) _in_flight: Option<InFlightPermit>,
}

/// Bounds what is under way, until the answer is given.
#[derive(Debug)]
pub(super) struct InFlightPermit {
    pub(super) _permit: OwnedSemaphorePermit,
    pub(super) _counted: InFlight,
}

/// What the metrics hear of a transaction, once it is durable.
#[derive(Debug)]
pub(super) struct CommittedCounts {
    verdict: Verdict,
    failures: Vec<RuleFailure>,
    evaluation_time: Duration,
}

/// Who waits for a new transaction.
#[derive(Debug)]
enum Caller {
    Judged(CommittedCounts, CommitWaiter),
    Fed(PendingEntry),
}

/// Commits with consecutive numbers.
#[derive(Debug, Default)]
pub(super) struct CommitGroup {
    span: Option<(Sequence, Sequence)>,
    transactions: Vec<TransactionRecord>,
    callers: Vec<Caller>,
    updates: Vec<StatusUpdateRecord>,
    standings: Vec<(Sequence, ReportedStatus)>,
    updated: Vec<(Arc<str>, CommitWaiter)>,
    deferred_verdicts: Vec<DeferredVerdictRecord>,
    late: Vec<(CommittedCounts, oneshot::Sender<MonitorAnswer>)>,
    ledger: Vec<LedgerProgress>,
    outbox: Vec<AlertRecord>,
    alerts: Vec<Arc<Alert>>,
}

impl Commit {
    pub(super) const fn sequence(&self) -> Sequence {
        match self {
            Commit::Judged { record, .. } | Commit::Fed { record, .. } => record.sequence,
            Commit::Updated { record, .. } => record.sequence,
            Commit::Late { record, .. } => record.sequence,
        }
    }

    /// Tells whoever waits to try again.
    pub(super) fn refuse(self) {
        let refused = Err(MonitorError::Unavailable);
        match self {
            Commit::Judged { waiting, .. } | Commit::Updated { waiting, .. } => waiting.refuse(),
            Commit::Late { told, .. } => drop(told.send(refused)),
            Commit::Fed { pending_entry, .. } => drop(pending_entry.settle(refused)),
        }
    }
}

impl CommitWaiter {
    /// Tells them to try again.
    pub(super) fn refuse(self) {
        self.pending_entry.settle(Err(MonitorError::Unavailable)).ok();
    }
}

impl CommittedCounts {
    pub(super) fn of(assessment: &Assessment, evaluation_time: Duration) -> Self {
        let failures = assessment.failures.iter().map(|failed| failed.failure).collect();
        Self { verdict: assessment.verdict, failures, evaluation_time }
    }

    fn count(&self, metrics: &Metrics) {
        metrics.judged(self.verdict, self.evaluation_time);
        self.failures.iter().for_each(|&failure| metrics.rule_failed(failure));
    }
}

impl CommitGroup {
    /// Adds the one with the next number.
    pub(super) fn push(&mut self, commit: Commit) {
        let sequence = commit.sequence();
        self.span = Some((self.span.map_or(sequence, |(first, _)| first), sequence));
        match commit {
            Commit::Judged { record, counted, announcement, waiting } => {
                self.hear(sequence, announcement);
                self.transactions.push(record);
                self.callers.push(Caller::Judged(counted, waiting));
            }
            Commit::Fed { record, progress, pending_entry } => {
                self.transactions.push(record);
                self.callers.push(Caller::Fed(pending_entry));
                self.ledger.extend(progress);
            }
            Commit::Updated { record, standing, assessment, waiting } => {
                self.standings.extend(standing.map(|standing| (record.target, standing)));
                self.updates.push(record);
                self.updated.push((assessment, waiting));
            }
            Commit::Late { record, counted, announcement, told } => {
                self.hear(sequence, announcement);
                self.deferred_verdicts.push(record);
                self.late.push((counted, told));
            }
        }
    }

    fn hear(&mut self, sequence: Sequence, announcement: Option<Announcement>) {
        let Some(Announcement { alert, micros }) = announcement else { return };
        self.outbox.push(AlertRecord {
            sequence,
            id: alert.id.clone(),
            transaction_id: Arc::clone(&alert.transaction_id),
            payload: Arc::clone(&alert.payload),
            created_micros: micros,
        });
        self.alerts.push(alert);
    }

    pub(super) const fn len(&self) -> usize {
        self.transactions.len() + self.updates.len() + self.deferred_verdicts.len()
    }

    /// The first and the last number; `None` of an empty one.
    pub(super) const fn span(&self) -> Option<(Sequence, Sequence)> {
        self.span
    }

    /// What is to be kept of it, alerts for webhooks too if there are any.
    pub(super) fn record(&self, keeps_alerts: bool) -> CommitRecord<'_> {
        CommitRecord {
            alerts: if keeps_alerts { &self.outbox } else { &[] },
            transactions: &self.transactions,
            updates: &self.updates,
            standings: &self.standings,
            deferred_verdicts: &self.deferred_verdicts,
            ledger: &self.ledger,
            ..CommitRecord::default()
        }
    }

    /// It is durable: counts it, and answers everybody. Gives back what others should hear of.
    pub(super) fn answer(self, metrics: &Metrics) -> Vec<Arc<Alert>> {
        for (record, caller) in self.transactions.into_iter().zip(self.callers) {
            match caller {
                Caller::Judged(counted, waiting) => {
                    counted.count(metrics);
                    let assessment: Arc<str> = record.assessment.unwrap_or_default().into();
                    log_verdict(&record.transaction_id, record.sequence, &assessment);
                    waiting.pending_entry.settle(Ok(assessment)).ok();
                }
                Caller::Fed(pending_entry) => drop(pending_entry.settle(Ok(Arc::default()))),
            }
        }
        for (record, (assessment, waiting)) in self.updates.into_iter().zip(self.updated) {
            metrics.status_updated();
            log_update(&record);
            waiting.pending_entry.settle(Ok(assessment)).ok();
        }
        for (record, (counted, told)) in self.deferred_verdicts.into_iter().zip(self.late) {
            counted.count(metrics);
            let assessment: Arc<str> = record.verdict.assessment.into();
            log_verdict(&record.target, record.sequence, &assessment);
            // Who asked may be gone; the verdict stands.
            drop(told.send(Ok(assessment)));
        }
        self.alerts
    }

    /// It is not durable: tells everybody to try again.
    pub(super) fn refuse(self) {
        for caller in self.callers {
            match caller {
                Caller::Judged(_, waiting) => waiting.refuse(),
                Caller::Fed(pending_entry) => drop(pending_entry.settle(Err(MonitorError::Unavailable))),
            }
        }
        self.updated.into_iter().for_each(|(_, waiting)| waiting.refuse());
        for (_, told) in self.late {
            drop(told.send(Err(MonitorError::Unavailable)));
        }
    }
}

/// Verdicts are logged locally, whoever else hears of them: the canonical answer, without the transaction's fields.
fn log_verdict(transaction: &dyn std::fmt::Display, sequence: Sequence, assessment: &str) {
    tracing::debug!(
        transaction.id = %transaction,
        sequence = sequence.0,
        assessment = %assessment,
        "transaction judged"
    );
}

fn log_update(record: &StatusUpdateRecord) {
    tracing::debug!(
        sequence = record.sequence.0,
        transaction.sequence = record.target.0,
        status = %record.after,
        "status updated"
    );
}
