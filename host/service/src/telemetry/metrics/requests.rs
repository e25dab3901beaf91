//! Requests answered with an error, and acknowledged events without effect.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::Label;

#[derive(Debug)]
pub(super) struct RequestMetrics {
    refusals: Family<Label, Counter>,
    events_ignored: Counter,
}

impl RequestMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self { refusals: Family::default(), events_ignored: Counter::default() };
        registry.register(
            "refusals",
            "Requests answered with an error, by error code",
            metrics.refusals.clone(),
        );
        registry.register(
            "webhook_events_ignored",
            "Ledger events that are acknowledged and ignored because they concern no transaction",
            metrics.events_ignored.clone(),
        );
        metrics
    }

    pub(super) fn event_ignored(&self) {
        self.events_ignored.inc();
    }

    pub(super) fn refused(&self, code: &'static str) {
        self.refusals.get_or_create_owned(&[("code", code)]).inc();
    }
}
