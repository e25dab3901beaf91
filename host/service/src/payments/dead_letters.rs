//! Entries that can never be taken: each is kept, and raises an alert with the operator's verdict.

use std::sync::Arc;

use tollgate_model::alert::Alert;
use tollgate_store::{AlertRecord, CommitRecord, DeadLetter, LedgerProgress, Store, StoreError};

use super::{EVENTS, LedgerEvents, LedgerKind, PaymentError, Payments, PaymentsDeps, PaymentsInner};

impl Payments {
    /// Adds an alert to the dead letter of a row, if rows get verdicts. The alert is announced with
    /// [`Payments::announce`] when the dead letter is durable.
    pub(crate) fn with_row_alert(&self, letter: DeadLetter) -> (DeadLetter, Option<Arc<Alert>>) {
        if self.inner.deps.evaluates_rows { self.inner.with_alert(letter) } else { (letter, None) }
    }

    /// Announces alerts about durable dead letters, and counts these.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) async fn announce(&self, alerts: &[Arc<Alert>]) -> Result<(), StoreError> {
        self.inner.deps.alerting.announce(alerts);
        count(&self.inner.news, &self.inner.deps.store).await
    }
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
    pub(super) async fn bury(&self, letter: DeadLetter, feed: &str) -> Result<(), PaymentError> {
        tracing::warn!(
            transaction.id = %letter.transaction_id.escape_debug(),
            reason = letter.reason,
            "a report of the ledger cannot be accepted; it is kept as a dead letter"
        );
        let (store, digest) = (&self.deps.store, letter.digest);
        let is_repeated = store.keeps_dead_letter(&digest).await?;
        let (letter, alert) = self.with_alert(letter);
        let progress = LedgerProgress { feed: feed.into(), mark: None, dead_letters: vec![letter] };
        store.commit(&CommitRecord { ledger: vec![&progress], ..CommitRecord::default() }).await?;
        // A row stays in its table; an event that is acknowledged and not kept would be lost.
        if feed == EVENTS && !store.keeps_dead_letter(&digest).await? {
            return Err(PaymentError::TooManyDead);
        }
        if !is_repeated {
            self.deps.alerting.announce(alert.as_slice());
        }
        Ok(count(&self.news, store).await?)
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
