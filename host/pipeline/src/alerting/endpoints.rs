//! The webhook endpoints and the order in which they are tried.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_links::outbound::{PeerAddress, PostError};

use tollgate_telemetry::metrics::Metrics;

/// How long a failed endpoint is skipped while another one is available: one that hangs must not delay every alert.
const REST: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Endpoints {
    all: Vec<Endpoint>,
    metrics: Arc<Metrics>,
}

#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) address: PeerAddress,
    /// Whether it answered 410; nothing is sent to it until the next start.
    is_gone: AtomicBool,
    /// Time and reason of the last failure since the last success.
    failed: Mutex<Option<(Instant, PostError)>>,
}

impl Endpoints {
    pub(super) fn new(addresses: Vec<PeerAddress>, metrics: Arc<Metrics>) -> Self {
        let endpoint = |address| Endpoint { address, is_gone: false.into(), failed: Mutex::default() };
        Self { all: addresses.into_iter().map(endpoint).collect(), metrics }
    }

    /// Returns the endpoints to try, in order: those without a recent failure, or else all that are not gone.
    pub(super) fn in_turn(&self) -> Vec<&Endpoint> {
        let there = || self.all.iter().filter(|endpoint| !endpoint.is_gone.load(Ordering::Relaxed));
        let rested: Vec<&Endpoint> = there().filter(|endpoint| !endpoint.is_resting()).collect();
        if rested.is_empty() { there().collect() } else { rested }
    }

    pub(super) fn note(&self, endpoint: &Endpoint, outcome: &Result<(), PostError>) {
        match outcome {
            Ok(()) => *endpoint.failed.lock() = None,
            Err(PostError::Gone) => {
                if !endpoint.is_gone.swap(true, Ordering::Relaxed) {
                    self.metrics.alert_endpoint_gone();
                    tracing::error!(
                        address = %endpoint.address,
                        "a webhook answered 410: it receives no alerts until the service restarts"
                    );
                }
            }
            Err(error) => {
                let before = endpoint.failed.lock().replace((Instant::now(), error.clone()));
                if before.is_none() {
                    tracing::warn!(address = %endpoint.address, error = %error, "a webhook did not accept an alert");
                }
            }
        }
    }

    /// Returns the status shown by `/readyz`.
    pub(super) fn status(&self) -> String {
        let words: Vec<String> = self.all.iter().filter_map(Endpoint::complaint).collect();
        if words.is_empty() { "ok".to_owned() } else { words.join("; ") }
    }
}

impl Endpoint {
    fn is_resting(&self) -> bool {
        self.failed.lock().as_ref().is_some_and(|(since, _)| since.elapsed() < REST)
    }

    fn complaint(&self) -> Option<String> {
        if self.is_gone.load(Ordering::Relaxed) {
            return Some(format!("{}: disabled, it answered 410", self.address));
        }
        self.failed.lock().as_ref().map(|(_, error)| format!("{}: {error}", self.address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_links::outbound::Protocol;
    use tollgate_model::secret::Secret;

    #[track_caller]
    fn check(endpoints: &Endpoints, expected: &[&str]) {
        let turn: Vec<String> =
            endpoints.in_turn().iter().map(|endpoint| endpoint.address.to_string()).collect();
        assert_eq!(turn, expected);
    }

    #[test]
    fn one_that_failed_waits_for_the_others_and_one_that_is_gone_for_ever() {
        let read = |url: &str| PeerAddress::read(&Secret::new(url.to_owned()), None, Protocol::Http).unwrap();
        let urls = ["http://a.example/x", "http://b.example", "http://c.example"];
        let endpoints = Endpoints::new(urls.map(read).to_vec(), Arc::new(Metrics::new()));
        let [a, b, c] = ["http://a.example:80", "http://b.example:80", "http://c.example:80"];
        check(&endpoints, &[a, b, c]);
        endpoints.note(&endpoints.all[0], &Err(PostError::Status(500)));
        check(&endpoints, &[b, c]);
        endpoints.note(&endpoints.all[1], &Err(PostError::Gone));
        endpoints.note(&endpoints.all[2], &Err(PostError::Timeout(REST)));
        check(&endpoints, &[a, c]);
        assert_eq!(
            endpoints.status(),
            format!("{a}: status 500; {b}: disabled, it answered 410; {c}: no answer within 30000 ms")
        );
        endpoints.note(&endpoints.all[2], &Ok(()));
        check(&endpoints, &[c]);
        endpoints.note(&endpoints.all[0], &Err(PostError::Gone));
        endpoints.note(&endpoints.all[2], &Err(PostError::Gone));
        check(&endpoints, &[]);
    }
}
