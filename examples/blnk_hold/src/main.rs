//! Example: settles a hold in Blnk by its verdict. See docs/ledger.md.
//!
//! Closed form, with `HOLD_COMMIT=approve`: post payments to Blnk as holds with an `inflight_expiry_date` and without an
//! `inflight_commit_date`, and set the service's `ALERT_WEBHOOK_URL` to this program and `ALERT_RISK_THRESHOLD` to `0`, so
//! that every verdict is an alert. The program commits a hold with the verdict `approve` and voids one with `block`. Any
//! other hold expires, also if the service, this program or the network fails.
//!
//! Open form, without `HOLD_COMMIT`: post holds with an `inflight_commit_date` a few seconds ahead. The program voids those
//! with the verdict `block`. Any other hold commits automatically, also if something fails.
//!
//! | variable | |
//! |---|---|
//! | `HOLD_LISTEN` | listen address; default `127.0.0.1:8090` |
//! | `HOLD_ALERT_SECRET_FILE` | file with the service's `ALERT_WEBHOOK_SECRET` |
//! | `HOLD_COMMIT` | verdicts whose holds are committed, such as `approve` or `approve,alert`; default none |
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
    /// Verdicts whose holds are committed.
    committed: Vec<String>,
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
        committed: committed(&env::var("HOLD_COMMIT").unwrap_or_default())?,
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

/// Reads the verdicts whose holds are committed. A hold with `review` or `block` never is.
fn committed(list: &str) -> anyhow::Result<Vec<String>> {
    let verdicts: Vec<_> = list.split(',').map(str::trim).filter(|verdict| !verdict.is_empty()).collect();
    match verdicts.iter().find(|verdict| !["approve", "alert"].contains(verdict)) {
        Some(other) => anyhow::bail!("HOLD_COMMIT: `{other}` is neither `approve` nor `alert`"),
        None => Ok(verdicts.into_iter().map(str::to_owned).collect()),
    }
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
    let (Some(verdict), Some(id)) = (text("verdict"), text("transaction_id")) else {
        return StatusCode::BAD_REQUEST;
    };
    // An entry that the service could not read has no amount. Nobody judged it.
    let is_judged = alert.get("amount").is_some_and(Value::is_number);
    let status = match verdict {
        "block" => "void",
        verdict if is_judged && hold.committed.iter().any(|one| one == verdict) => "commit",
        _ => return StatusCode::OK,
    };
    let id = id.to_owned();
    let settled = tokio::task::spawn_blocking(move || hold.settle(&id, status));
    match settled.await {
        Ok(Ok(())) => StatusCode::OK,
        Ok(Err(error)) => {
            eprintln!("{error:#}");
            StatusCode::BAD_GATEWAY
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl Hold {
    /// Commits or voids a hold.
    fn settle(&self, id: &str, status: &str) -> anyhow::Result<()> {
        let url = format!("{}/transactions/inflight/{id}", self.blnk);
        let request =
            self.agent.put(&url).header("X-Blnk-Key", &self.key).header("Content-Type", "application/json");
        let mut answer =
            request.send(json!({"status": status}).to_string()).context("Blnk does not answer")?;
        match answer.status().as_u16() {
            200..300 => eprintln!("{id}: {status}"),
            // The transaction is not, or no longer, a hold: nothing to settle.
            400 | 404 | 409 => eprintln!("{id}: no {status}: {}", answer.body_mut().read_to_string()?),
            other => anyhow::bail!("Blnk answered {other}"),
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
