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
        registry.register("connections_open", "Connections of clients", metrics.open.clone());
        registry.register("connections_opened", "Connections that were let in", metrics.opened.clone());
        registry.register(
            "connections_refused",
            "Connections that were refused at once: all seats taken, those of their address, or no file for them",
            metrics.refused.clone(),
        );
        registry.register(
            "connections_cut",
            "Connections that the service closed, by the limit they came to",
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
