//! Commit metrics: transactions and status updates per commit, duration, failures.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

#[derive(Debug)]
pub(super) struct CommitMetrics {
    group: Histogram,
    commit_time: Histogram,
    failures: Counter,
}

impl CommitMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            // 1 to 1,024.
            group: Histogram::new(exponential_buckets(1.0, 2.0, 11)),
            // 0.1 ms to 3.3 s: from a fast disk to a failing one.
            commit_time: Histogram::new(exponential_buckets(0.000_1, 2.0, 16)),
            failures: Counter::default(),
        };
        registry.register(
            "commit_group_transactions",
            "Transactions and status updates per group commit",
            metrics.group.clone(),
        );
        registry.register_with_unit(
            "commit_duration",
            "Duration of a group commit, including the flush to disk",
            Unit::Seconds,
            metrics.commit_time.clone(),
        );
        registry.register("commit_failures", "Group commits that failed", metrics.failures.clone());
        metrics
    }

    pub(super) fn committed(&self, n_committed: usize, commit_time: Duration) {
        #[expect(clippy::cast_precision_loss, reason = "a group is far smaller than 2^52")]
        self.group.observe(n_committed as f64);
        self.commit_time.observe(commit_time.as_secs_f64());
    }

    pub(super) fn failed(&self) {
        self.failures.inc();
    }
}
