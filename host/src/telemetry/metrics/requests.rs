//! Requests that got an error for an answer.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::Label;

#[derive(Debug)]
pub(super) struct RequestMetrics {
    refusals: Family<Label, Counter>,
}

impl RequestMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self { refusals: Family::default() };
        registry.register(
            "refusals",
            "Requests answered with an error, by its code",
            metrics.refusals.clone(),
        );
        metrics
    }

    pub(super) fn refused(&self, code: &'static str) {
        self.refusals.get_or_create_owned(&[("code", code)]).inc();
    }
}
