//! Lost log lines, collected at each scrape.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;

use crate::logs;

const HELP: &str = "Log lines lost because standard error was full, closed or on a full disk";

pub(super) fn register(registry: &mut Registry) {
    registry.register_collector(Box::new(LogMetrics));
}

/// Standard error belongs to the process, so all services in one process share this counter.
#[derive(Debug)]
struct LogMetrics;

impl Collector for LogMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let lost = ConstCounter::new(logs::lines_lost());
        lost.encode(encoder.encode_descriptor("log_lines_lost", HELP, None, lost.metric_type())?)
    }
}
