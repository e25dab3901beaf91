//! A blocking HTTP client of the service. It keeps connections alive and returns every status as a value.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a harness that cannot go on fails the test it serves"
)]

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::Request;

use crate::answer::Answer;
use crate::poll;

/// Upper bound for any request of a suite.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Upper bound for the time in which payments are refused because a hold is not stored yet.
const ADMITTED_WITHIN: Duration = Duration::from_secs(20);
/// Lines of a batch: few enough that all answers wait in the buffers of the connection until every line is sent.
const BATCH_LINES: usize = 500;
/// Maximum size of a response body.
const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A client of one service. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Client {
    agent: Agent,
    base: String,
}

impl Client {
    /// Creates a client for the service at `127.0.0.1:port`.
    #[must_use]
    pub fn new(address: &str) -> Self {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections_per_host(4)
            .timeout_global(Some(REQUEST_TIMEOUT))
            .allow_non_standard_methods(true)
            .proxy(None)
            .build()
            .new_agent();
        Self { agent, base: format!("http://{address}") }
    }

    /// Sends one request. Connection errors are returned for suites that break connections on purpose.
    ///
    /// # Errors
    /// Returns an error if no complete response arrives.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, ureq::Error> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = if body.is_empty() {
            self.agent.run(request.body(()).map_err(ureq::Error::Http)?)
        } else {
            self.agent.run(request.body(body).map_err(ureq::Error::Http)?)
        };
        let (parts, mut body) = response?.into_parts();
        let headers = parts.headers.iter().map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        Ok(Answer {
            status: parts.status.as_u16(),
            headers: headers.collect(),
            body: body.with_config().limit(ANSWER_BYTES_MAX).read_to_vec()?,
        })
    }

    /// Sends a `POST` with a JSON text, unchanged.
    ///
    /// # Errors
    /// Returns an error if no complete response arrives.
    pub fn try_post(&self, path: &str, body: &[u8]) -> Result<Answer, ureq::Error> {
        self.send("POST", path, &[("content-type", "application/json")], body)
    }

    /// Sends a `GET`.
    ///
    /// # Panics
    /// Panics if no complete response arrives.
    #[must_use]
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        answered("GET", path, self.send("GET", path, &[], &[]))
    }

    /// Sends a `DELETE`.
    ///
    /// # Panics
    /// Panics if no complete response arrives.
    #[must_use]
    #[track_caller]
    pub fn delete(&self, path: &str) -> Answer {
        answered("DELETE", path, self.send("DELETE", path, &[], &[]))
    }

    /// Sends a `PUT` with a body of this media type.
    ///
    /// # Panics
    /// Panics if no complete response arrives.
    #[must_use]
    #[track_caller]
    pub fn put(&self, path: &str, media_type: &str, body: &[u8]) -> Answer {
        answered("PUT", path, self.send("PUT", path, &[("content-type", media_type)], body))
    }

    /// Sends a `POST` with a JSON value.
    ///
    /// # Panics
    /// Panics if no complete response arrives.
    #[must_use]
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        answered("POST", path, self.try_post(path, body.to_string().as_bytes()))
    }

    /// Sends a transaction for evaluation.
    ///
    /// # Panics
    /// Panics if no complete response arrives.
    #[must_use]
    #[track_caller]
    pub fn inject(&self, transaction: &Value) -> Answer {
        self.post("/inject", transaction)
    }

    /// Judges transactions in batches, in their order. Returns the answer of each.
    ///
    /// # Panics
    /// Panics if a batch is refused, or no complete response arrives.
    #[must_use]
    #[track_caller]
    pub fn inject_all(&self, transactions: impl IntoIterator<Item = Value>) -> Vec<Value> {
        let (mut transactions, mut answers) = (transactions.into_iter().peekable(), Vec::new());
        while transactions.peek().is_some() {
            let lines: Vec<String> =
                transactions.by_ref().take(BATCH_LINES).map(|line| format!("{line}\n")).collect();
            let headers = [("content-type", "application/x-ndjson")];
            let sent = self.send("POST", "/inject/batch", &headers, lines.concat().as_bytes());
            let answer = answered("POST", "/inject/batch", sent);
            assert_eq!(answer.status, 200, "{}", answer.text());
            let read = |line: &str| serde_json::from_str::<Value>(line).expect("an answer is JSON");
            answers.extend(answer.text().lines().map(read));
        }
        answers
    }

    /// Sends a transaction as [`Self::inject`] does, and again while it is refused with 503: on a busy machine, payments are refused
    /// for a moment when what holds them for review has changed.
    ///
    /// # Panics
    /// Panics if no complete response arrives.
    #[must_use]
    #[track_caller]
    pub fn inject_admitted(&self, transaction: &Value) -> Answer {
        let mut answer = self.inject(transaction);
        poll::until("the payment is judged", ADMITTED_WITHIN, || {
            if answer.status == 503 {
                answer = self.inject(transaction);
            }
            answer.status != 503
        });
        answer
    }

    /// Fetches a stored transaction.
    ///
    /// # Panics
    /// Panics if no complete response arrives.
    #[must_use]
    #[track_caller]
    pub fn transaction(&self, id: &str) -> Answer {
        self.get(&format!("/transactions/{id}"))
    }

    /// Compiles and saves a script.
    ///
    /// # Panics
    /// Panics if no complete response arrives.
    #[must_use]
    #[track_caller]
    pub fn save(&self, script: &str) -> Answer {
        self.post("/compile-and-save-instruction", &json!({ "script": script }))
    }

    /// Compiles and saves a script, and does not wait until the rule is in force.
    ///
    /// # Panics
    /// Panics if no complete response arrives.
    #[must_use]
    #[track_caller]
    pub fn save_without_waiting(&self, script: &str) -> Answer {
        let (path, body) = ("/compile-and-save-instruction", json!({ "script": script }).to_string());
        let headers = [("content-type", "application/json"), ("prefer", "respond-async")];
        answered("POST", path, self.send("POST", path, &headers, body.as_bytes()))
    }

    /// Uploads a module with an optional query string, given without `?`.
    ///
    /// # Panics
    /// Panics if no complete response arrives.
    #[must_use]
    #[track_caller]
    pub fn upload(&self, query: &str, module: &[u8]) -> Answer {
        let path = format!("/instructions/wasm{}{query}", if query.is_empty() { "" } else { "?" });
        answered("POST", &path, self.send("POST", &path, &[("content-type", "application/wasm")], module))
    }
}

#[track_caller]
fn answered(method: &str, path: &str, result: Result<Answer, ureq::Error>) -> Answer {
    result.unwrap_or_else(|error| panic!("{method} {path} got no answer: {error}"))
}

/// Sends one transaction per client at the same moment. Responses are in client order.
///
/// # Panics
/// Panics if a request gets no response.
pub fn at_once(clients: &[Client], transaction: impl Fn(usize) -> Value + Sync) -> Vec<Answer> {
    let start = Barrier::new(clients.len());
    thread::scope(|scope| {
        let threads: Vec<_> = clients
            .iter()
            .enumerate()
            .map(|(index, client)| {
                let (start, transaction) = (&start, &transaction);
                scope.spawn(move || {
                    let transaction = transaction(index);
                    start.wait();
                    client.inject(&transaction)
                })
            })
            .collect();
        let answers = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| panic!("a request got no answer")));
        answers.collect()
    })
}
