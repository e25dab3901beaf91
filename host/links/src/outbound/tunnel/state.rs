//! The state of the tunnel, for senders, `/readyz` and metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use tollgate_model::alert::Alert;

use super::SendError;
use super::observer::TunnelObserver;

#[derive(Debug)]
pub(super) struct TunnelShared {
    /// Number of the connection, or [`TunnelShared::DOWN`].
    pub(super) connection: AtomicU64,
    state: Mutex<(TunnelState, Instant)>,
    pub(super) metrics: Arc<dyn TunnelObserver>,
}

#[derive(Debug)]
pub(super) enum TunnelState {
    /// The first attempt to connect has not ended yet.
    Connecting,
    Up,
    /// The connection failed or ended.
    Waiting {
        n_attempts: u32,
        reason: String,
    },
    /// The task has ended for good.
    Closed,
}

impl TunnelShared {
    /// The connection number that means "not connected".
    pub(super) const DOWN: u64 = 0;

    pub(super) fn new(metrics: Arc<dyn TunnelObserver>) -> Self {
        Self {
            connection: AtomicU64::new(Self::DOWN),
            state: Mutex::new((TunnelState::Connecting, Instant::now())),
            metrics,
        }
    }

    pub(super) fn came_up(&self, number: u64) {
        // The number is set first, so that a notice is taken as soon as the tunnel is up.
        self.connection.store(number, Ordering::Release);
        *self.state.lock() = (TunnelState::Up, Instant::now());
        self.metrics.tunnel_came_up();
    }

    pub(super) fn went_down(&self, state: TunnelState) {
        self.connection.store(Self::DOWN, Ordering::Release);
        let mut current = self.state.lock();
        let since = match current.0 {
            TunnelState::Waiting { .. } | TunnelState::Connecting => current.1,
            TunnelState::Up | TunnelState::Closed => Instant::now(),
        };
        *current = (state, since);
        self.metrics.tunnel_went_down();
    }

    /// Logs the verdict, because the dashboard does not receive it.
    pub(super) fn not_sent(&self, alert: &Alert, reason: SendError) {
        self.metrics.notice_not_sent(match reason {
            SendError::Down => "down",
            SendError::Full => "full",
            SendError::Lost => "lost",
        });
        tracing::info!(
            transaction.id = %alert.transaction_id,
            verdict = alert.verdict.as_str(),
            score = alert.score,
            reason = %reason,
            "a notification was not sent"
        );
    }

    pub(super) fn status(&self) -> String {
        let state = self.state.lock();
        let seconds = state.1.elapsed().as_secs();
        match &state.0 {
            TunnelState::Connecting => "connecting".to_owned(),
            TunnelState::Up => "ok".to_owned(),
            TunnelState::Waiting { n_attempts, reason } => {
                format!("down for {seconds} s, {n_attempts} attempts: {reason}")
            }
            TunnelState::Closed => "closed".to_owned(),
        }
    }
}
