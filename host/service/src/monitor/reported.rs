//! Reports of a ledger: an unknown transaction is judged, the status of a known one is updated.

use std::sync::Arc;

use tollgate_history::StatusChange;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{
    EarlierStatuses, ReportedStatus, StatusWords, Transaction, TransactionReport,
};
use tollgate_store::{CommitRecord, CurrentRecord, StatusUpdateRecord, StatusWithoutEffect};

use crate::monitor::group::CommitWaiter;
use crate::monitor::updater::Update;
use crate::monitor::{Monitor, MonitorError, TransactionPipeline, unreadable};
use crate::telemetry::logs::ErrorChain;

/// Maximum number of status updates of a transaction, the latest ones, by which words that are not listed are ranked.
const STATUSES_RANKED_MAX: u32 = 1_024;

#[derive(Debug)]
pub(super) struct ReportOutcome {
    /// `None` if the current status does not change.
    pub(super) change: Option<StatusChange>,
    /// All statuses reported so far, if they must be stored because this report adds to them.
    pub(super) standing: Option<ReportedStatus>,
    /// The reported status, if it does not stand and must be stored.
    pub(super) without_effect: Option<Arc<str>>,
}

impl Monitor {
    /// Returns the table of the stages that statuses mean.
    #[must_use]
    pub(crate) fn status_words(&self) -> &StatusWords {
        self.pipeline.deps.history.status_words()
    }
}

impl TransactionPipeline {
    /// Completes one report; no other operation on its id is under way.
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
                tracing::error!(error = %ErrorChain(&error), "a transaction cannot be read from the store");
                waiting.refuse();
            }
        }
    }

    /// Completes a status alone; no other operation on its id is under way.
    pub(super) async fn carry_status(
        self: Arc<Self>,
        status: Arc<str>,
        event: Arc<str>,
        waiting: CommitWaiter,
    ) {
        match self.deps.store.current(waiting.pending_entry.id()).await {
            Ok(Some(known)) => {
                let heard = match accepted_of(&known) {
                    Ok(accepted) => self.outcome_of(&known, accepted, Some(&status), None).await,
                    Err(error) => Err(error),
                };
                self.carry_heard(&known, heard, event, waiting).await;
            }
            Ok(None) => {
                tracing::error!(transaction.id = %waiting.pending_entry.id(), "a ledger updates a payment that is not stored");
                waiting.refuse();
            }
            Err(error) => {
                tracing::error!(error = %ErrorChain(&error), "a transaction cannot be read from the store");
                waiting.refuse();
            }
        }
    }

    async fn carry_heard(
        &self,
        known: &CurrentRecord,
        heard: Result<ReportOutcome, MonitorError>,
        event: Arc<str>,
        waiting: CommitWaiter,
    ) {
        let assessment: Arc<str> = known.assessment().unwrap_or_default().into();
        let answer = match heard {
            Ok(ReportOutcome { change: Some(change), standing, .. }) => match self.readiness() {
                Ok(()) => return self.update(change, standing, assessment, event, waiting),
                Err(error) => Err(error),
            },
            Ok(unchanged) => {
                self.deps.metrics.status_unchanged();
                self.keep_standing(known, unchanged, &event).await.map(|()| assessment)
            }
            Err(error) => Err(error),
        };
        waiting.pending_entry.settle(answer).ok();
    }

    /// Stores what was reported when the current status does not change.
    pub(super) async fn keep_standing(
        &self,
        known: &CurrentRecord,
        unchanged: ReportOutcome,
        event: &Arc<str>,
    ) -> Result<(), MonitorError> {
        let target = known.record.sequence;
        let without_effect: Vec<_> = self.without_effect(target, &unchanged, event).into_iter().collect();
        if unchanged.standing.is_none() && without_effect.is_empty() {
            return Ok(());
        }
        let standings = unchanged.standing.iter().map(|standing| (target, standing)).collect();
        let commit = CommitRecord { standings, without_effect: &without_effect, ..CommitRecord::default() };
        self.deps.store.commit(&commit).await.map_err(|error| unreadable(&error))
    }

    /// Returns the record of a status that does not stand.
    pub(super) fn without_effect(
        &self,
        target: Sequence,
        unchanged: &ReportOutcome,
        event: &Arc<str>,
    ) -> Option<StatusWithoutEffect> {
        let (status, event) = (Arc::clone(unchanged.without_effect.as_ref()?), Arc::clone(event));
        let accepted_micros = self.deps.clock.now().timestamp_micros();
        Some(StatusWithoutEffect { target, status, event, accepted_micros })
    }

    /// Compares a report with a known transaction. Only amount, currency and accounts must agree.
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
        // A deferred verdict may have been requested with a different description than the feed had.
        let accepted = if known.late.is_none() { first } else { accepted_of(known)? };
        self.outcome_of(known, accepted, told.status.as_deref(), told.changed()).await
    }

    /// Returns the effect of a status reported for a known transaction. `changed` is the time of the status change, if
    /// given. The statuses that the transaction had are read only if a word is not listed: only such a word ranks by
    /// what was known before it.
    pub(super) async fn outcome_of(
        &self,
        known: &CurrentRecord,
        accepted: Transaction,
        status: Option<&str>,
        changed: Option<i64>,
    ) -> Result<ReportOutcome, MonitorError> {
        let stood = standing_of(known, &accepted);
        let is_told_again = stood.latest.is_none() && changed.is_none() && stood.undated.as_deref() == status;
        let words = self.deps.history.status_words();
        let earlier = if is_told_again || stood.statuses().chain(status).all(|word| words.has(word)) {
            EarlierStatuses::new(words, [])
        } else {
            let updates = self.deps.store.status_updates_of(known.record.sequence, STATUSES_RANKED_MAX).await;
            let updates = updates.map_err(|error| unreadable(&error))?;
            let after = updates.into_iter().map(|update| update.after);
            EarlierStatuses::new(words, accepted.status.clone().into_iter().chain(after))
        };
        let standing = stood.with(status, changed, &earlier);
        let mut outcome = ReportOutcome::of(known, accepted, &stood, standing, &earlier);
        if let (None, Some(status), Some(stands)) = (&outcome.change, status, stood.status(&earlier))
            && !status.eq_ignore_ascii_case(stands)
        {
            // A ledger that repeats its reports must not cause a write each time.
            let is_new = self.deps.store.lacks_status_without_effect(known.record.sequence, status).await;
            let is_new = is_new.map_err(|error| unreadable(&error))?;
            outcome.without_effect = is_new.then(|| status.into());
        }
        Ok(outcome)
    }

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

    /// Applies a change; the waiter gets this answer when it is durable.
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
        // If the updater is gone, dropping the waiter notifies the callers.
        drop(self.updater.send(Update { change, record, standing, assessment, waiting }));
    }
}

impl ReportOutcome {
    /// Returns the effect on a known transaction of what was reported before and with this report.
    fn of(
        known: &CurrentRecord,
        accepted: Transaction,
        stood: &ReportedStatus,
        standing: ReportedStatus,
        earlier: &EarlierStatuses,
    ) -> Self {
        let before = with_update(accepted, known.status.as_deref());
        let after = standing.status(earlier);
        let is_new = after != before.status.as_deref();
        let change = is_new.then(|| {
            let after = before.with_status(after);
            StatusChange { target: known.record.sequence, before, after }
        });
        let is_more = standing != *stood && standing.latest.is_some();
        Self { change, standing: is_more.then_some(standing), without_effect: None }
    }
}

/// Returns the transaction with the status of the last update, if there was one.
pub(super) fn with_update(accepted: Transaction, status: Option<&str>) -> Transaction {
    match status {
        Some(_) => accepted.with_status(status),
        None => accepted,
    }
}

pub(super) fn accepted_of(known: &CurrentRecord) -> Result<Transaction, MonitorError> {
    Transaction::from_stored(&known.record.body).map_err(|error| unreadable(&error))
}

fn standing_of(known: &CurrentRecord, accepted: &Transaction) -> ReportedStatus {
    match (&known.standing, &known.status) {
        (Some(standing), _) => standing.clone(),
        (None, Some(status)) => ReportedStatus { latest: None, undated: Some(status.as_str().into()) },
        (None, None) => ReportedStatus::of(accepted),
    }
}
