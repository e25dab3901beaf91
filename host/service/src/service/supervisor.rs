//! What whoever started the service hears of it, and what the first process of a container does for others.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;
use tollgate_git::confinement::reap_orphans;

use crate::api::{ReadinessProbe, ReadyStatus};
use crate::config::is_supervised;

/// How often a start looks whether it is ready.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// By how much a start that goes on asks for more time, each time it looks, in microseconds.
const MORE_TIME_MICROS: u32 = 30_000_000;

/// Tells systemd (`Type=notify`) when the service is ready, and where it watches (`WatchdogSec=`) that it is alive: that the store
/// can be read and the executor has its turn. Without systemd it ends at once.
pub(super) async fn tell(probe: ReadinessProbe) {
    if !is_supervised() {
        return;
    }
    loop {
        let readiness = probe().await;
        match readiness.status {
            ReadyStatus::Ready => break,
            ReadyStatus::Stopping => return,
            ReadyStatus::Starting | ReadyStatus::Unavailable => {}
        }
        let status = format!("not ready: {}", words(&readiness.checks));
        say(&[NotifyState::Status(&status), NotifyState::ExtendTimeoutUsec(MORE_TIME_MICROS)]);
        sleep(LOOK_EVERY).await;
    }
    say(&[NotifyState::Ready, NotifyState::Status("ready")]);
    let Some(patience) = sd_notify::watchdog_enabled() else { return };
    loop {
        if probe().await.checks.get("store").is_some_and(|store| store == "ok") {
            say(&[NotifyState::Watchdog]);
        }
        sleep(patience / 2).await;
    }
}

/// The service was asked to stop.
pub(super) fn stopping() {
    say(&[NotifyState::Stopping]);
}

fn say(news: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(news) {
        tracing::warn!(%error, "systemd cannot be told of the service");
    }
}

fn words(checks: &std::collections::BTreeMap<&'static str, String>) -> String {
    checks.iter().map(|(name, text)| format!("{name} {text}")).collect::<Vec<_>>().join("; ")
}

/// Waits for the processes that a container's first one inherits, if this is one; never ends.
pub(super) async fn adopt(mut ended: Signal) {
    while ended.recv().await.is_some() {
        reap_orphans();
    }
}

/// Tells of ends of processes, in the first process of a container alone.
pub(super) fn ends_of_processes() -> std::io::Result<Option<Signal>> {
    (std::process::id() == 1).then(|| signal(SignalKind::child())).transpose()
}
