//! Opens the links to other systems according to the settings.

use std::sync::Arc;

use tollgate_links::signature::SigningKeys;
use tollgate_model::clock::Clock;
use tollgate_store::Store;

use crate::alerting::{self, Alerting, AlertingError, Delivery};
use crate::config::Settings;
use crate::telemetry::metrics::{MeasuredLink, Metrics};

/// Links for alerts and ledger webhooks.
pub(super) struct Links {
    pub(super) alerting: Alerting,
    pub(super) delivery: Delivery,
    /// Keys of ledger webhooks; `None` if signatures are not required.
    pub(super) ledger_keys: Option<Arc<SigningKeys>>,
}

impl Links {
    pub(super) fn open(
        settings: &Settings,
        store: &Store,
        clock: &Arc<dyn Clock>,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, AlertingError> {
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
        Ok(Self { alerting, delivery, ledger_keys: keys.map(Arc::new) })
    }
}

/// Shows the metrics of the links that are configured.
fn show_links(settings: &Settings, metrics: &Metrics) {
    for (is_configured, link) in [
        (settings.git.repo.is_some(), MeasuredLink::Git),
        (settings.ledger.dsn.is_some(), MeasuredLink::Ledger),
        (settings.links.tunnel.is_some(), MeasuredLink::Tunnel),
        (settings.links.alert_webhooks.is_some(), MeasuredLink::Webhooks),
    ] {
        if is_configured {
            metrics.show_link(link);
        }
    }
}
