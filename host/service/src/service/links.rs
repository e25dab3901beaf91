//! Opens the links to other systems according to the settings.

use std::sync::Arc;

use tollgate_links::signature::SigningKeys;
use tollgate_model::clock::Clock;
use tollgate_store::Store;

use crate::service::ServiceError;
use tollgate_pipeline::alerting::{self, Alerting, Delivery};
use tollgate_telemetry::config::Settings;
use tollgate_telemetry::metrics::{MeasuredLink, Metrics};
use tollgate_telemetry::traces::Traces;

/// Links for alerts and ledger webhooks.
pub(super) struct Links {
    pub(super) alerting: Alerting,
    pub(super) delivery: Delivery,
    /// Keys of ledger webhooks; `None` if signatures are not required.
    pub(super) keys: Option<Arc<SigningKeys>>,
    pub(super) traces: Option<Traces>,
}

impl Links {
    pub(super) fn open(
        settings: &Settings,
        store: &Store,
        clock: &Arc<dyn Clock>,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, ServiceError> {
        show_links(settings, metrics);
        let deps = alerting::AlertingDeps {
            store: store.clone(),
            clock: Arc::clone(clock),
            metrics: Arc::clone(metrics),
        };
        let (alerting, delivery) = Alerting::start(deps, &settings.links)?;
        let secret = settings.links.ledger_webhook_secret.as_ref();
        let keys =
            secret.map(|secret| alerting::signing_keys("LEDGER_WEBHOOK_SECRET", secret)).transpose()?;
        let endpoint = settings.traces_endpoint.as_ref();
        let traces = endpoint.map(|endpoint| Traces::start(endpoint, metrics)).transpose()?;
        Ok(Self { alerting, delivery, keys: keys.map(Arc::new), traces })
    }
}

/// Shows the metrics of the links that are configured.
fn show_links(settings: &Settings, metrics: &Metrics) {
    for (is_configured, link) in [
        (settings.git.repo.is_some(), MeasuredLink::Git),
        (settings.ledger.dsn.is_some(), MeasuredLink::Ledger),
        (settings.links.tunnel.is_some(), MeasuredLink::Tunnel),
        (settings.links.alert_webhooks.is_some(), MeasuredLink::Webhooks),
        (settings.traces_endpoint.is_some(), MeasuredLink::Traces),
    ] {
        if is_configured {
            metrics.show_link(link);
        }
    }
}
