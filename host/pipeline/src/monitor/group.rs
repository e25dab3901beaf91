//! Commits and groups of commits.
//!
//! ```text
//!  evaluation ──▶ Commit { record, announcement, completion } ──▶ Vec<Commit> ──store──▶ durable ──▶ complete
//!                                                                     └───────── not stored ──▶ refuse
//! ```
//!
//! A commit keeps its record and one completion until the store has written the group that it is part of.

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

use crate::monitor::hashes::HashClaim;
use crate::monitor::pending::PendingEntry;
use crate::monitor::turns::Turn;
use crate::monitor::{MonitorAnswer, MonitorError};
use tollgate_telemetry::metrics::{InFlight, Metrics};
use tollgate_telemetry::request_ids::RequestIds;
use tollgate_telemetry::traces::{PartSpan, RequestSpan};

/// A record with a sequence number that waits to become durable.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) record: NumberedRecord,
    /// The alert of a verdict, if it has one.
    pub(super) announcement: Option<Announcement>,
    pub(super) completion: CommitCompletion,
}

/// The record that the store writes for one sequence number.
#[derive(Debug)]
pub(super) enum NumberedRecord {
    /// A transaction, judged or not, and how far a ledger has been read with it.
    Transaction(TransactionRecord, Option<LedgerProgress>),
    /// A status update that is in effect, and all statuses reported for its transaction, if they must be stored.
    Update(StatusUpdateRecord, Option<ReportedStatus>),
    /// The verdict on a transaction that was stored without one.
    Deferred(DeferredVerdictRecord),
}

/// The caller of a commit and its answer, given once the record is durable or could not be stored.
#[derive(Debug)]
pub(super) struct CommitCompletion {
    pub(super) caller: Caller,
    /// The canonical assessment of the transaction; empty if it has none.
    pub(super) answer: Arc<str>,
    /// The figures of the evaluation; `None` for a record without a new verdict.
    pub(super) evaluation: Option<EvaluationFigures>,
}

/// The recipient of the answer.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are of the large variant")]
pub(super) enum Caller {
    /// Every caller that waits for this transaction id.
    Waiting(CommitWaiter),
    /// The task that asked for a deferred verdict.
    Task(oneshot::Sender<MonitorAnswer>),
}

/// The alert of a verdict, to be sent once the verdict is durable.
#[derive(Debug)]
pub(super) struct Announcement {
    pub(super) alert: Arc<Alert>,
    /// When the verdict was given, in microseconds since 1970 UTC: by the clock, which arrivals may be ahead of.
    pub(super) micros: i64,
}

/// The entry to settle, and the permit to release with it.
#[derive(Debug)]
pub(super) struct CommitWaiter {
    pub(super) pending_entry: PendingEntry,
    /// The claim of its hash, if it has one that counts.
    pub(super) hash: Option<HashClaim>,
    /// `None` for rows that a ledger feeds, which bounds itself, and for those of a group.
    pub(super) _in_flight: Option<TransactionInFlight>,
    /// The permits of a group of past transactions, held until all have their answers; `None` for others.
    pub(super) _group: Option<Arc<TransactionInFlight>>,
    /// Its turn to get a number; `None` if it is not part of a batch, and once it has its number.
    pub(super) turn: Option<Turn>,
    /// The span of the request, if it has one.
    pub(super) span: Option<RequestSpan>,
    /// The span of the commit, since it began.
    pub(super) commit: Option<PartSpan>,
}

/// The permits and the count of a transaction in flight; held until the answer is given.
#[derive(Debug)]
pub(super) struct TransactionInFlight {
    pub(super) _permits: InFlightPermits,
    pub(super) _counted: InFlight,
}

/// Bounds the number of transactions in flight.
#[derive(Debug)]
pub(super) struct InFlightPermits {
    pub(super) _in_flight: OwnedSemaphorePermit,
    /// Bounds those of batches; `None` for others.
    pub(super) _of_batches: Option<OwnedSemaphorePermit>,
}

/// The figures of an evaluation, counted once its verdict is durable.
#[derive(Debug)]
pub(super) struct EvaluationFigures {
    verdict: Verdict,
    failures: Vec<RuleFailure>,
    duration: Duration,
}

impl NumberedRecord {
    const fn sequence(&self) -> Sequence {
        match self {
            Self::Transaction(record, _) => record.sequence,
            Self::Update(record, _) => record.sequence,
            Self::Deferred(record) => record.sequence,
        }
    }

    /// Returns the number of the transaction that it is about.
    const fn transaction(&self) -> Sequence {
        match self {
            Self::Transaction(record, _) => record.sequence,
            Self::Update(record, _) => record.target,
            Self::Deferred(record) => record.target,
        }
    }
}

impl Commit {
    pub(super) const fn sequence(&self) -> Sequence {
        self.record.sequence()
    }

    /// Answers the caller that the record was not stored.
    pub(super) fn refuse(self) {
        self.completion.caller.settle(Err(MonitorError::Unavailable));
    }

    /// Counts, logs and answers a durable commit. Returns its alert.
    fn complete(self, metrics: &Metrics) -> Option<Arc<Alert>> {
        let sequence = self.record.transaction();
        let CommitCompletion { caller, answer, evaluation } = self.completion;
        if let Some(evaluation) = evaluation {
            evaluation.count(metrics, sequence);
        }
        match &self.record {
            NumberedRecord::Transaction(record, _) if record.assessment.is_some() => {
                log_verdict(&record.transaction_id, record.sequence, &answer);
            }
            NumberedRecord::Transaction(..) => {}
            NumberedRecord::Update(record, _) => {
                metrics.status_updated();
                log_update(record);
            }
            NumberedRecord::Deferred(record) => log_verdict(&record.target, record.sequence, &answer),
        }
        caller.settle(Ok(answer));
        self.announcement.map(|announcement| announcement.alert)
    }

    fn alert_record(&self) -> Option<AlertRecord> {
        let Announcement { alert, micros } = self.announcement.as_ref()?;
        Some(AlertRecord {
            sequence: self.sequence(),
            id: alert.id.clone(),
            transaction_id: Arc::clone(&alert.transaction_id),
            payload: Arc::clone(&alert.payload),
            created_micros: *micros,
        })
    }
}

impl Caller {
    fn settle(self, answer: MonitorAnswer) {
        match self {
            Self::Waiting(waiting) => {
                if let (Some(hash), Ok(_)) = (waiting.hash, &answer) {
                    hash.keep();
                }
                // Its span ends before that of the request, which the answer ends.
                drop(waiting.commit);
                drop(waiting.pending_entry.settle(answer));
            }
            // The task may have ended; the verdict is kept all the same.
            Self::Task(task) => drop(task.send(answer)),
        }
    }
}

impl CommitWaiter {
    /// Creates one for the request that the current task serves.
    pub(super) fn of_request(
        pending_entry: PendingEntry,
        in_flight: TransactionInFlight,
        turn: Option<Turn>,
    ) -> Self {
        let span = RequestIds::current_span();
        Self {
            pending_entry,
            hash: None,
            _in_flight: Some(in_flight),
            _group: None,
            turn,
            span,
            commit: None,
        }
    }

    /// Creates one for a row that a ledger feeds.
    pub(super) const fn of_feed(pending_entry: PendingEntry, hash: Option<HashClaim>) -> Self {
        Self { pending_entry, hash, _in_flight: None, _group: None, turn: None, span: None, commit: None }
    }

    /// Creates one for a past transaction, which is part of a group.
    pub(super) fn of_past(pending_entry: PendingEntry, group: Arc<TransactionInFlight>) -> Self {
        Self { _group: Some(group), ..Self::of_feed(pending_entry, None) }
    }

    /// Records in the trace that the evaluation, which took this long, has ended and the commit begins.
    pub(super) fn evaluated(&mut self, duration: Duration) {
        if let Some(span) = &self.span {
            span.record("evaluate rules", duration);
            self.commit = Some(span.part("commit"));
        }
    }

    /// Answers every caller that the transaction was not stored.
    pub(super) fn refuse(self) {
        self.pending_entry.settle(Err(MonitorError::Unavailable)).ok();
    }
}

impl EvaluationFigures {
    pub(super) fn new(assessment: &Assessment, duration: Duration) -> Self {
        let failures = assessment.failures.iter().map(|failed| failed.failure).collect();
        Self { verdict: assessment.verdict, failures, duration }
    }

    fn count(&self, metrics: &Metrics, transaction: Sequence) {
        metrics.judged(self.verdict, self.duration);
        if self.verdict != Verdict::Approve {
            metrics.flagged(transaction);
        }
        self.failures.iter().for_each(|&failure| metrics.rule_failed(failure));
    }
}

/// Collects the records that the store writes for a group, with the alerts for webhooks if `keeps_alerts`.
pub(super) fn record_of(group: &[Commit], keeps_alerts: bool) -> CommitRecord<'_> {
    let mut written = CommitRecord::default();
    for commit in group {
        match &commit.record {
            NumberedRecord::Transaction(record, progress) => {
                written.transactions.push(record);
                written.ledger.extend(progress);
            }
            NumberedRecord::Update(record, reported_statuses) => {
                written.updates.push(record);
                written
                    .standings
                    .extend(reported_statuses.as_ref().map(|statuses| (record.target, statuses)));
            }
            NumberedRecord::Deferred(record) => written.deferred_verdicts.push(record),
        }
        written.alerts.extend(commit.alert_record().filter(|_| keeps_alerts));
    }
    written
}

/// Completes every commit of a durable group. Returns their alerts.
pub(super) fn complete(group: Vec<Commit>, metrics: &Metrics) -> Vec<Arc<Alert>> {
    group.into_iter().filter_map(|commit| commit.complete(metrics)).collect()
}

/// Logs a verdict locally, with or without a webhook: the canonical assessment, without the fields of the transaction.
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
