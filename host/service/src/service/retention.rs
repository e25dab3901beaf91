//! Removes from the history what no rule can query any more; the store keeps it.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use tollgate_history::History;
use tollgate_model::clock::Clock;

use tollgate_pipeline::monitor::{AcceptanceOrder, Monitor, Restoring};
use tollgate_telemetry::config::Settings;

/// Interval between passes over the history.
const PAUSE: Duration = Duration::from_secs(5);
/// Clock error, in microseconds, above which wrongly dropped entries are read from the store again.
const CLOCK_ERROR_MAX: i64 = 3_600_000_000;

/// Tells the history what no rule can query any more before it is restored. A restart would otherwise need memory for it, and
/// a service that refuses transactions for want of memory would never discard it.
pub(super) fn begin(history: &History, arrivals: &AcceptanceOrder, settings: &Settings) {
    if let Some(latest) = arrivals.latest_event() {
        history.forget(latest.saturating_sub(settings.history_margin.micros()));
    }
}

/// Starts a task that repeatedly drops old entries from the history. An entry is old if it is further from the latest
/// transaction than the longest window plus the configured margin.
pub(super) fn start(
    history: &Arc<History>,
    monitor: &Monitor,
    restoring: &Arc<Restoring>,
    clock: &Arc<dyn Clock>,
    settings: &Settings,
) -> JoinHandle<()> {
    let margin = settings.history_margin.micros();
    let clock = Arc::clone(clock);
    let (history, monitor, restoring) = (Arc::clone(history), monitor.clone(), Arc::clone(restoring));
    tokio::spawn(async move {
        let mut pauses = interval(PAUSE);
        pauses.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            pauses.tick().await;
            if !restoring.is_done() {
                continue;
            }
            let (now, latest) = (clock.now().timestamp_micros(), monitor.latest_event());
            let history = Arc::clone(&history);
            let go_through = move || {
                if let Some(latest) = latest {
                    history.forget(latest.saturating_sub(margin));
                }
                history.remember(now.saturating_sub(margin).saturating_add(CLOCK_ERROR_MAX))
            };
            match tokio::task::spawn_blocking(go_through).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::error!(%error, "history that was dropped too early cannot be read again")
                }
                Err(_) => tracing::error!("a retention pass over the history failed"),
            }
        }
    })
}
