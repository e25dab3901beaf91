//! What a ledger reports: a transaction nobody knows is judged, the status of a known one goes on.

use std::sync::Arc;

use crate::history::Change;
use crate::monitor::group::Waiting;
use crate::monitor::updater::Update;
use crate::monitor::{MonitorError, River, unreadable, with_update};
use crate::planted::{self, Bug};
use crate::sequence::Sequence;
use crate::store::{CommitRecord, CurrentRecord, StatusUpdateRecord};
use crate::telemetry::logs::Causes;
use crate::transaction::{Report, Transaction, further};

impl River {
    /// Brings one report, the only business of its id at this moment, to its end.
    pub(super) async fn carry_report(self: Arc<Self>, report: Report, event: Arc<str>, waiting: Waiting) {
        match self.means.store.current(&report.transaction().transaction_id).await {
            Ok(None) => self.carry_new(Arc::new(report.into_transaction()), waiting).await,
            Ok(Some(known)) if known.assessment().is_none() => {
                self.carry_unjudged(known, Arc::new(report.into_transaction()), event, waiting).await;
            }
            Ok(Some(known)) => {
                let change = self.change(&known, &report).await;
                self.carry_change(&known, change, event, waiting);
            }
            Err(error) => {
                tracing::error!(error = %Causes(&error), "the store cannot be asked for a transaction");
                waiting.refuse();
            }
        }
    }

    /// Brings a status alone, the only business of its id at this moment, to its end.
    pub(super) async fn carry_status(self: Arc<Self>, status: Arc<str>, event: Arc<str>, waiting: Waiting) {
        match self.means.store.current(waiting.ticket.id()).await {
            Ok(Some(known)) => {
                let change = further_change(&known, Some(&status));
                self.carry_change(&known, change, event, waiting);
            }
            Ok(None) => {
                tracing::error!(transaction.id = %waiting.ticket.id(), "a ledger moves a payment that is not stored");
                waiting.refuse();
            }
            Err(error) => {
                tracing::error!(error = %Causes(&error), "the store cannot be asked for a transaction");
                waiting.refuse();
            }
        }
    }

    /// Brings a change of a known transaction to its end; `None`: there is nothing to change.
    fn carry_change(
        &self,
        known: &CurrentRecord,
        change: Result<Option<Change>, MonitorError>,
        event: Arc<str>,
        waiting: Waiting,
    ) {
        let assessment: Arc<str> = known.assessment().unwrap_or_default().into();
        let answer = match change {
            Ok(None) => {
                self.means.metrics.status_unchanged();
                Ok(assessment)
            }
            Ok(Some(change)) => match self.readiness() {
                Ok(()) => return self.update(change, assessment, event, waiting),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        waiting.ticket.settle(answer).ok();
    }

    /// What a report makes of a known transaction; `None` when all of it is known. Only what is moved has to be the same.
    async fn change(&self, known: &CurrentRecord, report: &Report) -> Result<Option<Change>, MonitorError> {
        let first = Transaction::from_stored(known.body()).map_err(|error| unreadable(&error))?;
        if let Some(field) = report.transaction().disagreement_with(&first, self.means.amounts) {
            return Err(MonitorError::Conflict(field.into()));
        }
        if !report.is_of(first.status.as_deref(), known.fingerprint()) {
            self.describe(&known.record.transaction_id, report.transaction()).await?;
        }
        further_change(known, report.transaction().status.as_deref())
    }

    /// Keeps what is told of a known transaction in other words than before.
    async fn describe(&self, id: &str, told: &Transaction) -> Result<(), MonitorError> {
        let (store, body) = (&self.means.store, told.to_wire());
        let kept = store.later_description(id).await.map_err(|error| unreadable(&error))?;
        if kept.as_deref() == Some(&*body) {
            return Ok(());
        }
        let descriptions = [(id.into(), body.into())];
        let commit = CommitRecord { descriptions: &descriptions, ..CommitRecord::default() };
        store.commit(&commit).await.map_err(|error| unreadable(&error))
    }

    /// Lets a change take its effect; who waits hears this answer when it is durable.
    pub(super) fn update(&self, change: Change, assessment: Arc<str>, event: Arc<str>, waiting: Waiting) {
        let record = StatusUpdateRecord {
            sequence: Sequence::default(),
            target: change.target,
            before: change.before.status.clone(),
            after: change.after.status.clone().unwrap_or_default(),
            event,
            accepted_micros: self.means.clock.now().timestamp_micros(),
        };
        // An updater that is gone has nobody to answer: the ticket tells them when it is dropped.
        drop(self.updater.send(Update { change, record, assessment, waiting }));
    }
}

/// What a status that was heard makes of a known transaction; `None` when that one stands already, or a further one.
pub(super) fn further_change(
    known: &CurrentRecord,
    heard: Option<&str>,
) -> Result<Option<Change>, MonitorError> {
    let accepted = Transaction::from_stored(&known.record.body).map_err(|error| unreadable(&error))?;
    let before = with_update(accepted, known.status.as_deref());
    let stands = further(before.status.as_deref(), heard);
    let after = if planted::is(Bug::LatestStatusStands) { heard } else { stands };
    if after == before.status.as_deref() && !planted::is(Bug::KnownStatusStoredAgain) {
        return Ok(None);
    }
    let after = before.with_status(after);
    Ok(Some(Change { target: known.record.sequence, before, after }))
}
