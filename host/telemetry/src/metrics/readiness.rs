//! Readiness checks: state, and start of that state.

use chrono::{DateTime, Utc};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Label;

#[derive(Debug)]
pub(super) struct ReadinessMetrics {
    level: Family<Label, Gauge>,
    since: Family<Label, Gauge>,
}

impl ReadinessMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self { level: Family::default(), since: Family::default() };
        registry.register(
            "readiness_check",
            "Readiness checks: 0 ok, 1 degraded (the last good version is in force), 2 failing (not ready)",
            metrics.level.clone(),
        );
        registry.register(
            "readiness_check_since_timestamp_seconds",
            "Time at which each readiness check entered its state",
            metrics.since.clone(),
        );
        metrics
    }

    pub(super) fn set(&self, check: &'static str, level: i64, since: DateTime<Utc>) {
        self.level.get_or_create_owned(&[("check", check)]).set(level);
        self.since.get_or_create_owned(&[("check", check)]).set(since.timestamp());
    }
}
