//! The ledger's river: what its database says, into the history.
//!
//! ```text
//!  every interval:  horizon ─▶ rows from (mark − overlap) on, page by page ─▶ seen before? ──yes──▶ nothing
//!                                                                       │ no
//!                        dead letter ◀──no── a transaction? ◀───────────┘
//!                             │                    │ yes
//!                             └──▶ monitor.feed: new ones in, statuses on, the mark with them, in one commit
//! ```
//!
//! INVARIANT: the mark never passes a row that is not durable here, nor the horizon, behind which rows may still be
//! committed. Every pass begins an overlap before the mark, so what was committed late there is found; ids that are known
//! are recognised, so no row counts twice. Requests do not wait for any of this, and go on when the database is away.

mod dead_letters;
mod pass;
mod progress;
mod recent;
mod zone;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tollgate_links::ledger::LedgerSettings;
use tollgate_links::ledger::{Ledger, LedgerConnection, LedgerError};
use tollgate_model::clock::Clock;
use tollgate_store::{Store, StoreError};

use crate::monitor::{FeedMode, Monitor, MonitorError};
use crate::payments::{PaymentError, Payments};
use crate::readiness::ReadinessCheck;
use crate::telemetry::logs::ErrorChain;
use crate::telemetry::metrics::Metrics;
use pass::LedgerReader;
use progress::SyncProgress;

pub use dead_letters::LedgerDeadLetters;
pub use progress::LedgerStatus;

/// Between attempts to reach a database that is away: each pause twice the last, from the first to the last. The last
/// bounds how long it takes to notice that the database is back.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(2);
/// Where only an operator can help, who may do so at any time.
const OPERATORS_PAUSE: Duration = Duration::from_secs(5);
/// A stop waits so long for the page that is under way; what is lost of it is read again.
const STOP: Duration = Duration::from_secs(5);

/// What the river works with.
#[derive(Debug)]
pub struct LedgerSyncDeps {
    /// Which ledger.
    pub ledger: Ledger,
    /// How it is read.
    pub settings: LedgerSettings,
    /// Where its rows go.
    pub monitor: Monitor,
    /// What they say happened, where the ledger has several for one payment.
    pub payments: Payments,
    /// Where it is kept how far it was read.
    pub store: Store,
    /// Whether the ledger was read to its end since the start, where the service is not ready before.
    pub first_reading: Option<ReadinessCheck>,
    /// Who counts.
    pub metrics: Arc<Metrics>,
    /// Most keys of one object of a row.
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

/// Why a pass did not come to its end. What it took stays taken.
#[derive(Debug, thiserror::Error)]
enum LedgerSyncError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("rows of the ledger were not taken: {0}")]
    Monitor(#[from] MonitorError),
    #[error("too many entries of the ledger wait for their parent, or have a dead letter")]
    TooManyWait,
    #[error("the service stops")]
    Stopping,
}

impl From<PaymentError> for LedgerSyncError {
    fn from(error: PaymentError) -> Self {
        match error {
            PaymentError::Monitor(error) => Self::Monitor(error),
            PaymentError::Store(error) => Self::Store(error),
            PaymentError::TooManyWait | PaymentError::TooManyDead => Self::TooManyWait,
        }
    }
}

impl LedgerSync {
    /// Begins to follow; needs a tokio runtime. The database may be away.
    #[must_use]
    pub fn begin(deps: LedgerSyncDeps) -> Self {
        let (stop, stopped) = watch::channel(false);
        let shown = Arc::new(SyncProgress::new(&deps.metrics, deps.first_reading.clone()));
        let status = LedgerStatus::of(&shown);
        let following = tokio::spawn(follow(deps, shown, stopped));
        Self { stop, following, status }
    }

    /// How it goes.
    #[must_use]
    pub const fn status(&self) -> &LedgerStatus {
        &self.status
    }

    /// Takes no further page, and waits for the one under way.
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

/// Connects, reads, and begins anew, until it is told to stop.
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
            // The store or the history takes nothing: the database is not to blame.
            LedgerSyncError::Store(_) | LedgerSyncError::Monitor(_) | LedgerSyncError::TooManyWait => {
                LAST_PAUSE
            }
            LedgerSyncError::Ledger(_) if shown.has_passed() => FIRST_PAUSE,
            LedgerSyncError::Ledger(_) => (pause * 2).min(LAST_PAUSE),
        };
        tokio::select! {
            () = sleep(pause) => {}
            _ = stopped.changed() => return,
        }
    }
}

/// One connection, pass after pass. Ends well when it is told to stop.
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
