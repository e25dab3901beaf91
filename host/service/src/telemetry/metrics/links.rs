//! Delivery of alerts: tunnel and webhooks.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Label;

#[derive(Debug)]
pub(super) struct LinkMetrics {
    pub(super) tunnel_up: Gauge,
    pub(super) tunnel_connections: Counter,
    notifications: Family<Label, Counter>,
    pub(super) messages_ignored: Counter,
    attempts: Family<Label, Counter>,
    pub(super) pending: Gauge,
    pub(super) dead: Gauge,
    pub(super) endpoints_gone: Gauge,
}

impl LinkMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            tunnel_up: Gauge::default(),
            tunnel_connections: Counter::default(),
            notifications: Family::default(),
            messages_ignored: Counter::default(),
            attempts: Family::default(),
            pending: Gauge::default(),
            dead: Gauge::default(),
            endpoints_gone: Gauge::default(),
        };
        registry.register("tunnel_up", "1 while the dashboard is connected", metrics.tunnel_up.clone());
        registry.register(
            "tunnel_connections",
            "Connections to the dashboard that were established",
            metrics.tunnel_connections.clone(),
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
        for result in ["sent", "down", "full", "lost"] {
            metrics.notification(result);
        }
        for result in ["delivered", "failed", "dead"] {
            metrics.attempt(result);
        }
        metrics
    }

    pub(super) fn notification(&self, result: &'static str) -> Counter {
        self.notifications.get_or_create_owned(&[("result", result)])
    }

    pub(super) fn attempt(&self, result: &'static str) -> Counter {
        self.attempts.get_or_create_owned(&[("result", result)])
    }
}
