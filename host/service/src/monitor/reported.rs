//! What a ledger reports: a transaction nobody knows is judged, the status of a known one goes on.

use std::sync::Arc;

use tollgate_history::StatusChange;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{ReportedStatus, Transaction, TransactionReport};
use tollgate_store::{CommitRecord, CurrentRecord, StatusUpdateRecord};

use crate::monitor::group::CommitWaiter;
use crate::monitor::updater::Update;
use crate::monitor::{MonitorError, TransactionPipeline, unreadable, with_update};
use crate::telemetry::logs::ErrorChain;

/// The outcome of news about the status of a known transaction.
#[derive(Debug)]
pub(super) struct ReportOutcome {
    /// `None` where the status that stands is the one that stood.
    pub(super) change: Option<StatusChange>,
    /// Everything told of the status by now, where that is more than before and has to be kept.
    pub(super) standing: Option<ReportedStatus>,
}

impl TransactionPipeline {
    /// Brings one report, the only business of its id at this moment, to its end.
    pub(super) async fn carry_report(
        self: Arc<Self>,
        report: TransactionReport,
        event: Arc<str>,
        waiting: CommitWaiter,
    ) {
        match self.deps.store.current(&report.transaction().transaction_id).await {
            Ok(None) => self.carry_new(Arc::new(report.into_transaction()), waiting).await,
            Ok(Some(known)) if known.assessment().is_none() => {
                self.carry_unjudged(known, Arc::new(report.into_transaction()), event, waiting).await;
            }
            Ok(Some(known)) => {
                let heard = self.hear(&known, &report).await;
                self.carry_heard(&known, heard, event, waiting).await;
            }
            Err(error) => {
                tracing::error!(error = %ErrorChain(&error), "the store cannot be asked for a transaction");
                waiting.refuse();
            }
        }
    }

    /// Brings a status alone, the only business of its id at this moment, to its end.
    pub(super) async fn carry_status(
        self: Arc<Self>,
        status: Arc<str>,
        event: Arc<str>,
        waiting: CommitWaiter,
    ) {
        match self.deps.store.current(waiting.pending_entry.id()).await {
            Ok(Some(known)) => {
                let heard = accepted_of(&known)
                    .map(|accepted| ReportOutcome::of(&known, accepted, Some(&status), None));
                self.carry_heard(&known, heard, event, waiting).await;
            }
            Ok(None) => {
                tracing::error!(transaction.id = %waiting.pending_entry.id(), "a ledger moves a payment that is not stored");
                waiting.refuse();
            }
            Err(error) => {
                tracing::error!(error = %ErrorChain(&error), "the store cannot be asked for a transaction");
                waiting.refuse();
            }
        }
    }

    /// Brings what was heard of a known transaction to its end.
    async fn carry_heard(
        &self,
        known: &CurrentRecord,
        heard: Result<ReportOutcome, MonitorError>,
        event: Arc<str>,
        waiting: CommitWaiter,
    ) {
        let assessment: Arc<str> = known.assessment().unwrap_or_default().into();
        let answer = match heard {
            Ok(ReportOutcome { change: Some(change), standing }) => match self.readiness() {
                Ok(()) => return self.update(change, standing, assessment, event, waiting),
                Err(error) => Err(error),
            },
            Ok(ReportOutcome { change: None, standing }) => {
                self.deps.metrics.status_unchanged();
                self.keep_standing(known, standing).await.map(|()| assessment)
            }
            Err(error) => Err(error),
        };
        waiting.pending_entry.settle(answer).ok();
    }

    /// Keeps what was told of a status that stands as it stood.
    pub(super) async fn keep_standing(
        &self,
        known: &CurrentRecord,
        standing: Option<ReportedStatus>,
    ) -> Result<(), MonitorError> {
        let Some(standing) = standing else { return Ok(()) };
        let standings = vec![(known.record.sequence, &standing)];
        let commit = CommitRecord { standings, ..CommitRecord::default() };
        self.deps.store.commit(&commit).await.map_err(|error| unreadable(&error))
    }

    /// Compares a report with a known transaction. Only what is moved has to be the same.
    async fn hear(
        &self,
        known: &CurrentRecord,
        report: &TransactionReport,
    ) -> Result<ReportOutcome, MonitorError> {
        let first = Transaction::from_stored(known.body()).map_err(|error| unreadable(&error))?;
        if let Some(field) = report.transaction().disagreement_with(&first, self.deps.amounts) {
            return Err(MonitorError::Conflict(field.into()));
        }
        if !report.is_of(first.status.as_deref(), known.fingerprint()) {
            self.describe(&known.record.transaction_id, report.transaction()).await?;
        }
        let told = report.transaction();
        // A late verdict may have been asked for in other words than the transaction was accepted in.
        let accepted = if known.late.is_none() { first } else { accepted_of(known)? };
        Ok(ReportOutcome::of(known, accepted, told.status.as_deref(), told.changed()))
    }

    /// Keeps what is told of a known transaction in other words than before.
    async fn describe(&self, id: &str, told: &Transaction) -> Result<(), MonitorError> {
        let (store, body) = (&self.deps.store, told.to_wire());
        let kept = store.later_description(id).await.map_err(|error| unreadable(&error))?;
        if kept.as_deref() == Some(&*body) {
            return Ok(());
        }
        let descriptions = [(id.into(), body.into())];
        let commit = CommitRecord { descriptions: &descriptions, ..CommitRecord::default() };
        store.commit(&commit).await.map_err(|error| unreadable(&error))
    }

    /// Lets a change take its effect; who waits hears this answer when it is durable.
    pub(super) fn update(
        &self,
        change: StatusChange,
        standing: Option<ReportedStatus>,
        assessment: Arc<str>,
        event: Arc<str>,
        waiting: CommitWaiter,
    ) {
        let record = StatusUpdateRecord {
            sequence: Sequence::default(),
            target: change.target,
            before: change.before.status.clone(),
            after: change.after.status.clone().unwrap_or_default(),
            event,
            accepted_micros: self.deps.clock.now().timestamp_micros(),
        };
        // An updater that is gone has nobody to answer: the ticket tells them when it is dropped.
        drop(self.updater.send(Update { change, record, standing, assessment, waiting }));
    }
}

impl ReportOutcome {
    /// When this status is told of a known transaction, here as it was accepted, which changed then, if that is told as well.
    pub(super) fn of(
        known: &CurrentRecord,
        accepted: Transaction,
        status: Option<&str>,
        changed: Option<i64>,
    ) -> Self {
        let stood = standing_of(known, &accepted);
        let before = with_update(accepted, known.status.as_deref());
        let standing = stood.with(status, changed);
        let after = standing.status();
        let is_new = after != before.status.as_deref();
        let change = is_new.then(|| {
            let after = before.with_status(after);
            StatusChange { target: known.record.sequence, before, after }
        });
        let is_more = standing != stood && standing.latest.is_some();
        Self { change, standing: is_more.then_some(standing) }
    }
}

/// A known transaction as it was accepted.
pub(super) fn accepted_of(known: &CurrentRecord) -> Result<Transaction, MonitorError> {
    Transaction::from_stored(&known.record.body).map_err(|error| unreadable(&error))
}

/// What was told so far of the status of a known transaction.
fn standing_of(known: &CurrentRecord, accepted: &Transaction) -> ReportedStatus {
    match (&known.standing, &known.status) {
        (Some(standing), _) => standing.clone(),
        (None, Some(status)) => ReportedStatus::default().with(Some(status), None),
        (None, None) => ReportedStatus::of(accepted),
    }
}
