//! Rows of a ledger that has several for one payment.

use std::sync::Arc;

use super::joining::{ChildEntry, Result, text_of};
use super::{
    Contradiction, DeadLetter, Json, LedgerProgress, PaymentEvent, Payments, PaymentsInner, ROWS,
    ReportChannel, ReportedEntry,
};
use crate::monitor::{FeedMode, FeedReport, LedgerFeedRow};

/// The event of what a row says.
const EVENT: &str = "ledger.row";

/// An entry that a row tells.
#[derive(Debug)]
pub struct RowEntry {
    /// What it says.
    pub entry: ReportedEntry,
    /// The row, as one object.
    pub told: Json,
    /// What is to be kept of it when its payment is known as another one.
    pub if_it_differs: DeadLetter,
}

impl Payments {
    /// Takes rows, and notes the progress behind them. Returns when all of that is durable. The same rows again change nothing.
    ///
    /// # Errors
    /// See [`PaymentError`](super::PaymentError). Some rows may be taken then; the progress is not noted.
    pub async fn take_rows(&self, rows: Vec<RowEntry>, progress: LedgerProgress) -> Result<FeedReport> {
        let inner = &self.inner;
        inner.note_kind().await?;
        let (mut own, mut settling) = (Vec::new(), Vec::new());
        for row in rows {
            match row.entry.happened {
                PaymentEvent::Settled { .. } => settling.push(row),
                _ => own.push(row),
            }
        }
        let report = inner.take_own_rows(&own).await?;
        let event = Arc::from(EVENT);
        for RowEntry { entry, told, .. } in own.iter().chain(&settling) {
            let (PaymentEvent::Settled { hold: parent, .. } | PaymentEvent::Reversed { original: parent }) =
                &entry.happened
            else {
                continue;
            };
            inner
                .join_or_wait(entry, parent, ReportChannel::Row, &text_of(ReportChannel::Row, told), &event)
                .await?;
        }
        inner.join_what_can_be().await?;
        inner.deps.monitor.feed(Vec::new(), FeedMode::History, progress).await?;
        Ok(report)
    }
}

impl PaymentsInner {
    /// Takes rows that are payments of their own, all at once.
    async fn take_own_rows(&self, rows: &[RowEntry]) -> Result<FeedReport> {
        let is_payment = |row: &&RowEntry| !matches!(row.entry.happened, PaymentEvent::Nothing { .. });
        let fed =
            rows.iter().filter(is_payment).map(|row| fed(&row.entry, row.if_it_differs.clone())).collect();
        let report = self.deps.monitor.feed(fed, self.manner(), nothing_yet()).await?;
        let mut changes = Vec::new();
        for row in rows {
            changes.extend(self.known_by(&row.entry).await?);
        }
        self.commit(&changes).await?;
        Ok(report)
    }

    /// Takes a part of a hold that a row told, as a payment of its own.
    pub(super) async fn take_part_of_row(&self, joining: &ChildEntry<'_>) -> Result<()> {
        let detail = "its id is known with another amount, currency, source or destination".to_owned();
        let differs = Contradiction { reason: "transaction_conflict", detail };
        let fed = fed(joining.entry, self.dead_letter(joining, &differs));
        self.deps.monitor.feed(vec![fed], self.manner(), nothing_yet()).await?;
        Ok(())
    }

    const fn manner(&self) -> FeedMode {
        if self.deps.evaluates_rows { FeedMode::Judge } else { FeedMode::History }
    }
}

fn fed(entry: &ReportedEntry, if_it_differs: DeadLetter) -> LedgerFeedRow {
    let (transaction, fingerprint) = (entry.report.transaction().clone(), entry.report.fingerprint());
    LedgerFeedRow { transaction, fingerprint, if_it_differs }
}

/// The progress is noted behind all that the rows do.
fn nothing_yet() -> LedgerProgress {
    LedgerProgress { feed: ROWS.into(), mark: None, dead_letters: Vec::new() }
}
