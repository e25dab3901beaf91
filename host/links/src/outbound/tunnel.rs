//! The tunnel: a WebSocket to a dashboard, kept up by a task of its own.
//!
//! ```text
//!          ┌────────── wait: full jitter, up to a ceiling that doubles ──────────┐
//!          ▼                                                                     │
//!  connect: TCP, TLS, handshake ──▶ up: notices out, heartbeats both ways ──▶ down: what waits is given up
//! ```
//!
//! INVARIANT: a notice that is offered while the tunnel is down is never sent, and neither is one that waited when it went
//! down: every connection has a number, and takes only notices that were offered to that number.

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

/// Most notices that wait to be sent.
const NOTICES_MAX: usize = 1024;
/// Most bytes of them.
const NOTICE_BYTES_MAX: usize = 4 << 20;
/// Longest time for TCP, TLS and the handshake together.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

/// How the tunnel is kept.
#[derive(Debug, Clone)]
pub struct TunnelOptions {
    /// Where the dashboard is.
    pub address: PeerAddress,
    /// How often it has to give a sign of life.
    pub heartbeat: Duration,
    /// Longest wait before the first attempt to connect again.
    pub reconnect_min: Duration,
    /// Longest wait before any attempt. A connection that held for half of it begins with the shortest again.
    pub reconnect_max: Duration,
}

/// A handle on the tunnel. The connection ends when this is dropped.
#[derive(Debug)]
pub struct Tunnel {
    shared: Arc<TunnelShared>,
    queue: mpsc::Sender<Notice>,
    bytes: Arc<Semaphore>,
    keeping: JoinHandle<()>,
}

/// Why a notice is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// There is no connection.
    #[error("the tunnel is down")]
    Down,
    /// The dashboard reads slower than notices come.
    #[error("too many notices wait for the dashboard")]
    Full,
    /// The connection broke before its turn came.
    #[error("the tunnel went down before its turn came")]
    Lost,
}

/// Something to be sent over one connection, and no other.
#[derive(Debug)]
struct Notice {
    connection: u64,
    alert: Arc<Alert>,
    _bytes: OwnedSemaphorePermit,
}

impl Tunnel {
    /// Begins to connect, and goes on for ever; needs a tokio runtime.
    #[must_use]
    pub fn open(options: TunnelOptions, trust: TrustStore, metrics: Arc<dyn TunnelObserver>) -> Self {
        let (queue, notices) = mpsc::channel(NOTICES_MAX);
        let shared = Arc::new(TunnelShared::new(metrics));
        let keeper = TunnelTask { options, trust, shared: Arc::clone(&shared), notices };
        let keeping = tokio::spawn(keeper.keep());
        Self { shared, queue, bytes: Arc::new(Semaphore::new(NOTICE_BYTES_MAX)), keeping }
    }

    /// Sends an alert when there is a connection to send it over; does not wait. What is not sent is counted and logged.
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

    /// How it stands, in a few words.
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

/// Who connects, again and again.
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

    /// Until the connection is over; why.
    async fn hold(&mut self, mut session: Session, number: u64) -> String {
        tracing::info!(address = %self.options.address, "the tunnel is up");
        self.shared.came_up(number);
        let ended = session.run(number, &mut self.notices, &self.shared).await;
        // From here on nothing is offered to this connection; what was has no other.
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
