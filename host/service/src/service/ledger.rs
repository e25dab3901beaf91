//! The ledger that feeds the history, if one is configured.

use std::sync::Arc;

use tollgate_ledger::database::{Ledger, LedgerError};
use tollgate_model::clock::Clock;
use tollgate_store::Store;
use tollgate_telemetry::config::LedgerKind;
use tollgate_telemetry::config::LedgerSettings;

use tollgate_ledger::payments::{self, OpenError, Payments};
use tollgate_ledger::sync::{LedgerSync, LedgerSyncDeps};
use tollgate_pipeline::alerting::Alerting;
use tollgate_pipeline::monitor::Monitor;
use tollgate_telemetry::config::Settings;
use tollgate_telemetry::metrics::Metrics;
use tollgate_telemetry::readiness::ReadinessChecks;

/// The table in which Blnk keeps its entries.
const TABLE_OF_BLNK: (Option<&str>, &str) = (Some("blnk"), "transactions");

/// Returns the configured ledger, not yet connected.
pub(super) fn configured_ledger(settings: &Settings) -> Result<Option<Ledger>, LedgerError> {
    settings.ledger.dsn.as_ref().map(|dsn| Ledger::at(dsn, &settings.ledger)).transpose()
}

pub(super) async fn payments(
    settings: &Settings,
    monitor: &Monitor,
    store: &Store,
    clock: &Arc<dyn Clock>,
    metrics: &Arc<Metrics>,
    alerting: &Alerting,
) -> Result<Payments, OpenError> {
    let LedgerSettings { kind, identity, parent_wait, evaluate, left_out, unreadable, .. } = settings.ledger;
    let deps = payments::PaymentsDeps {
        kind,
        identity,
        parent_wait,
        evaluates_rows: evaluate,
        left_out,
        unreadable,
        alerting: alerting.clone(),
        monitor: monitor.clone(),
        store: store.clone(),
        clock: Arc::clone(clock),
        metrics: Arc::clone(metrics),
    };
    let payments = Payments::open(deps).await?;
    let LedgerSettings { schema, table, .. } = &settings.ledger;
    if kind == LedgerKind::Generic && (schema.as_deref(), table.as_str()) == TABLE_OF_BLNK {
        payments.ledger_events().reads_table_of_blnk();
    }
    Ok(payments)
}

/// Starts to follow the ledger, if there is one.
pub(super) fn follow(
    ledger: Option<Ledger>,
    settings: &Settings,
    payments: &Payments,
    store: &Store,
    metrics: &Arc<Metrics>,
    clock: &Arc<dyn Clock>,
    checks: &ReadinessChecks,
) -> Option<LedgerSync> {
    let deps = LedgerSyncDeps {
        ledger: ledger?,
        first_reading: settings.ledger.waits_for_first_reading.then(|| checks.add("ledger_reading")),
        settings: settings.ledger.clone(),
        monitor: payments.monitor().clone(),
        payments: payments.clone(),
        store: store.clone(),
        metrics: Arc::clone(metrics),
        object_keys_max: settings.requests.object_keys_max,
        clock: Arc::clone(clock),
    };
    Some(LedgerSync::begin(deps))
}
