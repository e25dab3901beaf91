//! Snapshots of the history: results, and the source of the restored history.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Label;

#[derive(Debug)]
pub(super) struct SnapshotMetrics {
    restored: Family<Label, Gauge>,
    snapshots: Family<Label, Counter>,
    bytes: Gauge,
}

impl SnapshotMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics =
            Self { restored: Family::default(), snapshots: Family::default(), bytes: Gauge::default() };
        registry.register(
            "history_restored_from",
            "Transactions restored into the history at the start, by source",
            metrics.restored.clone(),
        );
        registry.register(
            "history_snapshots",
            "Snapshots of the history, by outcome",
            metrics.snapshots.clone(),
        );
        registry.register(
            "history_snapshot_bytes",
            "Size of the last snapshot written",
            metrics.bytes.clone(),
        );
        metrics.restored(0, 0);
        for outcome in ["written", "failed", "refused"] {
            metrics.counter(outcome);
        }
        metrics
    }

    pub(super) fn restored(&self, from_snapshot: u64, from_store: u64) {
        for (source, count) in [("snapshot", from_snapshot), ("store", from_store)] {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.restored.get_or_create_owned(&[("source", source)]).set(count);
        }
    }

    pub(super) fn written(&self, n_bytes: u64) {
        self.counter("written").inc();
        self.bytes.set(i64::try_from(n_bytes).unwrap_or(i64::MAX));
    }

    pub(super) fn failed(&self) {
        self.counter("failed").inc();
    }

    pub(super) fn refused(&self) {
        self.counter("refused").inc();
    }

    fn counter(&self, outcome: &'static str) -> Counter {
        self.snapshots.get_or_create_owned(&[("outcome", outcome)])
    }
}
