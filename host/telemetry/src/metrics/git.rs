//! Operations on the Git repository of the rules.

use chrono::{DateTime, Utc};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Label;

#[derive(Debug)]
pub(super) struct GitMetrics {
    operations: Family<Label, Counter>,
    last_success: Gauge,
}

impl GitMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self { operations: Family::default(), last_success: Gauge::default() };
        registry.register(
            "git_operations",
            "Operations on the rules repository, including polls, by result",
            metrics.operations.clone(),
        );
        registry.register(
            "git_last_success_timestamp_seconds",
            "Time of the last successful operation on the rules repository; 0 if none succeeded",
            metrics.last_success.clone(),
        );
        for result in ["ok", "failed"] {
            metrics.operations.get_or_create_owned(&[("result", result)]);
        }
        metrics
    }

    pub(super) fn ended(&self, is_ok: bool, now: DateTime<Utc>) {
        let result = if is_ok { "ok" } else { "failed" };
        self.operations.get_or_create_owned(&[("result", result)]).inc();
        if is_ok {
            self.last_success.set(now.timestamp());
        }
    }
}
