//! Rows of a ledger that keeps several entries for one payment.

use std::sync::Arc;

use super::joining::{ChildEntry, Result, text_of};
use super::{
    Contradiction, DeadLetter, Json, LedgerProgress, PaymentEvent, Payments, PaymentsInner, ROWS,
    ReportChannel, ReportedEntry,
};
use crate::monitor::{FeedMode, FeedReport, LedgerFeedRow};

const EVENT: &str = "ledger.row";

/// An entry read from a row.
#[derive(Debug)]
pub(crate) struct RowEntry {
    /// The entry.
    pub entry: ReportedEntry,
    /// The row as a JSON object.
    pub told: Json,
    /// The dead letter to keep if its id belongs to another payment.
    pub if_it_differs: DeadLetter,
}

impl Payments {
    /// Takes rows, and then stores the progress. Returns when all is durable. Repeating a call has no effect.
    ///
    /// # Errors
    /// See [`PaymentError`](super::PaymentError). Some rows may have been taken; the progress is not stored.
    pub(crate) async fn take_rows(
        &self,
        rows: Vec<RowEntry>,
        progress: LedgerProgress,
    ) -> Result<FeedReport> {
        let inner = &self.inner;
        inner.note_kind().await?;
        let (mut own, mut settling) = (Vec::new(), Vec::new());
        for row in rows {
            match row.entry.happened {
                PaymentEvent::Settled { .. } | PaymentEvent::Shadow { .. } => settling.push(row),
                _ => own.push(row),
            }
        }
        let report = inner.take_own_rows(&own).await?;
        let event = Arc::from(EVENT);
        for RowEntry { entry, told, .. } in own.iter().chain(&settling) {
            if matches!(entry.happened, PaymentEvent::Payment(_)) {
                continue;
            }
            let told = text_of(ReportChannel::Row, told);
            let child =
                ChildEntry { entry, telling: ReportChannel::Row, event: &event, told: &told, waiting: None };
            match &entry.happened {
                PaymentEvent::Reversed { original } => drop(inner.join_or_wait(&child, original).await?),
                _ => drop(inner.apply(&child).await?),
            }
        }
        inner.join_what_can_be().await?;
        inner.deps.monitor.feed(Vec::new(), FeedMode::History, progress).await?;
        Ok(report)
    }
}

impl PaymentsInner {
    /// Takes all rows that are separate payments.
    async fn take_own_rows(&self, rows: &[RowEntry]) -> Result<FeedReport> {
        let fed = rows.iter().map(|row| fed(&row.entry, row.if_it_differs.clone())).collect();
        let report = self.deps.monitor.feed(fed, self.manner(), nothing_yet()).await?;
        let mut changes = Vec::new();
        for row in rows {
            changes.extend(self.known_by(&row.entry).await?);
        }
        self.commit(&changes).await?;
        Ok(report)
    }

    /// Takes a row that settles part of a hold as a separate payment.
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

/// Returns an empty progress: the real one is stored after all effects of the rows.
fn nothing_yet() -> LedgerProgress {
    LedgerProgress { feed: ROWS.into(), mark: None, dead_letters: Vec::new() }
}
