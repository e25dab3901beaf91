//! The disk of the data directory.

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Debug, Default)]
pub(super) struct DiskMetrics {
    free: Gauge,
    used: Gauge,
}

impl DiskMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "disk_free_bytes",
            "Free space of the file system of the data directory",
            metrics.free.clone(),
        );
        registry.register(
            "disk_used_bytes",
            "Size of the store, which is the database and its log",
            metrics.used.clone(),
        );
        metrics
    }

    pub(super) fn measured(&self, n_free: u64, n_used: u64) {
        for (gauge, n_bytes) in [(&self.free, n_free), (&self.used, n_used)] {
            gauge.set(i64::try_from(n_bytes).unwrap_or(i64::MAX));
        }
    }
}
