//! Notifications to the service manager, and the duties of the first process of a container.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;
use tollgate_process::reap_orphans;

use tollgate_api::{ReadinessProbe, ReadyStatus};
use tollgate_telemetry::config::is_supervised;

/// Interval of readiness checks during startup.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Additional time requested at each check during startup, in microseconds.
const MORE_TIME_MICROS: u32 = 30_000_000;

/// Notifies systemd (`Type=notify`) when the service is ready. With `WatchdogSec=`, it also reports regularly that the
/// store is readable and the executor runs. Without systemd it returns immediately.
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

/// Notifies systemd that the service is stopping.
pub(super) fn stopping() {
    say(&[NotifyState::Stopping]);
}

fn say(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "systemd cannot be notified");
    }
}

fn words(checks: &std::collections::BTreeMap<&'static str, String>) -> String {
    checks.iter().map(|(name, text)| format!("{name} {text}")).collect::<Vec<_>>().join("; ")
}

/// Reaps the orphaned processes that the first process of a container inherits; runs until it is aborted.
pub(super) async fn adopt(mut ended: Signal) {
    while ended.recv().await.is_some() {
        reap_orphans();
    }
}

/// Returns the signal for ended child processes, in the first process of a container only.
pub(super) fn ends_of_processes() -> std::io::Result<Option<Signal>> {
    (std::process::id() == 1).then(|| signal(SignalKind::child())).transpose()
}
