//! Size of the history, measured at each scrape.

use std::fmt;
use std::sync::{Arc, OnceLock};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// Size of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HistorySize {
    /// Transactions that rules can query.
    pub n_transactions: u64,
    /// Series.
    pub n_series: u64,
    /// Memory, in bytes.
    pub resident_bytes: u64,
    /// Bytes in the spill file.
    pub spilled_bytes: u64,
    /// Accounts, cards and the like that are on the disk, or have been.
    pub n_records: u64,
    /// Reads of the disk for which all payments waited.
    pub n_held_reads: u64,
    /// Records that could not be read, or not in time.
    pub n_unread_records: u64,
    /// Series that are being filled.
    pub n_fills: u64,
    /// Transactions that they have still to read.
    pub n_fill_left: u64,
}

type HistoryGauge = Box<dyn Fn() -> HistorySize + Send + Sync>;

/// Shared between the registry, which encodes it, and the metrics, which set its source.
#[derive(Clone, Default)]
pub(super) struct HistoryMetrics {
    measure: Arc<OnceLock<HistoryGauge>>,
}

impl HistoryMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register_collector(Box::new(metrics.clone()));
        metrics
    }

    pub(super) fn size(&self) -> HistorySize {
        self.measure.get().map(|measure| measure()).unwrap_or_default()
    }

    pub(super) fn watch(&self, measure: impl Fn() -> HistorySize + Send + Sync + 'static) {
        // The first source stays, so all values of a scrape come from one history.
        let _ = self.measure.set(Box::new(measure));
    }
}

impl Collector for HistoryMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let size = self.size();
        for (name, help, count) in [
            ("history_transactions", "Transactions in the history", size.n_transactions),
            ("history_series", "Series of the history", size.n_series),
            ("history_resident_bytes", "Memory of the history, as accounted", size.resident_bytes),
            ("history_spilled_bytes", "Size of the spilled part of the history", size.spilled_bytes),
            ("history_records", "Records of keys on the disk", size.n_records),
            (
                "history_held_reads",
                "Reads of the disk for which all payments waited, since the start",
                size.n_held_reads,
            ),
            (
                "history_unread_records",
                "Records of keys that could not be read, or not in time, since the start",
                size.n_unread_records,
            ),
            ("history_fills", "Series that are being filled", size.n_fills),
            (
                "history_fill_left_transactions",
                "Stored transactions that the series being filled have still to read or to insert",
                size.n_fill_left,
            ),
        ] {
            let gauge = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}

impl fmt::Debug for HistoryMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistoryMetrics").field("watched", &self.measure.get().is_some()).finish()
    }
}
