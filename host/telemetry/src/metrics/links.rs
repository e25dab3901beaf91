//! Links to other systems. Their metrics are shown only if they are configured, so that a value of 0 says something.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::{Label, PREFIX};

/// A link whose metrics are shown only if it is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MeasuredLink {
    /// The repository of the rules.
    Git,
    /// The database of the ledger.
    Ledger,
    /// The dashboard.
    Tunnel,
    /// Webhooks that receive alerts.
    Webhooks,
    /// The collector of traces.
    Traces,
}

/// The metrics of a link.
#[derive(Debug)]
pub(super) struct LinkRegistry {
    registry: Registry,
    is_shown: AtomicBool,
}

impl Default for LinkRegistry {
    fn default() -> Self {
        Self { registry: Registry::with_prefix(PREFIX), is_shown: AtomicBool::new(false) }
    }
}

impl Deref for LinkRegistry {
    type Target = Registry;

    fn deref(&self) -> &Registry {
        &self.registry
    }
}

impl LinkRegistry {
    pub(super) const fn registry(&mut self) -> &mut Registry {
        &mut self.registry
    }

    pub(super) fn show(&self) {
        self.is_shown.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_shown(&self) -> bool {
        self.is_shown.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
pub(super) struct TunnelMetrics {
    pub(super) up: Gauge,
    pub(super) connections: Counter,
    notifications: Family<Label, Counter>,
    pub(super) messages_ignored: Counter,
}

#[derive(Debug)]
pub(super) struct WebhookMetrics {
    attempts: Family<Label, Counter>,
    pub(super) pending: Gauge,
    pub(super) dead: Gauge,
    pub(super) endpoints_gone: Gauge,
}

#[derive(Debug)]
pub(super) struct TraceMetrics {
    exports: Family<Label, Counter>,
}

impl TraceMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self { exports: Family::default() };
        registry.register(
            "trace_exports",
            "Batches of spans sent to the collector, by result",
            metrics.exports.clone(),
        );
        for result in ["accepted", "failed"] {
            metrics.export(result);
        }
        metrics
    }

    pub(super) fn export(&self, result: &'static str) -> Counter {
        self.exports.get_or_create_owned(&[("result", result)])
    }
}

impl TunnelMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            up: Gauge::default(),
            connections: Counter::default(),
            notifications: Family::default(),
            messages_ignored: Counter::default(),
        };
        registry.register("tunnel_up", "1 while the dashboard is connected", metrics.up.clone());
        registry.register(
            "tunnel_connections",
            "Connections to the dashboard that were established",
            metrics.connections.clone(),
        );
        registry.register(
            "tunnel_notifications",
            "Notifications for the dashboard, by result",
            metrics.notifications.clone(),
        );
        registry.register(
            "tunnel_messages_ignored",
            "Messages received from the dashboard and ignored",
            metrics.messages_ignored.clone(),
        );
        for result in ["sent", "down", "full", "lost"] {
            metrics.notification(result);
        }
        metrics
    }

    pub(super) fn notification(&self, result: &'static str) -> Counter {
        self.notifications.get_or_create_owned(&[("result", result)])
    }
}

impl WebhookMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            attempts: Family::default(),
            pending: Gauge::default(),
            dead: Gauge::default(),
            endpoints_gone: Gauge::default(),
        };
        registry.register(
            "alert_attempts",
            "Attempts to deliver an alert to a webhook, by result",
            metrics.attempts.clone(),
        );
        registry.register(
            "alerts_pending",
            "Alerts that wait for delivery to a webhook",
            metrics.pending.clone(),
        );
        registry.register(
            "alert_dead_letters",
            "Alerts that could not be delivered to any webhook",
            metrics.dead.clone(),
        );
        registry.register(
            "alert_endpoints_gone",
            "Webhooks that answered 410 and receive no more alerts",
            metrics.endpoints_gone.clone(),
        );
        for result in ["delivered", "failed", "dead"] {
            metrics.attempt(result);
        }
        metrics
    }

    pub(super) fn attempt(&self, result: &'static str) -> Counter {
        self.attempts.get_or_create_owned(&[("result", result)])
    }
}
