//! Entries that can never be taken: each is kept, and raises an alert with the operator's verdict.

use std::sync::Arc;

use tollgate_model::alert::Alert;
use tollgate_store::{AlertRecord, CommitRecord, DeadLetter, LedgerProgress, Store, StoreError};

use super::{EVENTS, LedgerEvents, LedgerKind, PaymentError, Payments, PaymentsDeps, PaymentsInner};

/// The results for the dead letters of rows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KeptLetters {
    /// How many rows were told of, in the log and the metrics.
    pub n_logged: usize,
    /// Rows get verdicts, and the limit of dead letters is reached: a row has neither, so the mark must not pass it.
    pub is_full: bool,
}

impl Payments {
    /// Stores the dead letters of rows, with an alert about each if rows get verdicts.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub(crate) async fn keep_rows(
        &self,
        feed: &Arc<str>,
        letters: Vec<DeadLetter>,
    ) -> Result<KeptLetters, StoreError> {
        let PaymentsDeps { store, evaluates_rows, alerting, .. } = &self.inner.deps;
        let mut kept = KeptLetters { n_logged: letters.len(), is_full: false };
        let (mut kept_before, mut alerts, mut dead_letters) = (Vec::new(), Vec::new(), Vec::new());
        for letter in letters {
            kept_before.push(store.keeps_dead_letter(&letter.digest).await?);
            let (letter, alert) =
                if *evaluates_rows { self.inner.with_alert(letter) } else { (letter, None) };
            dead_letters.push(letter);
            alerts.push(alert);
        }
        let progress = LedgerProgress { feed: Arc::clone(feed), mark: None, dead_letters };
        store.commit(&CommitRecord { ledger: vec![&progress], ..CommitRecord::default() }).await?;
        for ((letter, was_kept), alert) in progress.dead_letters.iter().zip(kept_before).zip(alerts) {
            let is_kept = store.keeps_dead_letter(&letter.digest).await?;
            kept.is_full |= *evaluates_rows && !is_kept;
            if *evaluates_rows && (was_kept || !is_kept) {
                // It was told before, or will be when it is kept.
                kept.n_logged -= 1;
                continue;
            }
            tell(letter);
            alerting.announce(alert.as_slice());
        }
        self.count_dead_letters().await?;
        Ok(kept)
    }

    /// Deletes a dead letter, also that of a row, because its content will never be accepted. Returns whether there was one
    /// with this number.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn delete_letter(&self, number: i64) -> Result<bool, StoreError> {
        let store = &self.inner.deps.store;
        let Some(letter) = store.dead_letter(number).await? else { return Ok(false) };
        if !store.remove_dead_letter(number).await? {
            return Ok(false);
        }
        tracing::warn!(
            dead_letter.id = number,
            transaction.id = %letter.transaction_id.escape_debug(),
            reason = letter.reason,
            "a dead letter of the ledger was deleted over the API"
        );
        self.count_dead_letters().await?;
        Ok(true)
    }

    /// Counts the dead letters again, for `/readyz`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) async fn count_dead_letters(&self) -> Result<(), StoreError> {
        count(&self.inner.ledger_events, &self.inner.deps.store).await
    }
}

/// Logs a row that cannot be taken, without its content.
fn tell(letter: &DeadLetter) {
    tracing::warn!(
        transaction.id = %letter.transaction_id.escape_debug(),
        reason = letter.reason,
        "a row of the ledger cannot be accepted; it is kept as a dead letter"
    );
}

impl PaymentsInner {
    fn with_alert(&self, letter: DeadLetter) -> (DeadLetter, Option<Arc<Alert>>) {
        let PaymentsDeps { kind, unreadable, alerting, .. } = &self.deps;
        if *kind == LedgerKind::Generic {
            return (letter, None);
        }
        let Some(alert) = alerting.alert_about(&letter, unreadable.verdict()) else { return (letter, None) };
        let record = alerting.keeps_alerts().then(|| AlertRecord {
            sequence: letter.alert_sequence(),
            id: alert.id.clone(),
            transaction_id: Arc::clone(&alert.transaction_id),
            payload: Arc::clone(&alert.payload),
            created_micros: letter.found_micros,
        });
        (DeadLetter { alert: record, ..letter }, Some(alert))
    }

    /// Keeps a dead letter of this feed.
    pub(super) async fn store_dead_letter(&self, letter: DeadLetter, feed: &str) -> Result<(), PaymentError> {
        let (store, digest) = (&self.deps.store, letter.digest);
        let is_repeated = store.keeps_dead_letter(&digest).await?;
        let (letter, alert) = self.with_alert(letter);
        let (id, reason) = (letter.transaction_id.clone(), letter.reason);
        let progress = LedgerProgress { feed: feed.into(), mark: None, dead_letters: vec![letter] };
        store.commit(&CommitRecord { ledger: vec![&progress], ..CommitRecord::default() }).await?;
        // An event that is acknowledged and not kept would be lost. A row stays in its table, but the mark would pass it.
        let has_to_be_kept = feed == EVENTS || self.deps.evaluates_rows;
        if has_to_be_kept && !store.keeps_dead_letter(&digest).await? {
            return Err(PaymentError::TooManyDead);
        }
        tracing::warn!(
            transaction.id = %id.escape_debug(),
            reason,
            "a report of the ledger cannot be accepted; it is kept as a dead letter"
        );
        if !is_repeated {
            self.deps.alerting.announce(alert.as_slice());
        }
        Ok(count(&self.ledger_events, store).await?)
    }
}

/// Shows the number of dead letters and the reason of the last.
pub(super) async fn count(events: &LedgerEvents, store: &Store) -> Result<(), StoreError> {
    let (n_letters, numbers) = store.dead_letters(i64::MAX, 1).await?;
    let latest = match numbers.first() {
        Some(number) => store.dead_letter(*number).await?,
        None => None,
    };
    events.dead_letters(n_letters, latest.map(|letter| letter.reason).unwrap_or_default());
    Ok(())
}
