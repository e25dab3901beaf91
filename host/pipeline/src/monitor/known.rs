//! A request for a verdict on a transaction that is stored.

use std::sync::Arc;

use tollgate_model::transaction::{AmountAgreement, Fingerprint, StatusWords, Transaction};
use tollgate_store::{CurrentRecord, TransactionOrigin};

use crate::monitor::group::CommitWaiter;
use crate::monitor::reported::{AmountPrecision, ReportOutcome};
use crate::monitor::{INJECTED, MonitorError, TransactionPipeline, unreadable};

impl TransactionPipeline {
    /// Answers one transaction that is stored; no other operation on its id is under way.
    pub(super) async fn answer_known(
        self: Arc<Self>,
        known: CurrentRecord,
        transaction: Arc<Transaction>,
        waiting: CommitWaiter,
    ) {
        let fingerprint = waiting.pending_entry.fingerprint();
        let Some(assessment) = known.assessment() else {
            if let Err(error) = self.check_past(&known, &transaction, fingerprint) {
                return drop(waiting.pending_entry.settle(Err(error)));
            }
            let how = (INJECTED.into(), AmountPrecision::Sent);
            return self.judge_unjudged(known, transaction, how, waiting).await;
        };
        let answer = if known.fingerprint() == fingerprint {
            match self.left_behind(&known, &transaction).await {
                Ok(ReportOutcome { change: Some(change), reported_statuses, .. }) => {
                    return self.update(
                        change,
                        reported_statuses,
                        assessment.into(),
                        INJECTED.into(),
                        waiting,
                    );
                }
                Ok(unchanged) => {
                    let event = INJECTED.into();
                    self.store_reported_statuses(&known, unchanged, &event).await.map(|()| assessment.into())
                }
                Err(error) => Err(error),
            }
        } else {
            self.compare_known(&known, &transaction, fingerprint).map(|()| assessment.into())
        };
        waiting.pending_entry.settle(answer).ok();
    }

    /// Checks a request for the first verdict on a transaction, if a caller stored that without one: it has to be the same, as
    /// any repetition, and a new transaction would have to be judged now.
    fn check_past(
        &self,
        known: &CurrentRecord,
        transaction: &Transaction,
        fingerprint: Fingerprint,
    ) -> Result<(), MonitorError> {
        if known.record.origin != TransactionOrigin::Past {
            return Ok(());
        }
        if known.record.fingerprint != fingerprint {
            self.compare_known(known, transaction, fingerprint)?;
        }
        self.check_ready_to_judge()
    }

    /// Compares a request with the stored transaction, whose fingerprint is another one.
    ///
    /// # Errors
    /// A conflict.
    pub(super) fn compare_known(
        &self,
        known: &CurrentRecord,
        transaction: &Transaction,
        fingerprint: Fingerprint,
    ) -> Result<(), MonitorError> {
        compare(known, transaction, fingerprint, self.deps.history.status_words())
    }
}

/// Agrees if a ledger reported the transaction first and nothing but the status differs: the ledger
/// knows the status, and the caller sends what it had before. Rules leave out a payment that failed, so a verdict on one
/// is none on an attempt that did not. Otherwise a conflict, which names the first field that differs. If no other field
/// does, it is the time, which one of the two lacks.
fn compare(
    known: &CurrentRecord,
    transaction: &Transaction,
    fingerprint: Fingerprint,
    words: &StatusWords,
) -> Result<(), MonitorError> {
    let first = Transaction::from_stored(known.body()).map_err(|error| unreadable(&error))?;
    let mut reported = transaction.clone();
    let status = first.status.as_deref();
    let has_failed =
        || status.into_iter().chain(known.status.as_deref()).any(|it| words.is_failed_or_later(it));
    // A deferred verdict is on what its request sent.
    if known.record.origin == TransactionOrigin::Ledger && known.late.is_none() && !has_failed() {
        if transaction.fingerprint_with(fingerprint, status) == Some(known.fingerprint()) {
            return Ok(());
        }
        reported = reported.with_status(status);
    }
    // The amount of a deferred verdict may be that of the ledger, which has more digits than this request and its first one.
    let agrees = AmountAgreement::Doubles.holds(reported.amount.value(), first.amount.value());
    let with_its_amount =
        (known.late.is_some() && agrees).then(|| reported.clone().with_amount(&first.amount));
    let difference = with_its_amount.and_then(|reported| reported.difference_from(&first));
    let difference = difference.or_else(|| reported.difference_from(&first));
    Err(MonitorError::Conflict(difference.as_deref().unwrap_or("created_at").into()))
}
