//! The tunnel: a WebSocket to a dashboard, maintained by a background task.
//!
//! ```text
//!          ┌────────── wait: full jitter, up to a ceiling that doubles ──────────┐
//!          ▼                                                                     │
//!  connect: TCP, TLS, handshake ──▶ up: sends notices, heartbeats ──▶ down: drops queued notices
//! ```
//!
//! INVARIANT: a notice offered while the tunnel is down, or still queued when it goes down, is never sent. Every
//! connection has a number and sends only notices that were offered to that number.

mod backoff;
mod observer;
mod session;
mod state;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tollgate_model::alert::Alert;

use super::{PeerAddress, TrustStore};
use backoff::Backoff;
pub use observer::TunnelObserver;
use session::Session;
use state::{TunnelShared, TunnelState};

const NOTICES_MAX: usize = 1024;
const NOTICE_BYTES_MAX: usize = 4 << 20;
/// Time limit for TCP, TLS and the handshake together.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

/// The settings of the tunnel.
#[derive(Debug, Clone)]
pub struct TunnelOptions {
    /// Address of the dashboard.
    pub address: PeerAddress,
    /// Heartbeat interval.
    pub heartbeat: Duration,
    /// Upper bound of the wait before the first reconnection attempt.
    pub reconnect_min: Duration,
    /// Upper bound of every wait. A connection that lasted at least half of this resets the backoff.
    pub reconnect_max: Duration,
}

/// A handle to the tunnel. Dropping it closes the connection.
#[derive(Debug)]
pub struct Tunnel {
    shared: Arc<TunnelShared>,
    queue: mpsc::Sender<Notice>,
    bytes: Arc<Semaphore>,
    keeping: JoinHandle<()>,
}

/// A reason why a notice is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The tunnel is not connected.
    #[error("the tunnel is down")]
    Down,
    /// The dashboard reads more slowly than notices arrive.
    #[error("too many notifications are waiting for the dashboard")]
    Full,
    /// The connection broke before the notice was sent.
    #[error("the tunnel went down before the notification was sent")]
    Lost,
}

/// An alert to be sent over one particular connection.
#[derive(Debug)]
struct Notice {
    connection: u64,
    alert: Arc<Alert>,
    _bytes: OwnedSemaphorePermit,
}

impl Tunnel {
    /// Starts the background task, which connects and reconnects forever. Requires a tokio runtime.
    #[must_use]
    pub fn open(options: TunnelOptions, trust: TrustStore, metrics: Arc<dyn TunnelObserver>) -> Self {
        let (queue, notices) = mpsc::channel(NOTICES_MAX);
        let shared = Arc::new(TunnelShared::new(metrics));
        let keeper = TunnelTask { options, trust, shared: Arc::clone(&shared), notices };
        let keeping = tokio::spawn(keeper.keep());
        Self { shared, queue, bytes: Arc::new(Semaphore::new(NOTICE_BYTES_MAX)), keeping }
    }

    /// Queues an alert if the tunnel is connected, without blocking. An alert that is not sent is counted and logged.
    pub fn offer(&self, alert: &Arc<Alert>) {
        if let Err(reason) = self.try_offer(alert) {
            self.shared.not_sent(alert, reason);
        }
    }

    fn try_offer(&self, alert: &Arc<Alert>) -> Result<(), SendError> {
        let connection = self.shared.connection.load(Ordering::Acquire);
        if connection == TunnelShared::DOWN {
            return Err(SendError::Down);
        }
        let n_bytes = u32::try_from(alert.payload.len()).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.bytes).try_acquire_many_owned(n_bytes);
        let _bytes = permit.map_err(|_| SendError::Full)?;
        let notice = Notice { connection, alert: Arc::clone(alert), _bytes };
        self.queue.try_send(notice).map_err(|_| SendError::Full)
    }

    /// Returns the status in a few words.
    #[must_use]
    pub fn status(&self) -> String {
        self.shared.status()
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.keeping.abort();
    }
}

struct TunnelTask {
    options: TunnelOptions,
    trust: TrustStore,
    shared: Arc<TunnelShared>,
    notices: mpsc::Receiver<Notice>,
}

impl TunnelTask {
    async fn keep(mut self) {
        let TunnelOptions { reconnect_min, reconnect_max, .. } = self.options;
        let mut backoff = Backoff::new(reconnect_min, reconnect_max);
        for number in 1.. {
            let reason = match self.connect().await {
                Ok(session) => {
                    let begun = Instant::now();
                    let ended = self.hold(session, number).await;
                    if begun.elapsed() >= reconnect_max / 2 {
                        backoff.reset();
                    }
                    ended
                }
                Err(reason) => reason,
            };
            let wait = backoff.next();
            self.shared
                .went_down(TunnelState::Waiting { n_attempts: wait.n_attempts, reason: reason.clone() });
            tracing::warn!(
                address = %self.options.address,
                attempt = wait.n_attempts,
                ceiling_ms = wait.ceiling.as_millis(),
                wait_ms = wait.time.as_millis(),
                reason,
                "the tunnel is down"
            );
            sleep(wait.time).await;
        }
    }

    async fn connect(&self) -> Result<Session, String> {
        match timeout(CONNECT_TIME_MAX, Session::open(&self.options, &self.trust)).await {
            Ok(session) => session,
            Err(_) => Err(format!("no connection within {} s", CONNECT_TIME_MAX.as_secs())),
        }
    }

    /// Runs a connection until it ends and returns the reason.
    async fn hold(&mut self, mut session: Session, number: u64) -> String {
        tracing::info!(address = %self.options.address, "the tunnel is up");
        self.shared.came_up(number);
        let ended = session.run(number, &mut self.notices, &self.shared).await;
        // No further notice can be offered; the queued ones are lost.
        self.shared.connection.store(TunnelShared::DOWN, Ordering::Release);
        while let Ok(notice) = self.notices.try_recv() {
            self.shared.not_sent(&notice.alert, SendError::Lost);
        }
        ended
    }
}

impl Drop for TunnelTask {
    fn drop(&mut self) {
        self.shared.went_down(TunnelState::Closed);
    }
}
