//! Entries that wait for their parent: joined when it arrives, taken as separate payments when it does not.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use chrono::DateTime;
use sha2::{Digest as _, Sha256};
use tollgate_model::transaction::JsonLimits;
use tollgate_store::WaitingQuery;

use super::joining::{ChildEntry, EVENT, HOOK, ROW, Result};
use super::{
    DeadLetter, EntryChange, EntryReport, JOINED_AT_ONCE, Json, MonitorError, PaymentError, PaymentEvent,
    PaymentsInner, ROWS, ReportChannel, ReportedEntry, WaitingEntry, shadows,
};

/// A waiting entry, parsed again.
pub(super) struct RereadEntry<'w> {
    pub(super) entry: ReportedEntry,
    pub(super) telling: ReportChannel<'w>,
    pub(super) event: Arc<str>,
    pub(super) waiting: &'w WaitingEntry,
}

impl RereadEntry<'_> {
    pub(super) fn child(&self) -> ChildEntry<'_> {
        ChildEntry {
            entry: &self.entry,
            telling: self.telling,
            event: &self.event,
            told: &self.waiting.told,
            waiting: Some(self.waiting),
        }
    }
}

impl PaymentsInner {
    pub(super) async fn join_what_can_be(&self) -> Result<()> {
        loop {
            let joinable = self.deps.store.waiting_entries(WaitingQuery::Joinable, JOINED_AT_ONCE).await?;
            if joinable.is_empty() {
                return Ok(());
            }
            let _turn = self.turn.write().await;
            let parents: BTreeSet<_> = joinable.iter().map(|waiting| waiting.parent.clone()).collect();
            for parent in parents {
                self.join_those_that_wait(VecDeque::from([parent])).await?;
            }
            if joinable.len() < JOINED_AT_ONCE {
                return Ok(());
            }
        }
    }

    pub(super) async fn take_what_waited(&self) -> Result<()> {
        let wait = i64::try_from(self.deps.parent_wait.as_micros()).unwrap_or(i64::MAX);
        let before = self.deps.clock.now().timestamp_micros().saturating_sub(wait);
        loop {
            let overdue =
                self.deps.store.waiting_entries(WaitingQuery::Since(before), JOINED_AT_ONCE).await?;
            if overdue.is_empty() {
                return Ok(());
            }
            let _turn = self.turn.write().await;
            for waiting in &overdue {
                self.take_overdue(waiting).await?;
            }
            if overdue.len() < JOINED_AT_ONCE {
                return Ok(());
            }
        }
    }

    /// Takes an overdue entry as a separate payment. It stays stored as waiting, so that it can still be joined.
    async fn take_overdue(&self, waiting: &WaitingEntry) -> Result<()> {
        let locked = self.lock(&self.entries, &waiting.parent).await;
        // The parent may have arrived before the lock was acquired.
        if self.deps.store.waiting_entries(WaitingQuery::Entry(&waiting.entry), 1).await?.is_empty() {
            return Ok(());
        }
        let Some((entry, telling)) = self.reread(waiting) else { return self.give_up(waiting).await };
        let (entry, is_shadow) = shadows::without_shadow(entry);
        let whole = self.lock_wholes(std::iter::once(&entry)).await;
        let mut changes = vec![EntryChange::Taken(waiting.entry.clone())];
        if is_shadow || matches!(entry.happened, PaymentEvent::Settled { .. }) {
            let id = &entry.report.transaction().transaction_id;
            tracing::warn!(
                transaction.id = %id,
                parent = %waiting.parent,
                "the parent of a ledger entry did not arrive; the entry is recorded as a separate payment"
            );
            let event = Arc::from(&*waiting.event);
            let joining = ChildEntry {
                entry: &entry,
                telling,
                event: &event,
                told: &waiting.told,
                waiting: Some(waiting),
            };
            changes = self.take_unjoined(&joining, waiting).await?;
        }
        self.commit(&changes).await?;
        self.waits_no_longer();
        drop((whole, locked));
        self.join_those_that_wait(VecDeque::from([waiting.entry.clone()])).await
    }

    /// Takes an entry as a separate payment, or keeps it as a dead letter. Returns the changes to store. The caller holds the
    /// lock of the payment.
    async fn take_unjoined(
        &self,
        joining: &ChildEntry<'_>,
        waiting: &WaitingEntry,
    ) -> Result<Vec<EntryChange>> {
        let entry = joining.entry;
        if self.counts_legs(&entry.report.transaction().transaction_id).await? {
            self.refuse_whole(joining).await?;
            return Ok(vec![EntryChange::Arrived(waiting.entry.clone())]);
        }
        match self.take_alone(joining).await {
            Err(PaymentError::Monitor(MonitorError::Conflict(field))) => {
                self.bury_conflict(joining, &field).await?;
                Ok(vec![EntryChange::Arrived(waiting.entry.clone())])
            }
            taken => {
                taken?;
                let mut changes = vec![EntryChange::Taken(waiting.entry.clone())];
                changes.extend(self.known_by(entry).await?);
                Ok(changes)
            }
        }
    }

    /// Parses a waiting entry from its stored report. Returns `None` if this version does not accept what another one
    /// stored.
    pub(super) fn reread<'w>(&self, waiting: &'w WaitingEntry) -> Option<(ReportedEntry, ReportChannel<'w>)> {
        let (telling, text) = waiting.told.split_once('\n')?;
        let telling = match telling {
            HOOK => ReportChannel::Hook,
            ROW => ReportChannel::Row,
            event => ReportChannel::Event(event.strip_prefix(EVENT)?),
        };
        let data = Json::parse(text.as_bytes(), JsonLimits::STORED).ok()?;
        let arrival = DateTime::from_timestamp_micros(waiting.heard_micros)?;
        let told = EntryReport { telling, data, message: None, arrival };
        Some((self.read(told).ok()?, telling))
    }

    /// Turns an unreadable waiting entry into a dead letter, because it would block every other waiting entry.
    pub(super) async fn give_up(&self, waiting: &WaitingEntry) -> Result<()> {
        let told = waiting.told.split_once('\n').unwrap_or_default().1;
        let letter = DeadLetter {
            digest: Sha256::digest(&*waiting.told).into(),
            transaction_id: waiting.entry.to_string(),
            created_at: String::new(),
            reason: "unreadable",
            detail: format!("it waited for {} and cannot be read any more", waiting.parent),
            row: Json::Text(told.into()).to_string(),
            found_micros: self.deps.clock.now().timestamp_micros(),
            alert: None,
        };
        let digest = letter.digest;
        self.bury(letter, ROWS).await?;
        // An event is nowhere else.
        if !waiting.told.starts_with(ROW) && !self.deps.store.keeps_dead_letter(&digest).await? {
            return Err(PaymentError::TooManyDead);
        }
        self.commit(&[EntryChange::Arrived(waiting.entry.clone())]).await?;
        if !waiting.is_taken {
            self.waits_no_longer();
        }
        Ok(())
    }
}
