//! Entries that wait for their parent: joined when it arrives, taken as separate payments when it does not.
//!
//! A waiting entry keeps one report of each channel, because they differ: a row asks for no verdict, and an event has lost
//! digits.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use chrono::DateTime;
use sha2::{Digest as _, Sha256};
use tollgate_model::transaction::JsonLimits;
use tollgate_store::WaitingQuery;

use super::child_entry::{ChildEntry, EVENT, FurtherReport, HOOK, ROW, RereadEntry, Result, without_shadow};
use super::{
    DeadLetter, EntryChange, EntryReport, JOINED_AT_ONCE, Json, MonitorError, PaymentError, PaymentEvent,
    PaymentsInner, ROWS, ReportChannel, WAITING_MAX, WaitingEntry,
};

impl PaymentsInner {
    /// Stores an entry as waiting for its parent. If it waits already, the report is kept beside those of other channels; if it
    /// waited too long, it is one of the separate payment.
    pub(super) async fn wait(
        &self,
        child: &ChildEntry<'_>,
        parent: &str,
        waiting: Option<&WaitingEntry>,
    ) -> Result<()> {
        // Any other entry was taken as a payment when it arrived.
        let lacks_reports =
            matches!(child.entry.happened, PaymentEvent::Settled { .. } | PaymentEvent::Shadow { .. });
        match waiting {
            None => self.begin_to_wait(child, parent).await,
            Some(waiting) if waiting.is_taken && lacks_reports => self.take_alone(child).await,
            Some(waiting) if lacks_reports => self.keep_report(child, waiting).await,
            Some(_) => Ok(()),
        }
    }

    async fn begin_to_wait(&self, child: &ChildEntry<'_>, parent: &str) -> Result<()> {
        if self.n_waiting.load(Ordering::Relaxed) >= WAITING_MAX {
            return Err(PaymentError::TooManyWait);
        }
        let waiting = WaitingEntry {
            entry: (*child.entry.id).into(),
            parent: parent.into(),
            event: (**child.event).into(),
            told: child.sent.into(),
            heard_micros: self.deps.clock.now().timestamp_micros(),
            is_taken: false,
        };
        self.commit(&[EntryChange::Waits(waiting)]).await?;
        self.deps.metrics.ledger_waiting(self.n_waiting.fetch_add(1, Ordering::Relaxed) + 1);
        Ok(())
    }

    async fn keep_report(&self, child: &ChildEntry<'_>, waiting: &WaitingEntry) -> Result<()> {
        if reports_of(waiting).iter().any(|(_, sent)| channel_of(sent) == channel_of(child.sent)) {
            return Ok(());
        }
        let sent = format!("{}\n{}\n{}", waiting.told, child.event, child.sent);
        Ok(self
            .commit(&[EntryChange::ReportedAgain { entry: waiting.entry.clone(), told: sent.into() }])
            .await?)
    }

    pub(super) fn waits_no_longer(&self) {
        self.deps.metrics.ledger_waiting(self.n_waiting.fetch_sub(1, Ordering::Relaxed).saturating_sub(1));
    }

    pub(super) async fn join_ready_entries(&self) -> Result<()> {
        loop {
            let mut joinable =
                self.deps.store.waiting_entries(WaitingQuery::Joinable, JOINED_AT_ONCE).await?;
            if joinable.is_empty() {
                return Ok(());
            }
            let _turn = self.turn.write().await;
            // Entries of one hold may name two parents, and a void releases what the commits left.
            joinable.sort_by_cached_key(|waiting| {
                self.reread(waiting).is_some_and(|reread| reread.entry.is_release())
            });
            for waiting in &joinable {
                self.join_those_that_wait(VecDeque::from([waiting.parent.clone()])).await?;
            }
            if joinable.len() < JOINED_AT_ONCE {
                return Ok(());
            }
        }
    }

    pub(super) async fn expire_waiting(&self) -> Result<()> {
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
        // The parent, or a further report, may have arrived before the lock was acquired.
        let waiting = self.deps.store.waiting_entries(WaitingQuery::Entry(&waiting.entry), 1).await?.pop();
        let Some(waiting) = &waiting else { return Ok(()) };
        let Some(reread) = self.reread(waiting) else { return self.give_up(waiting).await };
        let (entry, is_shadow) = without_shadow(reread.entry);
        let reread = RereadEntry { entry, ..reread };
        let entry = &reread.entry;
        let whole = self.lock_wholes(std::iter::once(entry)).await;
        let mut changes = vec![EntryChange::Taken(waiting.entry.clone())];
        if is_shadow || matches!(entry.happened, PaymentEvent::Settled { .. }) {
            let id = &entry.report.transaction().transaction_id;
            tracing::warn!(
                transaction.id = %id,
                parent = %waiting.parent,
                "the parent of a ledger entry did not arrive; the entry is recorded as a separate payment"
            );
            changes = self.take_unjoined(&reread.child(), waiting).await?;
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
                self.store_conflict(joining, &field).await?;
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

    /// Parses a waiting entry from its stored reports. Returns `None` if this version does not accept what another one
    /// stored first.
    pub(super) fn reread<'w>(&self, waiting: &'w WaitingEntry) -> Option<RereadEntry<'w>> {
        let mut reports = reports_of(waiting).into_iter();
        let read = |report| self.reread_report(waiting.heard_micros, report);
        let FurtherReport { entry, channel, event, sent } = reports.next().and_then(read)?;
        let further = reports.filter_map(read).collect();
        Some(RereadEntry { entry, channel, event, sent, further, waiting })
    }

    /// Parses all stored reports of a waiting entry that this version accepts.
    pub(super) fn reread_all<'w>(&self, waiting: &'w WaitingEntry) -> Vec<FurtherReport<'w>> {
        let read = |report| self.reread_report(waiting.heard_micros, report);
        reports_of(waiting).into_iter().filter_map(read).collect()
    }

    fn reread_report<'w>(
        &self,
        arrival_micros: i64,
        (event, sent): (&'w str, &'w str),
    ) -> Option<FurtherReport<'w>> {
        let (channel, text) = split(sent)?;
        let data = Json::parse(text.as_bytes(), JsonLimits::STORED).ok()?;
        let arrival = DateTime::from_timestamp_micros(arrival_micros)?;
        let entry = self.read(EntryReport { channel, data, message: None, arrival }).ok()?;
        Some(FurtherReport { entry, channel, event: event.into(), sent })
    }

    /// Turns an unreadable waiting entry into a dead letter, because it would block every other waiting entry.
    pub(super) async fn give_up(&self, waiting: &WaitingEntry) -> Result<()> {
        let sent = waiting.told.split_once('\n').unwrap_or_default().1;
        let letter = DeadLetter {
            digest: Sha256::digest(&*waiting.told).into(),
            transaction_id: waiting.entry.to_string(),
            created_at: String::new(),
            reason: "unreadable",
            detail: format!("it waited for {} and cannot be read any more", waiting.parent),
            row: Json::Text(sent.into()).to_string(),
            found_micros: self.deps.clock.now().timestamp_micros(),
            alert: None,
        };
        let digest = letter.digest;
        self.store_dead_letter(letter, ROWS).await?;
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

/// Returns the reports of a waiting entry, each with the name of its event. The first one has two lines, and each further one
/// has a line with that name before its own two. JSON has no line break.
fn reports_of(waiting: &WaitingEntry) -> Vec<(&str, &str)> {
    let (mut event, mut rest) = (&*waiting.event, &*waiting.told);
    let mut reports = Vec::new();
    loop {
        let end = rest.match_indices('\n').nth(1).map_or(rest.len(), |(end, _)| end);
        let (report, further) = rest.split_at(end);
        reports.push((event, report));
        let Some((name, report)) = further.get(1..).and_then(|further| further.split_once('\n')) else {
            return reports;
        };
        (event, rest) = (name, report);
    }
}

/// Returns the word for the channel of a stored report.
fn channel_of(sent: &str) -> &str {
    sent.split([' ', '\n']).next().unwrap_or_default()
}

/// Splits a stored report into its channel and its data.
fn split(sent: &str) -> Option<(ReportChannel<'_>, &str)> {
    let (channel, text) = sent.split_once('\n')?;
    let channel = match channel {
        HOOK => ReportChannel::Hook,
        ROW => ReportChannel::Row,
        event => ReportChannel::Event(event.strip_prefix(EVENT)?),
    };
    Some((channel, text))
}
