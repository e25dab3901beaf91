//! Delivery of alerts about verdicts to external systems.
//!
//! ```text
//!  monitor: assessment ──alert──▶ commit, with an outbox row ──announce──┬──▶ tunnel: at most once
//!                                                                        └──▶ delivery loop: at least once
//! ```
//!
//! No alert is sent before its verdict is durable, and no caller that waits for a verdict waits for a delivery. The
//! tunnel receives alerts only while it is connected. For webhooks, each alert is stored in the commit of its verdict.
//! It stays in the store until a webhook accepts it or it becomes a dead letter, which can be listed and sent again.

mod delivery_loop;
mod endpoints;
mod retries;

use std::sync::Arc;

use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tollgate_guest_abi::Verdict;
use tollgate_links::outbound::{
    PeerAddress, PeerAddressError, Post, Protocol, TrustError, TrustStore, Tunnel, TunnelOptions,
};
use tollgate_links::signature::SigningKeys;
use tollgate_model::alert::{Alert, RiskThreshold, UnreadableEntry};
use tollgate_model::assessment::Assessment;
use tollgate_model::clock::Clock;
use tollgate_model::secret::Secret;
use tollgate_model::transaction::Transaction;
use tollgate_store::{DeadLetter, Store, StoreError};

use delivery_loop::DeliveryLoop;
use endpoints::Endpoints;
use retries::Retries;
use tollgate_telemetry::config::{AlertWebhookSettings, LinkSettings, TunnelSettings};
use tollgate_telemetry::logs::ErrorChain;
use tollgate_telemetry::metrics::Metrics;

/// Sends alerts to external systems. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Alerting {
    inner: Arc<AlertingInner>,
}

#[derive(Debug)]
struct AlertingInner {
    threshold: RiskThreshold,
    tunnel: Option<Tunnel>,
    outbox: Option<Outbox>,
    store: Store,
    clock: Arc<dyn Clock>,
}

/// The service's side of the delivery loop.
#[derive(Debug)]
struct Outbox {
    /// Notified when there may be an alert to deliver.
    arrived: Arc<Notify>,
    endpoints: Arc<Endpoints>,
}

/// The dependencies of [`Alerting`].
#[derive(Debug, Clone)]
pub struct AlertingDeps {
    /// The store that holds the outbox.
    pub store: Store,
    /// The clock that dates delivery attempts.
    pub clock: Arc<dyn Clock>,
    /// Metrics registry.
    pub metrics: Arc<Metrics>,
}

/// The delivery task. Dropping it leaves every undelivered alert for the next start.
#[derive(Debug)]
pub struct Delivery {
    running: Option<(JoinHandle<()>, oneshot::Sender<()>)>,
}

/// An error in setting up the links.
#[derive(Debug, thiserror::Error)]
pub enum AlertingError {
    /// The address of a peer is unusable.
    #[error("`{name}` cannot be used: {source}")]
    Address {
        /// The name of the variable.
        name: &'static str,
        /// The reason.
        source: PeerAddressError,
    },
    /// The secret is malformed.
    #[error("`{name}` cannot be used: the part after `whsec_` must be base64")]
    Secret {
        /// The name of the variable.
        name: &'static str,
    },
    /// The trust store cannot be loaded.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// The reason why a dead letter is not sent again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// No webhook is configured.
    #[error("there is no webhook to send alerts to; set `ALERT_WEBHOOK_URL`")]
    NotConfigured,
    /// No dead letter has this id.
    #[error("there is no dead letter with this id")]
    NotFound,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Alerting {
    /// Opens the configured links. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// When an address or a secret cannot be used, or the trust store cannot be loaded.
    pub fn start(deps: AlertingDeps, settings: &LinkSettings) -> Result<(Self, Delivery), AlertingError> {
        let mut alerting = AlertingInner {
            threshold: RiskThreshold::new(settings.risk_threshold).unwrap_or_default(),
            tunnel: None,
            outbox: None,
            store: deps.store.clone(),
            clock: Arc::clone(&deps.clock),
        };
        let mut delivery = Delivery { running: None };
        if settings.tunnel.is_some() || settings.alert_webhooks.is_some() {
            let trust = TrustStore::of_the_system()?;
            if let Some(settings) = &settings.tunnel {
                alerting.tunnel = Some(tunnel(settings, trust.clone(), Arc::clone(&deps.metrics))?);
            }
            if let Some(settings) = &settings.alert_webhooks {
                let (outbox, running) = outbox(settings, trust, deps)?;
                (alerting.outbox, delivery.running) = (Some(outbox), Some(running));
            }
        }
        Ok((Self { inner: Arc::new(alerting) }, delivery))
    }

    /// Returns an instance without any link.
    #[must_use]
    pub fn silent(store: Store, clock: Arc<dyn Clock>) -> Self {
        let threshold = RiskThreshold::default();
        Self { inner: Arc::new(AlertingInner { threshold, tunnel: None, outbox: None, store, clock }) }
    }

    /// Returns the alert about an assessment, or `None` if none is due or no link is configured.
    #[must_use]
    pub(crate) fn alert(&self, transaction: &Transaction, assessment: &Assessment) -> Option<Arc<Alert>> {
        if self.inner.tunnel.is_none() && self.inner.outbox.is_none() {
            return None;
        }
        match Alert::from_assessment(transaction, assessment, self.inner.threshold) {
            Ok(alert) => alert.map(Arc::new),
            Err(error) => {
                tracing::error!(error = %error, "an alert cannot be serialized");
                None
            }
        }
    }

    /// Returns the alert about a dead letter of a ledger, or `None` if no link is configured.
    #[must_use]
    pub fn alert_about(&self, letter: &DeadLetter, verdict: Verdict) -> Option<Arc<Alert>> {
        if self.inner.tunnel.is_none() && self.inner.outbox.is_none() {
            return None;
        }
        let reason = format!(
            "The ledger's entry cannot be read, and has no verdict ({}): {}",
            letter.reason, letter.detail
        );
        let entry = UnreadableEntry {
            transaction_id: &letter.transaction_id,
            created_at: &letter.created_at,
            reason: &reason,
            timestamp: self.inner.clock.now(),
        };
        match Alert::of_unreadable(entry, verdict) {
            Ok(alert) => Some(Arc::new(alert)),
            Err(error) => {
                tracing::error!(error = %error, "an alert cannot be serialized");
                None
            }
        }
    }

    /// Returns whether alerts are kept until a webhook accepts them.
    #[must_use]
    pub fn keeps_alerts(&self) -> bool {
        self.inner.outbox.is_some()
    }

    /// Announces durable alerts to the links, without waiting.
    pub fn announce(&self, alerts: &[Arc<Alert>]) {
        if let Some(tunnel) = &self.inner.tunnel {
            alerts.iter().for_each(|alert| tunnel.offer(alert));
        }
        if let (Some(outbox), false) = (&self.inner.outbox, alerts.is_empty()) {
            outbox.arrived.notify_one();
        }
    }

    /// Returns the name and a short status of each link; the status is `ok` when there is no complaint.
    #[must_use]
    pub fn status(&self) -> Vec<(&'static str, String)> {
        let tunnel = self.inner.tunnel.as_ref().map(|tunnel| ("tunnel", tunnel.status()));
        let alerts = self.inner.outbox.as_ref().map(|outbox| ("alerts", outbox.endpoints.status()));
        tunnel.into_iter().chain(alerts).collect()
    }

    /// Queues a dead letter for delivery again; its attempts are counted from zero.
    ///
    /// # Errors
    /// See [`ReplayError`].
    pub async fn replay(&self, id: &str) -> Result<(), ReplayError> {
        let outbox = self.inner.outbox.as_ref().ok_or(ReplayError::NotConfigured)?;
        let now = self.inner.clock.now().timestamp_micros();
        if !self.inner.store.replay_dead_letter(id, now).await? {
            return Err(ReplayError::NotFound);
        }
        outbox.arrived.notify_one();
        Ok(())
    }
}

impl Delivery {
    /// Stops the delivery. Alerts whose delivery has not ended are sent again after the next start.
    pub async fn stop(self) {
        let Some((running, stop)) = self.running else { return };
        drop(stop);
        if let Err(error) = running.await {
            tracing::error!(error = %ErrorChain(&error), "the alert delivery task failed");
        }
    }
}

fn tunnel(
    settings: &TunnelSettings,
    trust: TrustStore,
    metrics: Arc<Metrics>,
) -> Result<Tunnel, AlertingError> {
    let address = address("TUNNEL_URL", &settings.url, settings.token.as_ref(), Protocol::WebSocket)?;
    let options = TunnelOptions {
        address,
        heartbeat: settings.heartbeat,
        reconnect_min: settings.reconnect_min,
        reconnect_max: settings.reconnect_max,
    };
    Ok(Tunnel::open(options, trust, metrics))
}

type Running = (JoinHandle<()>, oneshot::Sender<()>);

fn outbox(
    settings: &AlertWebhookSettings,
    trust: TrustStore,
    deps: AlertingDeps,
) -> Result<(Outbox, Running), AlertingError> {
    let read = |url| address("ALERT_WEBHOOK_URL", url, None, Protocol::Http);
    let addresses = settings.urls.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let name = "ALERT_WEBHOOK_SECRET";
    let keys = settings.secret.as_ref().map(|secret| signing_keys(name, secret)).transpose()?;
    if keys.is_none() {
        tracing::warn!(
            "alerts are not signed, so receivers cannot verify their origin; set ALERT_WEBHOOK_SECRET"
        );
    }
    let endpoints = Arc::new(Endpoints::new(addresses, Arc::clone(&deps.metrics)));
    let arrived = Arc::new(Notify::new());
    let (stop, stopped) = oneshot::channel();
    let courier = DeliveryLoop::new(delivery_loop::DeliveryDeps {
        store: deps.store,
        clock: deps.clock,
        metrics: deps.metrics,
        post: Post::new(trust, settings.timeout),
        endpoints: Arc::clone(&endpoints),
        keys,
        retries: Retries::new(settings.retries.clone()),
        arrived: Arc::clone(&arrived),
    });
    let running = tokio::spawn(courier.run(stopped));
    Ok((Outbox { arrived, endpoints }, (running, stop)))
}

fn address(
    name: &'static str,
    url: &Secret,
    token: Option<&Secret>,
    protocol: Protocol,
) -> Result<PeerAddress, AlertingError> {
    let address =
        PeerAddress::read(url, token, protocol).map_err(|source| AlertingError::Address { name, source })?;
    if address.is_in_the_clear() {
        tracing::warn!(variable = name, %address, "messages to this address are not encrypted");
    }
    Ok(address)
}

/// Reads the signing keys from a variable.
///
/// # Errors
/// When the secret is malformed.
pub fn signing_keys(name: &'static str, secret: &Secret) -> Result<SigningKeys, AlertingError> {
    SigningKeys::read(secret).ok_or(AlertingError::Secret { name })
}
