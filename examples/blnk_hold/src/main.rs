//! Example: voids a hold in Blnk when the service returns `block`. See docs/blnk.md.
//!
//! Post payments to Blnk as holds with an `inflight_commit_date` a few seconds ahead, and set the service's
//! `ALERT_WEBHOOK_URL` to this program. Holds that are not voided before that time commit automatically.
//!
//! | variable | |
//! |---|---|
//! | `HOLD_LISTEN` | listen address; default `127.0.0.1:8090` |
//! | `HOLD_ALERT_SECRET_FILE` | file with the service's `ALERT_WEBHOOK_SECRET` |
//! | `BLNK_URL` | URL of the Blnk API; default `http://127.0.0.1:5001` |
//! | `BLNK_KEY_FILE` | file with an API key that may write transactions |
#![expect(clippy::print_stderr, reason = "it has no other log")]

use std::env;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use ureq::Agent;

/// Maximum difference of an alert's timestamp from the current time.
const SKEW: Duration = Duration::from_secs(300);
/// Timeout of a request to Blnk.
const PATIENCE: Duration = Duration::from_secs(5);

struct Hold {
    secret: Vec<u8>,
    blnk: String,
    key: String,
    agent: Agent,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let address = env::var("HOLD_LISTEN").unwrap_or_else(|_| "127.0.0.1:8090".to_owned());
    let agent = Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE));
    let hold = Arc::new(Hold {
        secret: key_of(&file("HOLD_ALERT_SECRET_FILE")?)?,
        blnk: env::var("BLNK_URL").unwrap_or_else(|_| "http://127.0.0.1:5001".to_owned()),
        key: file("BLNK_KEY_FILE")?,
        agent: agent.build().new_agent(),
    });
    let listener = tokio::net::TcpListener::bind(&address).await.with_context(|| address.clone())?;
    eprintln!("listening on {}", listener.local_addr()?);
    axum::serve(listener, Router::new().route("/", post(alert)).with_state(hold)).await?;
    Ok(())
}

/// Reads the file that a variable names.
fn file(variable: &str) -> anyhow::Result<String> {
    let path = env::var(variable).with_context(|| format!("{variable} names no file"))?;
    Ok(fs::read_to_string(&path).with_context(|| format!("{variable}: {path}"))?.trim().to_owned())
}

/// Decodes a secret: base64 after `whsec_`; any other text is the key itself.
fn key_of(secret: &str) -> anyhow::Result<Vec<u8>> {
    match secret.strip_prefix("whsec_") {
        Some(encoded) => Ok(BASE64_STANDARD.decode(encoded)?),
        None => Ok(secret.as_bytes().to_vec()),
    }
}

/// Handles an alert. Returns 200 once nothing is left to do; until then the service retries.
async fn alert(State(hold): State<Arc<Hold>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    if !hold.is_signed(&headers, &body) {
        return StatusCode::UNAUTHORIZED;
    }
    let Ok(alert) = serde_json::from_slice::<Value>(&body) else { return StatusCode::BAD_REQUEST };
    let text = |name: &str| alert.get(name).and_then(Value::as_str);
    let (Some("block"), Some(id)) = (text("verdict"), text("transaction_id")) else {
        return StatusCode::OK;
    };
    let id = id.to_owned();
    let voided = tokio::task::spawn_blocking(move || hold.void(&id));
    match voided.await {
        Ok(Ok(())) => StatusCode::OK,
        Ok(Err(error)) => {
            eprintln!("{error:#}");
            StatusCode::BAD_GATEWAY
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl Hold {
    fn void(&self, id: &str) -> anyhow::Result<()> {
        let url = format!("{}/transactions/inflight/{id}", self.blnk);
        let request =
            self.agent.put(&url).header("X-Blnk-Key", &self.key).header("Content-Type", "application/json");
        let mut answer =
            request.send(json!({"status": "void"}).to_string()).context("Blnk does not answer")?;
        let status = answer.status();
        match status.as_u16() {
            200..300 => eprintln!("{id} is void"),
            // The transaction is not, or no longer, a hold: nothing to void.
            400 | 404 | 409 => eprintln!("{id} cannot be void: {}", answer.body_mut().read_to_string()?),
            _ => anyhow::bail!("Blnk answered {status}"),
        }
        Ok(())
    }

    /// Whether the service signed this body according to Standard Webhooks.
    fn is_signed(&self, headers: &HeaderMap, body: &[u8]) -> bool {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let (id, timestamp) = (text("webhook-id"), text("webhook-timestamp"));
        let sent =
            timestamp.parse().ok().map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let now = SystemTime::now();
        let age = sent.map(|sent| now.duration_since(sent).unwrap_or_else(|ahead| ahead.duration()));
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.secret) else { return false };
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        let signatures = text("webhook-signature").split(' ').filter_map(|one| one.strip_prefix("v1,"));
        let mut decoded = signatures.filter_map(|one| BASE64_STANDARD.decode(one).ok());
        age.is_some_and(|age| age <= SKEW) && decoded.any(|one| mac.clone().verify_slice(&one).is_ok())
    }
}
