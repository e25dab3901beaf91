//! Transactions: number, verdicts, evaluation time, and number in progress.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use tollgate_guest_abi::Verdict;

use super::Label;

const UPDATED: Label = [("effect", "updated")];
const UNCHANGED: Label = [("effect", "none")];

#[derive(Debug)]
pub(super) struct TransactionMetrics {
    judged: Family<Label, Counter>,
    conflicts: Counter,
    times_clamped: Counter,
    without_id: Counter,
    status_events: Family<Label, Counter>,
    unclear_identifiers: Family<Label, Counter>,
    evaluation_time: Histogram,
    in_flight: Gauge,
}

/// A guard that counts a transaction as in progress until it is dropped.
#[derive(Debug)]
pub struct InFlight {
    gauge: Gauge,
}

impl TransactionMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            judged: Family::default(),
            conflicts: Counter::default(),
            status_events: Family::default(),
            unclear_identifiers: Family::default(),
            // 1 µs to 0.26 s: from a few rules to thousands with cold history.
            evaluation_time: Histogram::new(exponential_buckets(0.000_001, 4.0, 10)),
            times_clamped: Counter::default(),
            without_id: Counter::default(),
            in_flight: Gauge::default(),
        };
        registry.register("transactions_judged", "Transactions judged, by verdict", metrics.judged.clone());
        registry.register(
            "transaction_conflicts",
            "Transactions refused because a different one has the same id",
            metrics.conflicts.clone(),
        );
        registry.register(
            "status_events",
            "Ledger events about known transactions, by their effect on the status",
            metrics.status_events.clone(),
        );
        registry.register(
            "unclear_identifiers",
            "Transactions accepted with an identifier that has an invisible or control character or a surrounding blank, by origin",
            metrics.unclear_identifiers.clone(),
        );
        registry.register(
            "times_clamped",
            "Transactions whose time was further from the clock than SERVICE_TIME_TOLERANCE, so that another one counts",
            metrics.times_clamped.clone(),
        );
        registry.register(
            "transactions_without_id",
            "Injected transactions without a transaction_id or an Idempotency-Key: a repetition is judged again",
            metrics.without_id.clone(),
        );
        registry.register_with_unit(
            "evaluation_duration",
            "Duration of the evaluation of all rules on one transaction",
            Unit::Seconds,
            metrics.evaluation_time.clone(),
        );
        registry.register("transactions_in_flight", "Transactions in flight", metrics.in_flight.clone());
        for verdict in [Verdict::Approve, Verdict::Alert, Verdict::Review, Verdict::Block] {
            metrics.counter(verdict);
        }
        for effect in [UPDATED, UNCHANGED] {
            metrics.status_events.get_or_create_owned(&effect);
        }
        for origin in ["inject", "event", "ledger"] {
            metrics.unclear_identifiers.get_or_create_owned(&[("origin", origin)]);
        }
        metrics
    }

    pub(super) fn count_in_flight(&self) -> InFlight {
        self.in_flight.inc();
        InFlight { gauge: self.in_flight.clone() }
    }

    pub(super) fn judged(&self, verdict: Verdict, evaluation_time: Duration) {
        self.counter(verdict).inc();
        self.evaluation_time.observe(evaluation_time.as_secs_f64());
    }

    /// Returns how many verdicts were given of each kind, in the order of severity.
    pub(super) fn totals(&self) -> [(&'static str, u64); 4] {
        [Verdict::Approve, Verdict::Alert, Verdict::Review, Verdict::Block]
            .map(|verdict| (verdict.as_str(), self.counter(verdict).get()))
    }

    pub(super) fn n_in_flight(&self) -> i64 {
        self.in_flight.get()
    }

    pub(super) fn unclear_identifier(&self, origin: &'static str) {
        self.unclear_identifiers.get_or_create_owned(&[("origin", origin)]).inc();
    }

    pub(super) fn time_clamped(&self) {
        self.times_clamped.inc();
    }

    pub(super) fn judged_without_id(&self) {
        self.without_id.inc();
    }

    pub(super) fn conflicted(&self) {
        self.conflicts.inc();
    }

    pub(super) fn status_updated(&self) {
        self.status_events.get_or_create_owned(&UPDATED).inc();
    }

    pub(super) fn status_unchanged(&self) {
        self.status_events.get_or_create_owned(&UNCHANGED).inc();
    }

    /// Returns the counter of a verdict, as the service reports it.
    fn counter(&self, verdict: Verdict) -> Counter {
        self.judged.get_or_create_owned(&[("verdict", verdict.severity().verdict().as_str())])
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.gauge.dec();
    }
}
