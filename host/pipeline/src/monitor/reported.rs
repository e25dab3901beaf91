//! Reports of a ledger: an unknown transaction is judged, the status of a known one is updated.

use std::sync::Arc;

use tollgate_history::StatusChange;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{
    AmountTerms, EarlierStatuses, JsonNumber, ReportedStatus, StatusWords, Transaction, TransactionReport,
    compare_report,
};
use tollgate_store::{
    AmountUpdate, CommitRecord, CurrentRecord, StatusUpdateRecord, StatusWithoutEffect, TransactionOrigin,
};

use crate::monitor::group::CommitWaiter;
use crate::monitor::updater::Update;
use crate::monitor::{Monitor, MonitorError, TransactionPipeline, unreadable};
use tollgate_telemetry::logs::ErrorChain;

/// Maximum number of status updates of a transaction, the latest ones, by which words that are not listed are ranked.
const STATUSES_RANKED_MAX: u32 = 1_024;

#[derive(Debug)]
pub(super) struct ReportOutcome {
    /// `None` if the current status does not change.
    pub(super) change: Option<NumberedChange>,
    /// All statuses reported so far, if they must be stored because this report adds to them.
    pub(super) reported_statuses: Option<ReportedStatus>,
    /// The reported status, if it does not stand and must be stored.
    pub(super) without_effect: Option<Arc<str>>,
}

impl Monitor {
    /// Returns the table of the stages that statuses mean.
    #[must_use]
    pub fn status_words(&self) -> &StatusWords {
        self.pipeline.deps.history.status_words()
    }
}

/// A change that is to be made.
#[derive(Debug)]
pub(super) struct NumberedChange {
    change: StatusChange,
    /// The amounts, if the amount has ever changed.
    amounts: Option<AmountUpdate>,
}

/// The effect that the amount of a request or report may have on a known transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AmountPrecision {
    /// It has to be the amount of the transaction: a caller sent it.
    Sent,
    /// It may be a capture below the authorised amount.
    Rounded,
    /// It may also replace a rounded amount.
    Exact,
}

/// The content of a report about a known transaction.
#[derive(Debug, Default)]
pub(super) struct ReportedChange<'r> {
    pub(super) status: Option<&'r str>,
    /// When the status changed, if the ledger told that.
    pub(super) changed: Option<i64>,
    /// A new amount.
    pub(super) amount: Option<JsonNumber>,
}

impl TransactionPipeline {
    /// Completes one report; no other operation on its id is under way.
    pub(super) async fn apply_report(
        self: Arc<Self>,
        report: TransactionReport,
        event: Arc<str>,
        waiting: CommitWaiter,
    ) {
        match self.deps.store.current(&report.transaction().transaction_id).await {
            Ok(None) => self.judge_new(Arc::new(report.into_transaction()), waiting).await,
            Ok(Some(known)) => Box::pin(self.apply_report_to_known(known, report, event, waiting)).await,
            Err(error) => {
                tracing::error!(error = %ErrorChain(&error), "a transaction cannot be read from the store");
                waiting.refuse();
            }
        }
    }

    async fn apply_report_to_known(
        self: Arc<Self>,
        known: CurrentRecord,
        report: TransactionReport,
        event: Arc<str>,
        waiting: CommitWaiter,
    ) {
        // A caller that stored a past transaction wants no verdict and no alert from the reports that follow.
        if known.assessment().is_none() && known.record.origin != TransactionOrigin::Past {
            let precision = AmountPrecision::of_report(&report);
            let reported = Arc::new(report.into_transaction());
            self.judge_unjudged(known, reported, (event, precision), waiting).await;
        } else {
            let outcome = self.compare_with_stored(&known, &report).await;
            self.store_update(&known, outcome, event, waiting).await;
        }
    }

    /// Completes a status alone; no other operation on its id is under way.
    pub(super) async fn apply_status(
        self: Arc<Self>,
        status: Arc<str>,
        event: Arc<str>,
        waiting: CommitWaiter,
    ) {
        match self.deps.store.current(waiting.pending_entry.id()).await {
            Ok(Some(known)) => {
                let outcome = match accepted_of(&known) {
                    Ok(accepted) => {
                        self.outcome_of(&known, accepted, ReportedChange::of_status(&status)).await
                    }
                    Err(error) => Err(error),
                };
                self.store_update(&known, outcome, event, waiting).await;
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

    async fn store_update(
        &self,
        known: &CurrentRecord,
        outcome: Result<ReportOutcome, MonitorError>,
        event: Arc<str>,
        waiting: CommitWaiter,
    ) {
        let assessment: Arc<str> = known.assessment().unwrap_or_default().into();
        let answer = match outcome {
            Ok(ReportOutcome { change: Some(change), reported_statuses, .. }) => match self.readiness() {
                Ok(()) => return self.update(change, reported_statuses, assessment, event, waiting),
                Err(error) => Err(error),
            },
            Ok(unchanged) => {
                self.deps.metrics.status_unchanged();
                self.store_reported_statuses(known, unchanged, &event).await.map(|()| assessment)
            }
            Err(error) => Err(error),
        };
        waiting.pending_entry.settle(answer).ok();
    }

    /// Stores what was reported when the current status does not change.
    pub(super) async fn store_reported_statuses(
        &self,
        known: &CurrentRecord,
        unchanged: ReportOutcome,
        event: &Arc<str>,
    ) -> Result<(), MonitorError> {
        let target = known.record.sequence;
        let without_effect: Vec<_> = self.without_effect(target, &unchanged, event).into_iter().collect();
        if unchanged.reported_statuses.is_none() && without_effect.is_empty() {
            return Ok(());
        }
        let standings = unchanged.reported_statuses.iter().map(|statuses| (target, statuses)).collect();
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
    async fn compare_with_stored(
        &self,
        known: &CurrentRecord,
        report: &TransactionReport,
    ) -> Result<ReportOutcome, MonitorError> {
        let first = Transaction::from_stored(known.body()).map_err(|error| unreadable(&error))?;
        // A deferred verdict may have been requested with another description and amount than the feed had.
        let accepted = if known.late.is_none() { first.clone() } else { accepted_of(known)? };
        let reported = report.transaction();
        let current = known.amount.as_ref().unwrap_or(&accepted.amount);
        let terms = self.amount_terms(report.has_exact_amount());
        let amount = compare_report(reported, &first, Some(current), terms)
            .map_err(|field| MonitorError::Conflict(field.into()))?;
        if !report.is_of(first.status.as_deref(), known.fingerprint()) {
            self.describe(&known.record.transaction_id, reported).await?;
        }
        let change =
            ReportedChange { status: reported.status.as_deref(), changed: reported.changed(), amount };
        self.outcome_of(known, accepted, change).await
    }

    /// Returns how a reported amount compares with a stored one. `is_exact` states whether the report has all digits.
    pub(super) fn amount_terms(&self, is_exact: bool) -> AmountTerms<'_> {
        AmountTerms { agreement: self.deps.amounts, is_exact, words: self.deps.history.status_words() }
    }

    /// Returns the effect of a report on a known transaction. The statuses that the transaction had are read only if a
    /// word is not listed: only such a word ranks by what was known before it.
    pub(super) async fn outcome_of(
        &self,
        known: &CurrentRecord,
        accepted: Transaction,
        reported: ReportedChange<'_>,
    ) -> Result<ReportOutcome, MonitorError> {
        let ReportedChange { status, changed, amount } = reported;
        let stored = statuses_of(known, &accepted);
        let is_repeated = stored.latest.is_none() && changed.is_none() && stored.undated.as_deref() == status;
        let words = self.deps.history.status_words();
        let earlier = if is_repeated || stored.statuses().chain(status).all(|word| words.has(word)) {
            EarlierStatuses::new(words, [])
        } else {
            let updates = self.deps.store.status_updates_of(known.record.sequence, STATUSES_RANKED_MAX).await;
            let updates = updates.map_err(|error| unreadable(&error))?;
            let after = updates.into_iter().map(|update| update.after);
            EarlierStatuses::new(words, accepted.status.clone().into_iter().chain(after))
        };
        let reported_statuses = stored.with(status, changed, &earlier);
        let has_more = reported_statuses != stored && reported_statuses.latest.is_some();
        let after = reported_statuses.status(&earlier);
        let mut outcome = ReportOutcome {
            change: NumberedChange::new(known, accepted, after, amount),
            reported_statuses: None,
            without_effect: None,
        };
        if let (None, Some(status), Some(current)) = (&outcome.change, status, stored.status(&earlier))
            && !status.eq_ignore_ascii_case(current)
        {
            // A ledger that repeats its reports must not cause a write each time.
            let is_new = self.deps.store.lacks_status_without_effect(known.record.sequence, status).await;
            let is_new = is_new.map_err(|error| unreadable(&error))?;
            outcome.without_effect = is_new.then(|| status.into());
        }
        outcome.reported_statuses = has_more.then_some(reported_statuses);
        Ok(outcome)
    }

    async fn describe(&self, id: &str, reported: &Transaction) -> Result<(), MonitorError> {
        let (store, body) = (&self.deps.store, reported.to_wire());
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
        change: NumberedChange,
        reported_statuses: Option<ReportedStatus>,
        assessment: Arc<str>,
        event: Arc<str>,
        waiting: CommitWaiter,
    ) {
        let NumberedChange { change, amounts } = change;
        let record = StatusUpdateRecord {
            sequence: Sequence::default(),
            target: change.target,
            before: change.before.status.clone(),
            after: change.after.status.clone().unwrap_or_default(),
            event,
            accepted_micros: self.deps.clock.now().timestamp_micros(),
            amounts,
        };
        // If the updater is gone, dropping the waiter notifies the callers.
        drop(self.updater.send(Update { change, record, reported_statuses, assessment, waiting }));
    }
}

impl<'r> ReportedChange<'r> {
    /// Returns the report of a status alone.
    pub(super) fn of_status(status: &'r str) -> Self {
        Self { status: Some(status), ..Self::default() }
    }
}

impl AmountPrecision {
    pub(super) const fn of_report(report: &TransactionReport) -> Self {
        if report.has_exact_amount() { Self::Exact } else { Self::Rounded }
    }
}

impl NumberedChange {
    /// Returns the change to this status and amount; `None` if neither is new.
    fn new(
        known: &CurrentRecord,
        accepted: Transaction,
        status: Option<&str>,
        amount: Option<JsonNumber>,
    ) -> Option<Self> {
        let mut before = with_update(accepted, known.status.as_deref());
        if let Some(current) = &known.amount {
            before = before.with_amount(current);
        }
        if status == before.status.as_deref() && amount.is_none() {
            return None;
        }
        let mut after = before.with_status(status);
        if let Some(amount) = &amount {
            after = after.with_amount(amount);
        }
        let has_amounts = known.amount.is_some() || amount.is_some();
        let amounts = has_amounts.then(|| AmountUpdate {
            before: before.amount.as_str().into(),
            after: after.amount.as_str().into(),
        });
        let change = StatusChange { target: known.record.sequence, before, after };
        Some(Self { change, amounts })
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

fn statuses_of(known: &CurrentRecord, accepted: &Transaction) -> ReportedStatus {
    match (&known.standing, &known.status) {
        (Some(statuses), _) => statuses.clone(),
        (None, Some(status)) => ReportedStatus { latest: None, undated: Some(status.as_str().into()) },
        (None, None) => ReportedStatus::from_transaction(accepted),
    }
}
