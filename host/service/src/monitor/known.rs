//! A request for a verdict on a transaction that has one, with other content than that verdict was given on.

use tollgate_model::transaction::{Fingerprint, StatusWords, Transaction};
use tollgate_store::CurrentRecord;

use crate::monitor::{MonitorAnswer, MonitorError, unreadable};

/// Returns the stored answer if a ledger reported the transaction first and nothing but the status differs: the ledger
/// knows the status, and the caller sends what it had before. Rules leave out a payment that failed, so a verdict on one
/// is none on an attempt that did not. Otherwise a conflict, which names the first field that differs. If no other field
/// does, it is the time, which one of the two lacks.
pub(super) fn answer(
    known: &CurrentRecord,
    assessment: &str,
    transaction: &Transaction,
    fingerprint: Fingerprint,
    words: &StatusWords,
) -> MonitorAnswer {
    let first = Transaction::from_stored(known.body()).map_err(|error| unreadable(&error))?;
    let mut told = transaction.clone();
    let status = first.status.as_deref();
    let has_failed =
        || status.into_iter().chain(known.status.as_deref()).any(|it| words.is_failed_or_later(it));
    // A deferred verdict is on what its request sent.
    if known.record.is_reported && known.late.is_none() && !has_failed() {
        if transaction.fingerprint_with(fingerprint, status) == Some(known.fingerprint()) {
            return Ok(assessment.into());
        }
        told = told.with_status(status);
    }
    Err(MonitorError::Conflict(told.difference_from(&first).as_deref().unwrap_or("created_at").into()))
}
