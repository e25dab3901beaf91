//! The disk of the data directory.

use chrono::{DateTime, Utc};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// How the files of the data directory grow, and how long the free space lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskOutlook {
    /// Bytes by which they grew for each transaction that was stored; zero until it is known.
    pub bytes_per_transaction: u64,
    /// Bytes by which they grow in a day.
    pub bytes_per_day: u64,
    /// Time at which the disk is full; `None` if they do not grow, or not before the year 9999.
    pub full_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Default)]
pub(super) struct DiskMetrics {
    free: Gauge,
    used: Gauge,
    bytes_per_transaction: Gauge,
    bytes_per_day: Gauge,
    full_at: Gauge,
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
        registry.register(
            "disk_bytes_per_transaction",
            "Growth of the database and the files of the history for each stored transaction, at the rate of the last hour",
            metrics.bytes_per_transaction.clone(),
        );
        registry.register(
            "disk_growth_bytes_per_day",
            "Growth of the database and the files of the history in a day, at the rate of the last hour",
            metrics.bytes_per_day.clone(),
        );
        registry.register(
            "disk_full_timestamp_seconds",
            "Time at which the disk is full at that rate, in seconds since 1970; 0 if it does not grow",
            metrics.full_at.clone(),
        );
        metrics
    }

    pub(super) fn measured(&self, n_free: u64, n_used: u64) {
        for (gauge, n_bytes) in [(&self.free, n_free), (&self.used, n_used)] {
            gauge.set(i64::try_from(n_bytes).unwrap_or(i64::MAX));
        }
    }

    pub(super) fn expect(&self, outlook: DiskOutlook) {
        let DiskOutlook { bytes_per_transaction, bytes_per_day, full_at } = outlook;
        for (gauge, n_bytes) in
            [(&self.bytes_per_transaction, bytes_per_transaction), (&self.bytes_per_day, bytes_per_day)]
        {
            gauge.set(i64::try_from(n_bytes).unwrap_or(i64::MAX));
        }
        self.full_at.set(full_at.map_or(0, |time| time.timestamp()));
    }

    pub(super) fn outlook(&self) -> DiskOutlook {
        let seconds = self.full_at.get();
        DiskOutlook {
            bytes_per_transaction: self.bytes_per_transaction.get().unsigned_abs(),
            bytes_per_day: self.bytes_per_day.get().unsigned_abs(),
            full_at: if seconds == 0 { None } else { DateTime::from_timestamp(seconds, 0) },
        }
    }
}
