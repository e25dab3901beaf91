//! The response of `/readyz`, collected from all parts of the service.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tollgate_engine::registry::Registry;
use tollgate_history::{History, RunningFills};
use tollgate_store::{Store, StoreError};

use crate::service::snapshots::Snapshots;
use tollgate_api::{Readiness, ReadinessProbe, ReadyStatus};
use tollgate_ledger::payments::LedgerEvents;
use tollgate_ledger::sync::{LedgerStatus, LedgerSync};
use tollgate_pipeline::alerting::Alerting;
use tollgate_pipeline::monitor::Restoring;
use tollgate_telemetry::logs::ErrorChain;
use tollgate_telemetry::readiness::{CheckLevel, ReadinessChecks};

#[derive(Clone)]
struct ReadinessSources {
    store: Store,
    checks: ReadinessChecks,
    alerting: Alerting,
    restoring: Arc<Restoring>,
    history: Arc<History>,
    ledger: LedgerSources,
    is_stopping: Arc<AtomicBool>,
    /// Time zone data, which is read only at startup.
    zones: String,
}

/// State of the ledger: followed rows and received events.
#[derive(Clone)]
pub(super) struct LedgerSources {
    rows: Option<LedgerStatus>,
    ledger_events: LedgerEvents,
}

/// Returns the readiness probe. The service is ready if the store is readable, the history is complete, no check fails
/// and no stop was requested.
pub(super) fn probe(
    store: &Store,
    checks: ReadinessChecks,
    alerting: &Alerting,
    snapshots: &Snapshots,
    ledger: LedgerSources,
    is_stopping: &Arc<AtomicBool>,
    registry: &Registry,
) -> ReadinessProbe {
    let sources = ReadinessSources {
        store: store.clone(),
        checks,
        alerting: alerting.clone(),
        restoring: Arc::clone(&snapshots.restoring),
        history: Arc::clone(&snapshots.history),
        ledger,
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

impl LedgerSources {
    pub(super) fn new(followed: &Option<LedgerSync>, ledger_events: &LedgerEvents) -> Self {
        Self {
            rows: followed.as_ref().map(|ledger| ledger.status().clone()),
            ledger_events: ledger_events.clone(),
        }
    }

    /// Describes the rows, then the events; returns `None` if there is nothing to report.
    fn describe(&self) -> Option<String> {
        let rows = self.rows.as_ref().map(ToString::to_string);
        let events = Some(self.ledger_events.to_string()).filter(|words| !words.is_empty());
        let words: Vec<_> = rows.into_iter().chain(events).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}

impl ReadinessSources {
    /// Describes the restoration of the history, and then what it gathers for new rules.
    fn describe_history(&self) -> String {
        match self.history.running_fills() {
            RunningFills { n_series, n_left } if self.restoring.is_done() && n_series > 0 => {
                format!("ok: for new rules, {n_series} series have {n_left} stored transactions left to read")
            }
            _ => self.restoring.to_string(),
        }
    }

    fn readiness(&self, stored: Result<(), StoreError>) -> Readiness {
        let store = match &stored {
            Ok(()) => "ok",
            Err(error) => {
                tracing::error!(error = %ErrorChain(error), "the store cannot be read");
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
            ("history", self.describe_history()),
            ("store", store.to_owned()),
            ("zones", self.zones.clone()),
        ];
        let reported = summaries.into_iter().map(|(name, check)| (name, check.text));
        // An unreachable ledger or link does not stop transactions from being evaluated.
        let ledger = self.ledger.describe().map(|words| ("ledger", words));
        let checks = own.into_iter().chain(reported).chain(ledger).chain(self.alerting.status());
        Readiness { status, checks: checks.collect() }
    }
}
