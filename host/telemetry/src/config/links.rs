//! Settings of the links to other systems: ledger webhooks and alert receivers.

use std::time::Duration;

use tollgate_model::secret::Secret;

use super::reader::{ConfigError, SettingsReader, Variable, time_of, variable};

/// Settings of ledger webhooks and alert delivery.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkSettings {
    /// Secrets of ledger webhooks, separated by blanks; without any, unsigned webhooks are accepted.
    pub ledger_webhook_secret: Option<Secret>,
    /// Score, from 0 to 1, from which an approved transaction also raises an alert.
    pub risk_threshold: f64,
    /// The dashboard that receives alerts while it is connected.
    pub tunnel: Option<TunnelSettings>,
    /// The webhooks for all alerts.
    pub alert_webhooks: Option<AlertWebhookSettings>,
}

/// The tunnel to a dashboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunnelSettings {
    /// Address of the dashboard; it may contain credentials.
    pub url: Secret,
    /// Access token for the dashboard.
    pub token: Option<Secret>,
    /// Expected interval of heartbeats; the connection is closed after two intervals without one.
    pub heartbeat: Duration,
    /// Maximum wait before the first reconnection attempt.
    pub reconnect_min: Duration,
    /// Maximum wait before any attempt.
    pub reconnect_max: Duration,
}

/// Settings of alert webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertWebhookSettings {
    /// Addresses, which may contain credentials: the first is preferred, the others are fallbacks.
    pub urls: Vec<Secret>,
    /// Signing secrets, separated by blanks.
    pub secret: Option<Secret>,
    /// Wait after each failed attempt; after the last one, delivery is given up.
    pub retries: Vec<Duration>,
    /// Time limit of one request.
    pub timeout: Duration,
}

pub(super) const LEDGER_SECRET: Variable = variable(
    "LEDGER_WEBHOOK_SECRET",
    "`whsec_` and base64, or other text; several separated by blanks",
    "none: signatures are not checked",
    "Secrets with which a ledger signs its webhooks. Unsigned webhooks are then refused.",
)
.secret()
.explained_in("ledger.md#ledger-events");
pub(super) const THRESHOLD: Variable = variable(
    "ALERT_RISK_THRESHOLD",
    "a score from 0 to 1",
    "0.5",
    "Score from which an approved transaction is an alert. Other verdicts always are.",
)
.explained_in("alerts.md");
pub(super) const TUNNEL: Variable = variable(
    "TUNNEL_URL",
    "an address such as wss://host/path",
    "none",
    "Dashboard that receives alerts while it is connected.",
)
.secret()
.explained_in("alerts.md#the-tunnel-to-a-dashboard");
pub(super) const TUNNEL_TOKEN: Variable = variable(
    "TUNNEL_TOKEN",
    "a token",
    "none",
    "Token sent to the dashboard as `Authorization: Bearer`. It is kept in memory only.",
)
.secret();
pub(super) const HEARTBEAT: Variable = variable(
    "TUNNEL_HEARTBEAT",
    "a time such as 500ms, 20s or 5m, from 50ms to 10m",
    "20s",
    "Interval in which the dashboard must send something. After two silent intervals the connection is closed.",
);
pub(super) const RECONNECT_MIN: Variable = variable(
    "TUNNEL_RECONNECT_MIN",
    "a time such as 500ms or 1s, from 10ms to 10m",
    "500ms",
    "Maximum wait before the first attempt to reconnect. It doubles with each attempt.",
);
pub(super) const RECONNECT_MAX: Variable = variable(
    "TUNNEL_RECONNECT_MAX",
    "a time such as 30s or 5m, from TUNNEL_RECONNECT_MIN to 1d",
    "60s",
    "Maximum wait before any attempt to reconnect.",
);
pub(super) const WEBHOOK: Variable = variable(
    "ALERT_WEBHOOK_URL",
    "addresses such as https://host/path, separated by blanks or commas",
    "none",
    "Endpoints that receive every alert over HTTP: the first, or the next one if that fails.",
)
.secret()
.explained_in("alerts.md");
pub(super) const WEBHOOK_SECRET: Variable = variable(
    "ALERT_WEBHOOK_SECRET",
    "`whsec_` and base64, or other text; several separated by blanks",
    "none: alerts are not signed",
    "Secrets with which alerts are signed, as Standard Webhooks.",
)
.secret()
.explained_in("alerts.md");
pub(super) const WEBHOOK_RETRIES: Variable = variable(
    "ALERT_WEBHOOK_RETRIES",
    "up to 32 times such as 5s or 10h, separated by commas",
    "5s,5m,30m,2h,5h,10h,14h,20h,24h",
    "Waits after failed attempts. After the last one an alert becomes a dead letter.",
)
.explained_in("alerts.md");
pub(super) const WEBHOOK_TIMEOUT: Variable = variable(
    "ALERT_WEBHOOK_TIMEOUT",
    "a time such as 500ms or 15s, from 50ms to 1m",
    "15s",
    "Time limit of one request to a webhook.",
);

const MILLISECOND: Duration = Duration::from_millis(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MINUTE: Duration = Duration::from_secs(60);
const RETRIES_MAX: usize = 32;
/// Maximum number of webhook addresses.
const WEBHOOKS_MAX: usize = 8;

impl LinkSettings {
    pub(super) fn read<E: Fn(&'static str) -> Result<Option<String>, ConfigError>>(
        read: &SettingsReader<E>,
    ) -> Result<Self, ConfigError> {
        let threshold = read.parsed::<f64>(THRESHOLD)?.unwrap_or(0.5);
        if !(0.0..=1.0).contains(&threshold) {
            return Err(THRESHOLD.refuse(&threshold.to_string()));
        }
        Ok(Self {
            ledger_webhook_secret: read.secret(LEDGER_SECRET)?,
            risk_threshold: threshold,
            tunnel: TunnelSettings::read(read)?,
            alert_webhooks: AlertWebhookSettings::read(read)?,
        })
    }
}

impl TunnelSettings {
    fn read<E: Fn(&'static str) -> Result<Option<String>, ConfigError>>(
        read: &SettingsReader<E>,
    ) -> Result<Option<Self>, ConfigError> {
        let token = read.secret(TUNNEL_TOKEN)?;
        let heartbeat = read.time(HEARTBEAT, 50 * MILLISECOND..=10 * MINUTE)?;
        let reconnect_min = read.time(RECONNECT_MIN, 10 * MILLISECOND..=10 * MINUTE)?;
        let reconnect_max = read.time(RECONNECT_MAX, reconnect_min..=DAY)?;
        let url = read.secret(TUNNEL)?;
        Ok(url.map(|url| Self { url, token, heartbeat, reconnect_min, reconnect_max }))
    }
}

impl AlertWebhookSettings {
    fn read<E: Fn(&'static str) -> Result<Option<String>, ConfigError>>(
        read: &SettingsReader<E>,
    ) -> Result<Option<Self>, ConfigError> {
        let secret = read.secret(WEBHOOK_SECRET)?;
        let timeout = read.time(WEBHOOK_TIMEOUT, 50 * MILLISECOND..=MINUTE)?;
        let text = read.text(WEBHOOK_RETRIES)?.unwrap_or_else(|| WEBHOOK_RETRIES.default.to_owned());
        let retries: Vec<Duration> = text
            .split(',')
            .map(|time| time_of(time).filter(|time| (MILLISECOND..=30 * DAY).contains(time)))
            .collect::<Option<_>>()
            .filter(|retries: &Vec<_>| retries.len() <= RETRIES_MAX)
            .ok_or_else(|| WEBHOOK_RETRIES.refuse(&text))?;
        let Some(urls) = read.secret(WEBHOOK)? else { return Ok(None) };
        let urls = urls.expose().split([',', ' ', '\t']).filter(|url| !url.is_empty());
        let urls: Vec<Secret> = urls.map(|url| Secret::new(url.to_owned())).collect();
        if urls.is_empty() || urls.len() > WEBHOOKS_MAX {
            return Err(WEBHOOK.refuse("***"));
        }
        Ok(Some(Self { urls, secret, retries, timeout }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn settings(variables: &[(&'static str, &'static str)]) -> Result<LinkSettings, ConfigError> {
        let value = |asked| variables.iter().find(|(name, _)| *name == asked);
        Settings::read(|asked| Ok(value(asked).map(|(_, value)| (*value).to_owned())))
            .map(|settings| settings.links)
    }

    #[test]
    fn without_any_variable_no_alert_is_sent() {
        let links = settings(&[]).unwrap();
        assert!(links.tunnel.is_none() && links.alert_webhooks.is_none());
        assert!(links.ledger_webhook_secret.is_none());
        assert!((links.risk_threshold - 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn a_value_that_does_not_do_is_refused_and_no_secret_is_shown() {
        for (name, value) in [
            ("ALERT_RISK_THRESHOLD", "1.1"),
            ("ALERT_RISK_THRESHOLD", "-0.1"),
            ("ALERT_RISK_THRESHOLD", "NaN"),
            ("ALERT_RISK_THRESHOLD", "high"),
            ("TUNNEL_HEARTBEAT", "10ms"),
            ("TUNNEL_RECONNECT_MIN", "0"),
            ("TUNNEL_RECONNECT_MAX", "100ms"),
            ("ALERT_WEBHOOK_RETRIES", "5s,,5m"),
            ("ALERT_WEBHOOK_RETRIES", "soon"),
            ("ALERT_WEBHOOK_TIMEOUT", "2m"),
            ("ALERT_WEBHOOK_URL", " , "),
            ("ALERT_WEBHOOK_URL", "canary\u{7}"),
            ("TUNNEL_TOKEN", "canary\u{7}"),
        ] {
            let error = format!("{0} {0:?}", settings(&[(name, value)]).unwrap_err());
            assert!(error.contains(name) && error.contains("it takes "), "{error}");
            assert!(!error.contains("canary"), "{error}");
        }
    }

    #[test]
    fn webhooks_are_separated_by_commas_or_blanks_and_keep_their_order() {
        let links = settings(&[("ALERT_WEBHOOK_URL", "https://a/x, https://b/y https://c/z,")]).unwrap();
        let webhooks = links.alert_webhooks.unwrap();
        let urls: Vec<&str> = webhooks.urls.iter().map(Secret::expose).collect();
        assert_eq!(urls, ["https://a/x", "https://b/y", "https://c/z"]);
        assert_eq!((webhooks.retries.len(), webhooks.retries[0]), (9, Duration::from_secs(5)));
        assert_eq!(webhooks.retries[8], DAY);
    }

    #[test]
    fn nothing_shows_what_is_secret() {
        let shown = settings(&[
            ("TUNNEL_URL", "wss://u:canary@host"),
            ("TUNNEL_TOKEN", "canary"),
            ("ALERT_WEBHOOK_URL", "https://u:canary@host"),
            ("ALERT_WEBHOOK_SECRET", "canary"),
            ("LEDGER_WEBHOOK_SECRET", "canary"),
        ]);
        assert!(!format!("{shown:?}").contains("canary"));
    }
}
