//! The ledger that feeds the history: connection, progress, and results of its rows and events.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Label;

/// Label of an accepted event.
const TAKEN: &str = "taken";

#[derive(Debug)]
pub(super) struct LedgerMetrics {
    connected: Gauge,
    mark: Gauge,
    remaining: Gauge,
    rows: Family<Label, Counter>,
    passes: Family<Label, Counter>,
}

/// Events that a ledger sends. Any ledger may, so they are always shown.
#[derive(Debug)]
pub(super) struct LedgerEventMetrics {
    events: Family<Label, Counter>,
    /// Counter of `taken`, which covers nearly all events.
    events_taken: Counter,
    waiting: Gauge,
}

impl LedgerMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            connected: Gauge::default(),
            mark: Gauge::default(),
            remaining: Gauge::default(),
            rows: Family::default(),
            passes: Family::default(),
        };
        registry.register(
            "ledger_connected",
            "1 while the service is connected to the ledger",
            metrics.connected.clone(),
        );
        registry.register(
            "ledger_mark_timestamp_seconds",
            "Time up to which the ledger has been read; 0 before the first read",
            metrics.mark.clone(),
        );
        registry.register(
            "ledger_remaining_rows",
            "Rows left in the first pass over the ledger; 0 afterwards, and if they are too many to count",
            metrics.remaining.clone(),
        );
        registry.register(
            "ledger_rows",
            "Ledger rows read, by result; rows of the overlap count on every pass",
            metrics.rows.clone(),
        );
        registry.register("ledger_passes", "Passes over the ledger, by result", metrics.passes.clone());
        for result in ["taken", "updated", "known", "dead"] {
            metrics.rows.get_or_create_owned(&[("result", result)]);
        }
        for result in ["ok", "failed"] {
            metrics.passes.get_or_create_owned(&[("result", result)]);
        }
        metrics
    }

    pub(super) fn connected(&self, is_connected: bool) {
        self.connected.set(i64::from(is_connected));
    }

    pub(super) fn mark(&self, micros: i64) {
        self.mark.set(micros / 1_000_000);
    }

    pub(super) fn remaining(&self, n_rows: u64) {
        self.remaining.set(i64::try_from(n_rows).unwrap_or(i64::MAX));
    }

    pub(super) fn rows(&self, result: &'static str, n_rows: u64) {
        self.rows.get_or_create_owned(&[("result", result)]).inc_by(n_rows);
    }

    pub(super) fn passed(&self, is_ok: bool) {
        let result = if is_ok { "ok" } else { "failed" };
        self.passes.get_or_create_owned(&[("result", result)]).inc();
    }
}

impl LedgerEventMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let events = Family::<Label, Counter>::default();
        let events_taken = events.get_or_create_owned(&[("result", TAKEN)]);
        let metrics = Self { events, events_taken, waiting: Gauge::default() };
        registry.register("ledger_events", "Ledger events, by result", metrics.events.clone());
        registry.register(
            "ledger_waiting_entries",
            "Ledger entries that wait for their parent",
            metrics.waiting.clone(),
        );
        for result in [TAKEN, "waiting", "ignored", "dead", "refused"] {
            metrics.events.get_or_create_owned(&[("result", result)]);
        }
        metrics
    }

    pub(super) fn event(&self, result: &'static str) {
        match result {
            TAKEN => self.events_taken.inc(),
            _ => self.events.get_or_create_owned(&[("result", result)]).inc(),
        };
    }

    pub(super) fn waiting(&self, n_entries: u64) {
        self.waiting.set(i64::try_from(n_entries).unwrap_or(i64::MAX));
    }
}
