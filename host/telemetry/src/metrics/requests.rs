//! Time to the response, requests answered with an error, and acknowledged events without effect.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use super::Label;
use crate::latency::{LatencyCounts, N_CLASSES};

/// The kinds of requests whose times are comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// A transaction to evaluate.
    Inject,
    /// An event of a ledger.
    Event,
    /// Any other request that may change something.
    Change,
    /// Any other request.
    Read,
    /// Health, readiness and metrics.
    Health,
}

#[derive(Debug)]
pub(super) struct RequestMetrics {
    times: [Histogram; RequestKind::ALL.len()],
    /// Times of injects once more, in classes that are fine enough for quantiles.
    inject_times: LatencyCounts,
    refusals: Family<Label, Counter>,
    events_ignored: Counter,
}

impl RequestMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let times = Family::<Label, Histogram, fn() -> Histogram>::new_with_constructor(histogram);
        registry.register_with_unit(
            "http_request_duration",
            "Time from the head of a request to the head of its response, by kind of request",
            Unit::Seconds,
            times.clone(),
        );
        let metrics = Self {
            times: RequestKind::ALL.map(|kind| times.get_or_create_owned(&[("kind", kind.as_str())])),
            inject_times: LatencyCounts::default(),
            refusals: Family::default(),
            events_ignored: Counter::default(),
        };
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

    pub(super) fn answered(&self, kind: RequestKind, time: Duration) {
        if let Some(times) = self.times.get(kind as usize) {
            times.observe(time.as_secs_f64());
        }
        if kind == RequestKind::Inject {
            self.inject_times.note(time);
        }
    }

    /// Returns how many injects took how long.
    pub(super) fn inject_times(&self) -> [u64; N_CLASSES] {
        self.inject_times.read()
    }

    pub(super) fn event_ignored(&self) {
        self.events_ignored.inc();
    }

    pub(super) fn refused(&self, code: &'static str) {
        self.refusals.get_or_create_owned(&[("code", code)]).inc();
    }
}

impl RequestKind {
    /// All kinds, in the order of the enum.
    pub(super) const ALL: [Self; 5] = [Self::Inject, Self::Event, Self::Change, Self::Read, Self::Health];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Inject => "inject",
            Self::Event => "event",
            Self::Change => "change",
            Self::Read => "read",
            Self::Health => "health",
        }
    }
}

/// 0.1 ms to 6.6 s.
fn histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.000_1, 2.0, 17))
}
