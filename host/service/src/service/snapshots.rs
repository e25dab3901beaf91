//! Snapshots of the history while the service runs, and the last one when it stops.

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

use crate::config::Settings;
use crate::monitor::Restoring;
use crate::telemetry::logs::ErrorChain;
use crate::telemetry::metrics::Metrics;

/// While transactions come, whoever writes a snapshot rests after every step for as long as that took, but no longer than
/// this: it is there for a restart that may never come.
const REST_MAX: Duration = Duration::from_millis(50);

/// Who writes snapshots.
#[derive(Debug)]
pub(super) struct Snapshots {
    /// What of.
    history: Arc<History>,
    /// Before it is done there is nothing worth writing.
    pub(super) restoring: Arc<Restoring>,
    /// Where.
    file: PathBuf,
    /// How often; `None`: not before the end.
    interval: Option<Duration>,
    /// Who counts.
    metrics: Arc<Metrics>,
    /// What the file is of, as far as that is known. Held while one is written, so that nobody writes another.
    mark: Mutex<Option<SnapshotMark>>,
    /// What goes on is to end.
    is_stopping: AtomicBool,
}

impl Snapshots {
    /// Of a history to which everything up to `last` is still to be brought back.
    pub(super) fn of(
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
            is_stopping: AtomicBool::new(false),
        })
    }

    /// Brings the history back, from the file as far as it can be believed; takes long.
    ///
    /// # Errors
    /// When something cannot be read.
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

    /// Writes one as often as it should be; never ends by itself.
    pub(super) async fn write_now_and_then(self: Arc<Self>) {
        let Some(interval) = self.interval else { return std::future::pending().await };
        loop {
            tokio::time::sleep(interval).await;
            let writing = Arc::clone(&self);
            tokio::task::spawn_blocking(move || writing.write_gently()).await.ok();
        }
    }

    /// Writes what nobody changes any more, unless the file is of that already.
    pub(super) async fn write_last(self: Arc<Self>) {
        self.is_stopping.store(true, Ordering::Relaxed);
        tokio::task::spawn_blocking(move || self.write(&|| true)).await.ok();
    }

    fn write_gently(&self) {
        let last = Mutex::new(Instant::now());
        self.write(&|| {
            let mut last = last.lock();
            thread::sleep(last.elapsed().min(REST_MAX));
            *last = Instant::now();
            !self.is_stopping.load(Ordering::Relaxed)
        });
    }

    fn write(&self, go_on: &dyn Fn() -> bool) {
        if !self.restoring.is_done() {
            return;
        }
        let mut mark = self.mark.lock();
        if !self.file.exists() {
            *mark = None;
        }
        let started = Instant::now();
        match self.history.write_snapshot(&self.file, mark.as_ref(), go_on) {
            Ok(None) | Err(SnapshotError::GivenUp) => {}
            Ok(Some(written)) => {
                self.metrics.snapshot_written(written.n_bytes);
                log(&written, started.elapsed());
                *mark = Some(written.mark);
            }
            Err(error) => {
                self.metrics.snapshot_failed();
                tracing::warn!(error = %ErrorChain(&error), "the history cannot be written down; a restart takes longer");
            }
        }
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
