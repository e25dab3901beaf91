//! Client connections: open, refused, and closed at a limit.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Label;

#[derive(Debug)]
pub(super) struct ConnectionMetrics {
    open: Gauge,
    opened: Counter,
    refused: Family<Label, Counter>,
    cut: Family<Label, Counter>,
}

/// A guard that counts a connection as open until it is dropped.
#[derive(Debug)]
pub struct OpenConnection {
    gauge: Gauge,
}

impl ConnectionMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            open: Gauge::default(),
            opened: Counter::default(),
            refused: Family::default(),
            cut: Family::default(),
        };
        registry.register("connections_open", "Open client connections", metrics.open.clone());
        registry.register("connections_opened", "Client connections accepted", metrics.opened.clone());
        registry.register(
            "connections_refused",
            "Client connections refused: all slots taken, those of the address taken, or no file descriptor left",
            metrics.refused.clone(),
        );
        registry.register(
            "connections_cut",
            "Client connections closed by the service, by the limit they reached",
            metrics.cut.clone(),
        );
        for reason in ["full", "address", "files"] {
            metrics.refused(reason);
        }
        for limit in ["head", "body", "write", "idle", "age", "stop"] {
            metrics.cut(limit);
        }
        metrics
    }

    pub(super) fn opened(&self) -> OpenConnection {
        self.open.inc();
        self.opened.inc();
        OpenConnection { gauge: self.open.clone() }
    }

    pub(super) fn n_open(&self) -> i64 {
        self.open.get()
    }

    pub(super) fn refused(&self, reason: &'static str) -> Counter {
        self.refused.get_or_create_owned(&[("reason", reason)])
    }

    pub(super) fn cut(&self, limit: &'static str) -> Counter {
        self.cut.get_or_create_owned(&[("limit", limit)])
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.gauge.dec();
    }
}
