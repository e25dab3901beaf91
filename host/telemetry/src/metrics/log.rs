//! Lost log lines, collected at each scrape.

use std::fmt;
use std::sync::OnceLock;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;

const HELP: &str = "Log lines lost because standard error was full, closed or on a full disk";

/// Returns the number of lines that this process could not write. Not set before the log is.
static LINES_LOST: OnceLock<fn() -> u64> = OnceLock::new();

/// Sets the function that returns the number of lost lines. Standard error belongs to the process, and so does the first
/// function that is set.
pub(crate) fn set_lines_lost(lines_lost: fn() -> u64) {
    LINES_LOST.set(lines_lost).ok();
}

pub(super) fn register(registry: &mut Registry) {
    registry.register_collector(Box::new(LogMetrics));
}

/// Standard error belongs to the process, so all services in one process share this counter.
#[derive(Debug)]
struct LogMetrics;

impl Collector for LogMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let lost = ConstCounter::new(LINES_LOST.get().map_or(0, |lines_lost| lines_lost()));
        lost.encode(encoder.encode_descriptor("log_lines_lost", HELP, None, lost.metric_type())?)
    }
}
