//! What becomes durable together: transactions with their answers, and status updates.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tollgate_guest_abi::Verdict;

use crate::alert::Alert;
use crate::assessment::{Assessment, RuleFailure};
use crate::monitor::MonitorError;
use crate::monitor::pending::Ticket;
use crate::sequence::Sequence;
use crate::store::{AlertRecord, StatusUpdateRecord, TransactionRecord};
use crate::telemetry::metrics::{InFlight, Metrics};

/// A judged transaction, or an update that took effect, that waits to become durable.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) kept: Kept,
    pub(super) waiting: Waiting,
}

/// What is kept.
#[derive(Debug)]
pub(super) enum Kept {
    /// A transaction with its answer, and what others should hear of it.
    Judged(TransactionRecord, Counted, Option<Arc<Alert>>),
    /// An update of a transaction that got this answer.
    Updated(StatusUpdateRecord, Arc<str>),
}

/// Who waits for it.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) ticket: Ticket,
    /// Bounds what is under way, until the answer is given.
    pub(super) _permit: OwnedSemaphorePermit,
    pub(super) _counted: InFlight,
}

/// What the metrics hear of a transaction, once it is durable.
#[derive(Debug)]
pub(super) struct Counted {
    verdict: Verdict,
    failures: Vec<RuleFailure>,
    evaluation_time: Duration,
}

/// Commits with consecutive numbers.
#[derive(Debug, Default)]
pub(super) struct Group {
    span: Option<(Sequence, Sequence)>,
    pub(super) transactions: Vec<TransactionRecord>,
    judged: Vec<(Counted, Waiting)>,
    /// About some of the transactions: the place of each among them.
    alerts: Vec<(usize, Arc<Alert>)>,
    pub(super) updates: Vec<StatusUpdateRecord>,
    updated: Vec<(Arc<str>, Waiting)>,
}

impl Commit {
    pub(super) const fn sequence(&self) -> Sequence {
        match &self.kept {
            Kept::Judged(record, ..) => record.sequence,
            Kept::Updated(record, _) => record.sequence,
        }
    }
}

impl Waiting {
    /// Tells them to try again.
    pub(super) fn refuse(self) {
        self.ticket.settle(Err(MonitorError::Unavailable)).ok();
    }
}

impl Counted {
    pub(super) fn of(assessment: &Assessment, evaluation_time: Duration) -> Self {
        let failures = assessment.failures.iter().map(|failed| failed.failure).collect();
        Self { verdict: assessment.verdict, failures, evaluation_time }
    }
}

impl Group {
    /// Adds the one with the next number.
    pub(super) fn push(&mut self, commit: Commit) {
        let sequence = commit.sequence();
        self.span = Some((self.span.map_or(sequence, |(first, _)| first), sequence));
        match commit.kept {
            Kept::Judged(record, counted, alert) => {
                self.alerts.extend(alert.map(|alert| (self.transactions.len(), alert)));
                self.transactions.push(record);
                self.judged.push((counted, commit.waiting));
            }
            Kept::Updated(record, assessment) => {
                self.updates.push(record);
                self.updated.push((assessment, commit.waiting));
            }
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.transactions.len() + self.updates.len()
    }

    /// The first and the last number; `None` of an empty one.
    pub(super) const fn span(&self) -> Option<(Sequence, Sequence)> {
        self.span
    }

    /// What is kept of its alerts until somebody has taken them.
    pub(super) fn outbox(&self) -> Vec<AlertRecord> {
        let record = |(place, alert): &(usize, Arc<Alert>)| {
            let transaction = self.transactions.get(*place)?;
            Some(AlertRecord {
                sequence: transaction.sequence,
                id: alert.id.clone(),
                transaction_id: Arc::clone(&alert.transaction_id),
                payload: Arc::clone(&alert.payload),
                created_micros: transaction.accepted_micros,
            })
        };
        self.alerts.iter().filter_map(record).collect()
    }

    /// It is durable: counts it, and answers everybody. Gives back what others should hear of.
    pub(super) fn answer(self, metrics: &Metrics) -> Vec<Arc<Alert>> {
        for (record, (counted, waiting)) in self.transactions.into_iter().zip(self.judged) {
            metrics.judged(counted.verdict, counted.evaluation_time);
            counted.failures.iter().for_each(|&failure| metrics.rule_failed(failure));
            log_verdict(&record);
            waiting.ticket.settle(Ok(record.assessment.into())).ok();
        }
        for (record, (assessment, waiting)) in self.updates.into_iter().zip(self.updated) {
            metrics.status_updated();
            log_update(&record);
            waiting.ticket.settle(Ok(assessment)).ok();
        }
        self.alerts.into_iter().map(|(_, alert)| alert).collect()
    }

    /// It is not durable: tells everybody to try again.
    pub(super) fn refuse(self) {
        let judged = self.judged.into_iter().map(|(_, waiting)| waiting);
        let updated = self.updated.into_iter().map(|(_, waiting)| waiting);
        judged.chain(updated).for_each(Waiting::refuse);
    }
}

/// Verdicts are logged locally, whoever else hears of them: the canonical answer, without the transaction's fields.
fn log_verdict(record: &TransactionRecord) {
    tracing::debug!(
        transaction.id = %record.transaction_id,
        sequence = record.sequence.0,
        assessment = %record.assessment,
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
