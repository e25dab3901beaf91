//! One pass over the rows of the ledger.

use std::sync::Arc;
use std::time::Duration;

use crate::database::{Horizon, LedgerConnection, LedgerError, LedgerRow, PagePosition, RowError, micros_of};
use crate::kind::{EntryReport, ReportChannel};
use tokio::sync::watch;
use tollgate_store::{DeadLetter, LedgerMark, LedgerProgress};
use tollgate_telemetry::config::LedgerKind;

use crate::payments::{KeptLetters, RowEntry};
use crate::sync::progress::SyncProgress;
use crate::sync::recent::RecentRows;
use crate::sync::zone::minutes_ahead;
use crate::sync::{FeedMode, LedgerSyncDeps, LedgerSyncError};
use tollgate_pipeline::monitor::{FeedReport, LedgerFeedRow, MonitorError};

/// An id of this length was truncated, so no page can start right after it. No index of PostgreSQL holds an id of this
/// length.
const ID_CHARACTERS_MAX: usize = 8_192;
/// Characters of an id that are kept with a dead letter.
const SHOWN_CHARACTERS: usize = 256;

pub(super) struct LedgerReader {
    deps: LedgerSyncDeps,
    shown: Arc<SyncProgress>,
    stopped: watch::Receiver<bool>,
    /// The mark in the store; `None` until it was loaded, or if there is none.
    mark: Option<LedgerMark>,
    is_looked_up: bool,
    recent: RecentRows,
    /// Rows requested at once; reduced after a row that the database cannot show.
    limit: usize,
    /// Whether the times of rows have no time zone.
    lacks_zone: bool,
}

struct LedgerPage {
    rows: Vec<LedgerRow>,
    /// Set if the only row consists of no more than its key.
    refusal: Option<RowError>,
    is_last: bool,
}

#[derive(Default)]
struct TakenRows {
    fed: Vec<LedgerFeedRow>,
    /// Entries of a ledger that keeps several for one payment.
    entries: Vec<RowEntry>,
}

impl TakenRows {
    const fn is_empty(&self) -> bool {
        self.fed.is_empty() && self.entries.is_empty()
    }
}

impl LedgerReader {
    pub(super) fn new(
        deps: LedgerSyncDeps,
        shown: Arc<SyncProgress>,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        let limit = deps.settings.batch_rows.get();
        Self {
            deps,
            shown,
            stopped,
            mark: None,
            is_looked_up: false,
            recent: RecentRows::default(),
            limit,
            lacks_zone: false,
        }
    }

    /// Returns whether rows would be taken at the moment.
    pub(super) fn readiness(&self) -> Result<(), MonitorError> {
        self.deps.monitor.readiness()
    }

    pub(super) async fn connect(&self) -> Result<LedgerConnection, LedgerError> {
        self.deps.ledger.connect().await
    }

    pub(super) fn interval(&self) -> Duration {
        self.deps.settings.interval
    }

    /// Reads from the overlap to the current end, or from an earlier time if the look-back was extended.
    pub(super) async fn pass(&mut self, connection: &mut LedgerConnection) -> Result<(), LedgerSyncError> {
        self.lacks_zone = connection.lacks_zone();
        // Queried first: a row committed after this answer is not older than the horizon.
        let horizon = connection.horizon().await?;
        let since = horizon.now.saturating_sub(micros(self.deps.settings.look_back)).max(0);
        let mark = self.mark_from(since).await?;
        let begins_earlier = since < mark.since_micros;
        let mut position = if begins_earlier { PagePosition::From(since) } else { self.start(&mark) };
        if self.shown.is_first_pass() {
            let from = mark.micros.saturating_sub(micros(self.deps.settings.overlap)).max(mark.since_micros);
            self.shown.begins(connection.count(if begins_earlier { since } else { from }).await?);
        }
        loop {
            let page = self.look(connection, &position).await?;
            let Some(last) = page.rows.last() else { break };
            position = behind(last);
            self.take(page.rows, page.refusal.as_ref(), &horizon).await?;
            if page.is_last {
                break;
            }
            if *self.stopped.borrow() {
                return Err(LedgerSyncError::Stopping);
            }
        }
        if begins_earlier {
            let mark = self.mark.clone().unwrap_or(mark);
            self.keep(LedgerMark { since_micros: since, ..mark }).await?;
        }
        self.recent.end_pass();
        self.shown.passed(self.mark.as_ref().map(|mark| mark.micros));
        Ok(())
    }

    /// Returns the mark. On the very first pass, creates it at `since`, the look-back before the ledger's own clock.
    async fn mark_from(&mut self, since: i64) -> Result<LedgerMark, LedgerSyncError> {
        if !self.is_looked_up {
            self.mark = self.deps.store.ledger_mark(self.deps.ledger.feed()).await?;
            self.is_looked_up = true;
        }
        if let Some(mark) = &self.mark {
            return Ok(mark.clone());
        }
        // Stored before anything is read, so that neither an empty ledger nor a restart moves the beginning.
        self.keep(LedgerMark { since_micros: since, micros: since, row_id: None }).await
    }

    async fn keep(&mut self, mark: LedgerMark) -> Result<LedgerMark, LedgerSyncError> {
        let feed = Arc::clone(self.deps.ledger.feed());
        let progress = LedgerProgress { feed, mark: Some(mark.clone()), dead_letters: Vec::new() };
        self.deps.monitor.feed(Vec::new(), FeedMode::History, progress).await?;
        Ok(self.mark.insert(mark).clone())
    }

    fn start(&self, mark: &LedgerMark) -> PagePosition {
        let overlap = micros(self.deps.settings.overlap);
        match &mark.row_id {
            Some(id) if overlap == 0 => PagePosition::behind(mark.micros, id),
            _ => PagePosition::From(mark.micros.saturating_sub(overlap).max(mark.since_micros)),
        }
    }

    /// Returns the next page. Reads rows one at a time to find one that the database cannot show.
    async fn look(
        &mut self,
        connection: &mut LedgerConnection,
        position: &PagePosition,
    ) -> Result<LedgerPage, LedgerError> {
        loop {
            match connection.rows(position, self.limit).await {
                Ok(rows) => {
                    let is_last = rows.len() < self.limit;
                    self.limit = (self.limit * 2).min(self.deps.settings.batch_rows.get());
                    return Ok(LedgerPage { rows, refusal: None, is_last });
                }
                Err(LedgerError::Unshowable(_) | LedgerError::Slow) if self.limit > 1 => self.limit = 1,
                Err(LedgerError::Unshowable(_) | LedgerError::Slow) => {
                    return alone(connection, position).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn take(
        &mut self,
        rows: Vec<LedgerRow>,
        refusal: Option<&RowError>,
        horizon: &Horizon,
    ) -> Result<(), LedgerSyncError> {
        let mark = rows.last().map(|last| self.advanced(last, horizon));
        let (mut taken, mut digests, mut dead_letters) = (TakenRows::default(), Vec::new(), Vec::new());
        let mut newest = None;
        for row in &rows {
            let digest = row.digest();
            digests.push(digest);
            if self.recent.knows(&digest) {
                continue;
            }
            newest = newest.max(micros_of(&row.created_at));
            if let Err(refusal) = self.read(row, digest, refusal, &mut taken) {
                dead_letters.push(self.dead_letter(row, digest, &refusal));
            }
        }
        if let Some(newest) = newest.filter(|_| self.lacks_zone) {
            self.shown.lies_ahead(minutes_ahead(newest, horizon.now));
        }
        // Before the mark that passes their rows.
        let kept = self.keep_dead(dead_letters).await?;
        let moved = mark.filter(|mark| !kept.is_full && self.mark.as_ref() != Some(mark));
        let mut report = FeedReport::default();
        if !taken.is_empty() || moved.is_some() {
            let feed = Arc::clone(self.deps.ledger.feed());
            let progress = LedgerProgress { feed, mark: moved.clone(), dead_letters: Vec::new() };
            report = self.hand_over(taken, progress).await?;
        }
        if report.n_differing > 0 {
            self.deps.payments.count_dead_letters().await?;
        }
        if kept.is_full || report.is_full {
            // The page is read again, so only what is new is counted.
            let report = FeedReport { n_differing: 0, ..report };
            let n_rows = report.n_taken + report.n_updated + kept.n_logged;
            self.shown.took(n_rows, report, kept.n_logged, self.mark.as_ref().map(|mark| mark.micros));
            return Err(LedgerSyncError::TooManyDead);
        }
        self.mark = moved.or_else(|| self.mark.take());
        digests.iter().for_each(|digest| self.recent.remember(digest));
        self.shown.took(rows.len(), report, kept.n_logged, self.mark.as_ref().map(|mark| mark.micros));
        Ok(())
    }

    async fn keep_dead(&self, letters: Vec<DeadLetter>) -> Result<KeptLetters, LedgerSyncError> {
        if letters.is_empty() {
            return Ok(KeptLetters::default());
        }
        Ok(self.deps.payments.keep_rows(self.deps.ledger.feed(), letters).await?)
    }

    /// Reads a row as a transaction, or as an entry of a ledger that keeps several for one payment.
    fn read(
        &self,
        row: &LedgerRow,
        digest: [u8; 32],
        refusal: Option<&RowError>,
        taken: &mut TakenRows,
    ) -> Result<(), RowError> {
        if let Some(refusal) = refusal {
            return Err(refusal.clone());
        }
        let (keys_max, arrival) = (self.deps.object_keys_max, self.deps.clock.now());
        let if_it_differs = || self.dead_letter(row, digest, &differs());
        let is_unclear = if self.deps.payments.kind() == LedgerKind::Generic {
            let (transaction, fingerprint) = row.transaction(keys_max, arrival)?;
            let is_unclear = transaction.has_unclear_identifier();
            taken.fed.push(LedgerFeedRow { transaction, fingerprint, if_it_differs: if_it_differs() });
            is_unclear
        } else {
            let data = row.to_json(keys_max)?;
            let of_row =
                EntryReport { channel: ReportChannel::Row, data: data.clone(), message: None, arrival };
            let entry = self.deps.payments.read(of_row).map_err(|error| RowError::from(&error))?;
            let is_unclear = entry.report.transaction().has_unclear_identifier();
            taken.entries.push(RowEntry { entry, data, if_it_differs: if_it_differs() });
            is_unclear
        };
        if is_unclear {
            self.deps.metrics.unclear_identifier("ledger");
        }
        Ok(())
    }

    /// Passes the rows and the progress on to the payments or the monitor.
    async fn hand_over(
        &self,
        taken: TakenRows,
        progress: LedgerProgress,
    ) -> Result<FeedReport, LedgerSyncError> {
        if !taken.entries.is_empty() {
            return Ok(self.deps.payments.take_rows(taken.entries, progress).await?);
        }
        if !taken.fed.is_empty() {
            self.deps.payments.note_kind().await?;
        }
        let manner = if self.deps.settings.evaluate { FeedMode::Judge } else { FeedMode::History };
        Ok(self.deps.monitor.feed(taken.fed, manner, progress).await?)
    }

    /// Returns the mark after this row; it never passes the horizon and never moves back.
    fn advanced(&self, last: &LedgerRow, horizon: &Horizon) -> LedgerMark {
        let until = LedgerMark { since_micros: 0, micros: horizon.complete, row_id: None };
        let reached = match micros_of(&last.created_at) {
            Some(micros) if micros <= horizon.complete => {
                LedgerMark { since_micros: 0, micros, row_id: Some(last.id.as_str().into()) }
            }
            // The time is after the horizon or cannot be parsed: earlier rows may still appear.
            _ => until,
        };
        match &self.mark {
            Some(mark) if mark.micros > reached.micros => mark.clone(),
            Some(mark) => LedgerMark { since_micros: mark.since_micros, ..reached },
            None => reached,
        }
    }

    fn dead_letter(&self, row: &LedgerRow, digest: [u8; 32], refusal: &RowError) -> DeadLetter {
        DeadLetter {
            digest,
            transaction_id: row.id.chars().take(SHOWN_CHARACTERS).collect(),
            created_at: row.created_at.clone(),
            reason: refusal.reason,
            detail: refusal.detail.clone(),
            row: row.copy(),
            found_micros: self.deps.clock.now().timestamp_micros(),
            alert: None,
        }
    }
}

/// Returns the next row alone. Its key is read first, because a database that sorts before it limits would compute
/// every row.
async fn alone(
    connection: &mut LedgerConnection,
    position: &PagePosition,
) -> Result<LedgerPage, LedgerError> {
    let Some((created_at, id)) = connection.key(position).await? else {
        return Ok(LedgerPage { rows: Vec::new(), refusal: None, is_last: true });
    };
    let at = PagePosition::At { created_at: created_at.clone(), id: id.clone() };
    let detail = match connection.rows(&at, 1).await {
        Ok(rows) if !rows.is_empty() => return Ok(LedgerPage { rows, refusal: None, is_last: false }),
        Ok(_) => "it is gone, or its id is too long".to_owned(),
        Err(LedgerError::Unshowable(detail)) => detail,
        Err(LedgerError::Slow) => "the database takes too long to return it".to_owned(),
        Err(error) => return Err(error),
    };
    let refusal = Some(RowError { reason: "unreadable", detail });
    Ok(LedgerPage { rows: vec![LedgerRow::unshowable(created_at, id)], refusal, is_last: false })
}

fn differs() -> RowError {
    RowError {
        reason: "transaction_conflict",
        detail: "this id is known with another amount, currency, source or destination".to_owned(),
    }
}

fn behind(last: &LedgerRow) -> PagePosition {
    if last.id.chars().count() >= ID_CHARACTERS_MAX {
        return PagePosition::Later(last.created_at.clone());
    }
    PagePosition::After { created_at: last.created_at.clone(), id: last.id.clone() }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
