//! Rows of a ledger that keeps several entries for one payment.

use std::sync::Arc;

use super::child_entry::{ChildEntry, Result, text_of};
use super::{
    Contradiction, DeadLetter, Json, LedgerProgress, PaymentError, PaymentEvent, Payments, PaymentsInner,
    ROWS, ReportChannel, ReportedEntry,
};
use tollgate_pipeline::monitor::{FeedMode, FeedReport, LedgerFeedRow};

const EVENT: &str = "ledger.row";

/// An entry read from a row.
#[derive(Debug)]
pub(crate) struct RowEntry {
    /// The entry.
    pub entry: ReportedEntry,
    /// The row as a JSON object.
    pub data: Json,
    /// The dead letter to keep if its id belongs to another payment.
    pub if_it_differs: DeadLetter,
}

impl RowEntry {
    fn text(&self) -> String {
        text_of(ReportChannel::Row, &self.data)
    }

    fn child<'c>(&'c self, event: &'c Arc<str>, sent: &'c str) -> ChildEntry<'c> {
        ChildEntry {
            entry: &self.entry,
            channel: ReportChannel::Row,
            event,
            sent,
            waiting: None,
            further: &[],
        }
    }
}

impl Payments {
    /// Takes rows, and then stores the progress. Returns when all is durable. Repeating a call has no effect. A row whose dead
    /// letter has no room holds back the progress, and no other row.
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
                _ if inner.whole_of(&row.entry).await?.is_some() => settling.push(row),
                _ => own.push(row),
            }
        }
        // Before what belongs to them. An entry of a whole counts as earlier than legs of the same page.
        let (own, mut report) = inner.take_own_rows(own).await?;
        let event = Arc::from(EVENT);
        for row in &own {
            let text = row.text();
            let child = row.child(&event, &text);
            let taken = match &row.entry.happened {
                PaymentEvent::Reversed { original } => inner.join_or_wait(&child, original).await.map(drop),
                _ => inner.refund_from_queue(&child).await,
            };
            report.is_full |= lacks_room(taken)?;
        }
        for row in &settling {
            report.is_full |= lacks_room(inner.apply(&row.child(&event, &row.text())).await)?;
        }
        inner.join_ready_entries().await?;
        let mark = progress.mark.filter(|_| !report.is_full);
        let progress = LedgerProgress { mark, ..progress };
        inner.deps.monitor.feed(Vec::new(), FeedMode::History, progress).await?;
        Ok(report)
    }
}

impl PaymentsInner {
    /// Takes all rows that are separate payments, and returns them.
    async fn take_own_rows(&self, own: Vec<RowEntry>) -> Result<(Vec<RowEntry>, FeedReport)> {
        let _locked = self.lock_wholes(own.iter().map(|row| &row.entry)).await;
        let (mut rows, mut is_full) = (Vec::with_capacity(own.len()), false);
        for row in own {
            match self.counts_legs(&row.entry.report.transaction().transaction_id).await? {
                true => {
                    let refused = self.refuse_whole(&row.child(&Arc::from(EVENT), &row.text())).await;
                    is_full |= lacks_room(refused)?;
                }
                false => rows.push(row),
            }
        }
        let fed = rows.iter().map(|row| fed(&row.entry, row.if_it_differs.clone())).collect();
        let mut report = self.deps.monitor.feed(fed, self.manner(), nothing_yet()).await?;
        report.is_full |= is_full;
        let mut changes = Vec::new();
        for row in &rows {
            changes.extend(self.known_by(&row.entry).await?);
        }
        self.commit(&changes).await?;
        Ok((rows, report))
    }

    /// Takes a row that settles part of a hold as a separate payment.
    pub(super) async fn take_part_of_row(&self, joining: &ChildEntry<'_>) -> Result<()> {
        let detail = "its id is known with another amount, currency, source or destination".to_owned();
        let differs = Contradiction { reason: "transaction_conflict", detail };
        let fed = fed(joining.entry, self.dead_letter(joining, &differs));
        let report = self.deps.monitor.feed(vec![fed], self.manner(), nothing_yet()).await?;
        if report.is_full { Err(PaymentError::TooManyDead) } else { Ok(()) }
    }

    const fn manner(&self) -> FeedMode {
        if self.deps.evaluates_rows { FeedMode::Judge } else { FeedMode::History }
    }
}

/// Returns whether the dead letter of a row has no room.
fn lacks_room<T>(taken: Result<T>) -> Result<bool> {
    match taken {
        Err(PaymentError::TooManyDead) => Ok(true),
        taken => taken.map(|_| false),
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
