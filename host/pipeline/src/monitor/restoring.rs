//! Progress and cancellation of restoring the history from the store.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::SetOnce;
use tokio::time::timeout_at;
use tollgate_history::{History, Past, PastError, RestorationObserver, Restored};
use tollgate_model::sequence::Sequence;

/// Time from the start of a restoration for which new transactions wait for its end, instead of being refused.
const PATIENCE: Duration = Duration::from_secs(2);

/// The state of one restoration. One thread writes it; any thread may read it.
#[derive(Debug)]
pub struct Restoring {
    started: Instant,
    reached: AtomicU64,
    last: AtomicU64,
    done: SetOnce<()>,
    is_given_up: AtomicBool,
}

impl Restoring {
    /// Returns the state for an empty store, which needs no restoration.
    #[must_use]
    pub fn done() -> Self {
        let restoring = Self::up_to(Sequence::default());
        restoring.done.set(()).ok();
        restoring
    }

    /// Returns the state for a store whose last number is `last`.
    #[must_use]
    pub fn up_to(last: Sequence) -> Self {
        Self {
            started: Instant::now(),
            reached: AtomicU64::new(0),
            last: last.0.into(),
            done: SetOnce::new(),
            is_given_up: AtomicBool::new(false),
        }
    }

    /// Returns whether the history is complete.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done.initialized()
    }

    /// Waits for the end of the restoration. Returns the last number of the store at the start.
    pub async fn wait(&self) -> Sequence {
        self.done.wait().await;
        Sequence(self.last.load(Ordering::Relaxed))
    }

    /// Waits for the end of a short restoration.
    pub(crate) async fn wait_a_little(&self) {
        if !self.is_done() {
            timeout_at((self.started + PATIENCE).into(), self.done.wait()).await.ok();
        }
    }

    /// Cancels the restoration, because the service stops.
    pub fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
    }

    /// Restores the history, using as much of the snapshot as is valid. Takes long and blocks, so it must not run on
    /// the async runtime. Returns `None` if it was cancelled; the history is then incomplete.
    ///
    /// # Errors
    /// When something cannot be read. The history then stays incomplete.
    pub fn run(
        &self,
        history: &History,
        past: &dyn Past,
        snapshot: Option<&Path>,
    ) -> Result<Option<Restored>, PastError> {
        let started = Instant::now();
        let last = Sequence(self.last.load(Ordering::Relaxed));
        let Some(restored) = history.restore_all(past, last, snapshot, self)? else { return Ok(None) };
        self.done.set(()).ok();
        tracing::info!(
            transactions = restored.n_transactions,
            from_snapshot = restored.n_from_snapshot,
            series_from_snapshot = restored.n_series_from_snapshot,
            rows_read = restored.n_read,
            duration_ms = started.elapsed().as_millis(),
            "history restored"
        );
        Ok(Some(restored))
    }
}

impl RestorationObserver for Restoring {
    fn reached(&self, through: Sequence) -> bool {
        self.reached.store(through.0, Ordering::Relaxed);
        !self.is_given_up.load(Ordering::Relaxed)
    }
}

/// The status shown by `/readyz`.
impl fmt::Display for Restoring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_done() {
            return f.write_str("ok");
        }
        let (reached, last) = (self.reached.load(Ordering::Relaxed), self.last.load(Ordering::Relaxed));
        write!(f, "restored up to {reached} of {last}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_history::PastItem;
    use tollgate_model::transaction::Transaction;

    /// More rows than are read at once.
    const STEP: u64 = 16_384;

    /// A past of `n_rows` transactions; reading the one with the number `unreadable` fails.
    #[derive(Debug)]
    struct FailingPast {
        n_rows: u64,
        unreadable: u64,
    }

    impl Past for FailingPast {
        fn each_after(
            &self,
            after: Sequence,
            through: Sequence,
            show: &mut dyn FnMut(PastItem<'_>),
        ) -> Result<(), PastError> {
            let body = r#"{"amount": 1, "currency": "EUR", "reference": "r"}"#;
            let (transaction, _) = Transaction::parse(body.as_bytes(), chrono::DateTime::UNIX_EPOCH).unwrap();
            for number in after.0 + 1..=through.0.min(self.n_rows) {
                if number == self.unreadable {
                    return Err(PastError { reason: "damaged".into() });
                }
                show(PastItem::Accepted { sequence: Sequence(number), transaction: &transaction });
            }
            Ok(())
        }
    }

    #[test]
    fn everything_is_brought_back_and_then_it_is_done() {
        let n_rows = 2 * STEP + 3;
        let (history, restoring) = (History::new(), Restoring::up_to(Sequence(n_rows)));
        assert_eq!(restoring.to_string(), format!("restored up to 0 of {n_rows}"));
        restoring.run(&history, &FailingPast { n_rows, unreadable: 0 }, None).unwrap();
        assert_eq!((restoring.is_done(), history.len() as u64), (true, n_rows));
        assert_eq!(restoring.to_string(), "ok");
    }

    #[test]
    fn one_that_fails_or_is_given_up_is_never_done() {
        let (history, restoring) = (History::new(), Restoring::up_to(Sequence(3 * STEP)));
        restoring.run(&history, &FailingPast { n_rows: 3 * STEP, unreadable: STEP + 7 }, None).unwrap_err();
        assert!(!restoring.is_done());
        assert!(restoring.to_string().ends_with(&format!(" of {}", 3 * STEP)));
        let (history, restoring) = (History::new(), Restoring::up_to(Sequence(3 * STEP)));
        restoring.give_up();
        assert!(
            restoring
                .run(&history, &FailingPast { n_rows: 3 * STEP, unreadable: 0 }, None)
                .unwrap()
                .is_none()
        );
        assert!(!restoring.is_done() && history.is_empty());
    }
}
