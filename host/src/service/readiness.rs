//! What `/readyz` answers, put together from every part of the service.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::alerting::Alerting;
use crate::api::{Readiness, ReadinessProbe, ReadyStatus};
use crate::ledger_sync::{LedgerStatus, LedgerSync};
use crate::monitor::Restoring;
use crate::readiness::{CheckLevel, Checks};
use crate::registry::Registry;
use crate::service::snapshots::Snapshots;
use crate::store::{Store, StoreError};
use crate::telemetry::logs::Causes;

/// What is asked.
#[derive(Clone)]
struct Sources {
    store: Store,
    checks: Checks,
    alerting: Alerting,
    restoring: Arc<Restoring>,
    ledger: Option<LedgerStatus>,
    is_stopping: Arc<AtomicBool>,
    /// The time zone data, which is read at the start alone.
    zones: String,
}

/// The service is ready when it can read the store, the history is complete, no check fails and nobody asked it to stop.
pub(super) fn of(
    store: &Store,
    checks: Checks,
    alerting: &Alerting,
    snapshots: &Snapshots,
    ledger: &Option<LedgerSync>,
    is_stopping: &Arc<AtomicBool>,
    registry: &Registry,
) -> ReadinessProbe {
    let sources = Sources {
        store: store.clone(),
        checks,
        alerting: alerting.clone(),
        restoring: Arc::clone(&snapshots.restoring),
        ledger: ledger.as_ref().map(|ledger| ledger.status().clone()),
        is_stopping: Arc::clone(is_stopping),
        zones: registry.current().zones.describe(),
    };
    Arc::new(move || {
        let sources = sources.clone();
        Box::pin(async move {
            let stored = sources.store.check().await;
            sources.readiness(stored)
        })
    })
}

impl Sources {
    fn readiness(&self, stored: Result<(), StoreError>) -> Readiness {
        let store = match &stored {
            Ok(()) => "ok",
            Err(error) => {
                tracing::error!(error = %Causes(error), "the store cannot be read");
                "cannot be read"
            }
        };
        let summaries = self.checks.summaries();
        let is_failing = summaries.values().any(|check| check.level == CheckLevel::Failing);
        let status = if self.is_stopping.load(Ordering::Relaxed) {
            ReadyStatus::Stopping
        } else if stored.is_err() {
            ReadyStatus::Unavailable
        } else if !self.restoring.is_done() {
            ReadyStatus::Starting
        } else if is_failing {
            ReadyStatus::Unavailable
        } else {
            ReadyStatus::Ready
        };
        let own = [
            ("history", self.restoring.to_string()),
            ("store", store.to_owned()),
            ("zones", self.zones.clone()),
        ];
        let reported = summaries.into_iter().map(|(name, check)| (name, check.text));
        // A ledger that is away, or a link that is down, keeps no transaction from being judged.
        let ledger = self.ledger.as_ref().map(|ledger| ("ledger", ledger.to_string()));
        let checks = own.into_iter().chain(reported).chain(ledger).chain(self.alerting.status());
        Readiness { status, checks: checks.collect() }
    }
}
