//! What no rule can ask about any more leaves the history; the store keeps it.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::history::History;
use crate::monitor::{Monitor, Restoring};

/// How often the history is gone through.
const PAUSE: Duration = Duration::from_secs(5);

/// Lets the history, again and again, let go of what lies further back than the longest window plus this margin, in
/// microseconds, seen from the latest transaction; for as long as the task is not aborted.
pub(super) fn start(
    history: &Arc<History>,
    monitor: &Monitor,
    restoring: &Arc<Restoring>,
    margin: i64,
) -> JoinHandle<()> {
    let (history, monitor, restoring) = (Arc::clone(history), monitor.clone(), Arc::clone(restoring));
    tokio::spawn(async move {
        let mut pauses = interval(PAUSE);
        pauses.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            pauses.tick().await;
            if let (true, Some(latest)) = (restoring.is_done(), monitor.latest_event()) {
                let history = Arc::clone(&history);
                let forget = move || history.forget(latest.saturating_sub(margin));
                if tokio::task::spawn_blocking(forget).await.is_err() {
                    tracing::error!("the history could not be gone through");
                }
            }
        }
    })
}
