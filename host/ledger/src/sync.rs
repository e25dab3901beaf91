//! Reads a ledger's database into the history.
//!
//! ```text
//!  every interval:  horizon ─▶ rows from (mark − overlap) on, page by page ─▶ seen before? ──yes──▶ nothing
//!                                                                       │ no
//!                        dead letter ◀──no── a transaction? ◀───────────┘
//!                             │                    │ yes
//!                             └──▶ monitor.feed: new transactions, status changes and the mark, in one commit
//! ```
//!
//! INVARIANT: the mark never passes a row that is not durable here, nor the horizon, beyond which rows may still be
//! committed. Every pass begins an overlap before the mark, so it finds rows whose commit was delayed. Known ids are
//! recognised, so no row counts twice. Requests never wait for the ledger.

mod pass;
mod progress;
mod recent;
mod zone;

use std::sync::Arc;
use std::time::Duration;

use crate::database::{Ledger, LedgerConnection, LedgerError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tollgate_model::clock::Clock;
use tollgate_store::{Store, StoreError};
use tollgate_telemetry::config::LedgerSettings;

use crate::payments::{PaymentError, Payments};
use pass::LedgerReader;
use progress::SyncProgress;
use tollgate_pipeline::monitor::{FeedMode, Monitor, MonitorError};
use tollgate_telemetry::logs::ErrorChain;
use tollgate_telemetry::metrics::Metrics;
use tollgate_telemetry::readiness::ReadinessCheck;

pub use progress::LedgerStatus;

/// First and last pause between attempts to reach the database; each is twice the one before. The last bounds how long
/// it takes to notice that the database is back.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(2);
const OPERATORS_PAUSE: Duration = Duration::from_secs(5);
/// How long a stop waits for the current page; a page that is cut off is read again.
const STOP: Duration = Duration::from_secs(5);

/// The dependencies of a [`LedgerSync`].
#[derive(Debug)]
pub struct LedgerSyncDeps {
    /// The ledger.
    pub ledger: Ledger,
    /// Settings for reading it.
    pub settings: LedgerSettings,
    /// The monitor that receives the rows.
    pub monitor: Monitor,
    /// Joins the rows of a ledger that keeps several entries for one payment.
    pub payments: Payments,
    /// The store that keeps the mark.
    pub store: Store,
    /// Readiness check that passes once the ledger was read to its end; `None` if readiness does not depend on it.
    pub first_reading: Option<ReadinessCheck>,
    /// Metrics registry.
    pub metrics: Arc<Metrics>,
    /// Maximum number of keys in one object of a row.
    pub object_keys_max: usize,
    /// The clock of arrivals.
    pub clock: Arc<dyn Clock>,
}

/// Follows a ledger until it is stopped or dropped.
#[derive(Debug)]
pub struct LedgerSync {
    stop: watch::Sender<bool>,
    following: JoinHandle<()>,
    status: LedgerStatus,
}

/// The reason why a pass ended early. The rows it took stay stored.
#[derive(Debug, thiserror::Error)]
enum LedgerSyncError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("rows of the ledger were not accepted: {0}")]
    Monitor(#[from] MonitorError),
    #[error("too many entries of the ledger wait for their parent")]
    TooManyWait,
    #[error(
        "no room for the dead letter of a row, and no row is passed that has neither a verdict nor a dead letter; reading goes on when \
         there is room, see GET /ledger/dead-letters"
    )]
    TooManyDead,
    #[error("the service stops")]
    Stopping,
}

impl From<PaymentError> for LedgerSyncError {
    fn from(error: PaymentError) -> Self {
        match error {
            PaymentError::Monitor(error) => Self::Monitor(error),
            PaymentError::Store(error) => Self::Store(error),
            PaymentError::TooManyWait => Self::TooManyWait,
            PaymentError::TooManyDead => Self::TooManyDead,
        }
    }
}

impl LedgerSync {
    /// Starts to follow the ledger. Must be called within a tokio runtime; the database may be unreachable.
    #[must_use]
    pub fn begin(deps: LedgerSyncDeps) -> Self {
        let (stop, stopped) = watch::channel(false);
        let shown = Arc::new(SyncProgress::new(&deps.metrics, deps.first_reading.clone()));
        let status = LedgerStatus::new(&shown);
        let following = tokio::spawn(follow(deps, shown, stopped));
        Self { stop, following, status }
    }

    /// Returns a handle to the status.
    #[must_use]
    pub const fn status(&self) -> &LedgerStatus {
        &self.status
    }

    /// Stops after the current page.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        if timeout(STOP, &mut self.following).await.is_err() {
            self.following.abort();
        }
    }
}

impl Drop for LedgerSync {
    fn drop(&mut self) {
        self.following.abort();
    }
}

/// Connects and reads, and reconnects after errors, until it is stopped.
async fn follow(deps: LedgerSyncDeps, shown: Arc<SyncProgress>, mut stopped: watch::Receiver<bool>) {
    let mut reader = LedgerReader::new(deps, Arc::clone(&shown), stopped.clone());
    let mut pause = FIRST_PAUSE;
    loop {
        let ended = read(&mut reader, &shown, &mut stopped).await;
        let Err(error) = ended else { return };
        shown.failed(&error);
        pause = match &error {
            LedgerSyncError::Stopping => return,
            LedgerSyncError::Ledger(error) if error.is_for_the_operator() => OPERATORS_PAUSE,
            // The fault lies in the store or the history, not in the database.
            LedgerSyncError::Store(_)
            | LedgerSyncError::Monitor(_)
            | LedgerSyncError::TooManyWait
            | LedgerSyncError::TooManyDead => LAST_PAUSE,
            LedgerSyncError::Ledger(_) if shown.has_passed() => FIRST_PAUSE,
            LedgerSyncError::Ledger(_) => (pause * 2).min(LAST_PAUSE),
        };
        tokio::select! {
            () = sleep(pause) => {}
            _ = stopped.changed() => return,
        }
    }
}

/// Reads pass after pass over one connection. Returns `Ok` when it is stopped.
async fn read(
    reader: &mut LedgerReader,
    shown: &SyncProgress,
    stopped: &mut watch::Receiver<bool>,
) -> Result<(), LedgerSyncError> {
    shown.connecting();
    reader.readiness()?;
    let mut connection: LedgerConnection = reader.connect().await?;
    shown.connected(connection.blind(), connection.lacks());
    loop {
        reader.pass(&mut connection).await?;
        tokio::select! {
            () = sleep(reader.interval()) => {}
            _ = stopped.changed() => {
                connection.close().await;
                return Ok(());
            }
        }
    }
}
