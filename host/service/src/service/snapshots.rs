//! Snapshots of the history while the service runs, and the last one at shutdown.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_history::{
    History, Past, PastError, SNAPSHOT_FILE, SnapshotError, SnapshotMark, WrittenSnapshot,
};
use tollgate_model::sequence::Sequence;

use tollgate_pipeline::monitor::Restoring;
use tollgate_telemetry::config::Settings;
use tollgate_telemetry::logs::ErrorChain;
use tollgate_telemetry::metrics::Metrics;

/// Maximum pause between steps of a snapshot. While transactions arrive, the writer pauses after each step for the
/// duration of that step: the snapshot is not urgent.
const REST_MAX: Duration = Duration::from_millis(50);

/// Time after which it is looked again whether a snapshot is due.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Time after a snapshot that failed until the next one, unless the interval is shorter.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// Numbers after the last snapshot from which the next one is due, if only what changed must be written.
const UNWRITTEN_MAX: u64 = 100_000;

/// Writes and restores snapshots.
#[derive(Debug)]
pub(super) struct Snapshots {
    pub(super) history: Arc<History>,
    /// Progress of the restore; no snapshot is written before it completes.
    pub(super) restoring: Arc<Restoring>,
    file: PathBuf,
    /// Interval between snapshots; `None`: only at shutdown, and where records need it.
    interval: Option<Duration>,
    metrics: Arc<Metrics>,
    /// State that the file contains, if known. Locked while a snapshot is written, so that only one is written at a
    /// time.
    mark: Mutex<Option<SnapshotMark>>,
    /// Identities of the series when the last snapshot began that did not fail.
    begun_with: Mutex<Vec<String>>,
    /// Whether a snapshot in progress must stop.
    is_stopping: AtomicBool,
}

impl Snapshots {
    /// Creates the snapshots of a history in which everything up to `last` still has to be restored.
    pub(super) fn new(
        history: &Arc<History>,
        last: Sequence,
        settings: &Settings,
        metrics: &Arc<Metrics>,
    ) -> Arc<Self> {
        history.resume_at(last);
        Arc::new(Self {
            history: Arc::clone(history),
            restoring: Arc::new(Restoring::up_to(last)),
            file: settings.data_dir.join(SNAPSHOT_FILE),
            interval: settings.snapshot_interval,
            metrics: Arc::clone(metrics),
            mark: Mutex::default(),
            begun_with: Mutex::default(),
            is_stopping: AtomicBool::new(false),
        })
    }

    /// Restores the history, from the file as far as it is valid. Takes long.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub(super) fn restore(&self, past: &dyn Past) -> Result<(), PastError> {
        let mut mark = self.mark.lock();
        if let Some(restored) = self.restoring.run(&self.history, past, Some(&self.file))? {
            self.metrics.history_restored(
                restored.n_from_snapshot,
                restored.n_transactions.saturating_sub(restored.n_from_snapshot),
            );
            if restored.refused.is_some() {
                self.metrics.snapshot_refused();
            }
            *mark = restored.mark;
        }
        Ok(())
    }

    /// Writes snapshots at the configured interval, and whenever much of what is kept in records has changed; never returns.
    pub(super) async fn write_now_and_then(self: Arc<Self>) {
        let mut last = tokio::time::Instant::now();
        let mut has_failed = false;
        loop {
            tokio::time::sleep(self.interval.map_or(LOOK_EVERY, |interval| interval.min(LOOK_EVERY))).await;
            let is_due = self.interval.is_some_and(|interval| last.elapsed() >= interval);
            let may_try = !has_failed || last.elapsed() >= RETRY_AFTER;
            if is_due || (may_try && (self.has_many_unwritten() || self.has_new_series())) {
                let writing = Arc::clone(&self);
                let written = tokio::task::spawn_blocking(move || writing.write_gently()).await;
                has_failed = !written.unwrap_or(false);
                last = tokio::time::Instant::now();
            }
        }
    }

    /// Returns whether a start would read more of the store than it should. A file of everything is not written for that.
    fn has_many_unwritten(&self) -> bool {
        // Locked while the history is restored or a snapshot is written.
        let Some(mark) = self.mark.try_lock() else { return false };
        let through = mark.as_ref().map_or(0, |mark| mark.through().0);
        self.history.keeps_records()
            && self.history.last_sequence().0.saturating_sub(through) >= UNWRITTEN_MAX
    }

    /// Returns whether a start would read all of the store for a series that came since the last snapshot. A file of
    /// everything is not written for that.
    fn has_new_series(&self) -> bool {
        if !self.history.keeps_records() || !self.restoring.is_done() {
            return false;
        }
        let begun_with = self.begun_with.lock();
        self.history.series_identities().iter().any(|identity| begun_with.binary_search(identity).is_err())
    }

    /// Writes the final snapshot, unless the file is already current.
    pub(super) async fn write_last(self: Arc<Self>) {
        self.is_stopping.store(true, Ordering::Relaxed);
        let write = move || {
            self.write(&|| true);
            if let Err(error) = self.history.write_index() {
                tracing::warn!(error = %ErrorChain(&error), "the index of the history cannot be written; the next start takes longer");
            }
        };
        tokio::task::spawn_blocking(write).await.ok();
    }

    /// Returns whether it was written, or nothing changed since the last one.
    fn write_gently(&self) -> bool {
        let last = Mutex::new(Instant::now());
        self.write(&|| {
            let mut last = last.lock();
            thread::sleep(last.elapsed().min(REST_MAX));
            *last = Instant::now();
            !self.is_stopping.load(Ordering::Relaxed)
        })
    }

    fn write(&self, go_on: &dyn Fn() -> bool) -> bool {
        if !self.restoring.is_done() {
            return true;
        }
        let mut mark = self.mark.lock();
        if !self.history.has_snapshot(&self.file) {
            *mark = None;
        }
        let started = Instant::now();
        let identities = self.history.series_identities();
        let written = match self.history.write_snapshot(&self.file, mark.as_ref(), go_on) {
            Ok(None) | Err(SnapshotError::GivenUp) => true,
            Ok(Some(snapshot)) => {
                self.metrics.snapshot_written(snapshot.n_bytes);
                log(&snapshot, started.elapsed());
                *mark = Some(snapshot.mark);
                true
            }
            Err(error) => {
                self.metrics.snapshot_failed();
                tracing::warn!(error = %ErrorChain(&error), "the snapshot of the history cannot be written; a restart takes longer");
                false
            }
        };
        if written {
            *self.begun_with.lock() = identities;
        }
        written
    }
}

fn log(written: &WrittenSnapshot, duration: Duration) {
    tracing::info!(
        transactions = written.n_transactions,
        through = written.mark.through().0,
        entries = written.n_entries,
        bytes = written.n_bytes,
        duration_ms = duration.as_millis(),
        "snapshot of the history written"
    );
}
