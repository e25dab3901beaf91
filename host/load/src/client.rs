//! A blocking HTTP client with one connection, for occasional requests.
//!
//! The service may close a kept connection at any time, because it was idle or for its age. A request that can be repeated
//! without effect is sent again over a new connection: one that reads, and one whose payment has an id. Every other
//! request gets a new connection of its own, which no idle timeout can have closed.

use std::fmt;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::Value as Json;

use super::error::BenchError;
use super::interrupt;
use super::target::HttpTarget;
use super::wire;

/// Timeout for connecting, reading and writing.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many times a request is sent at most.
const ATTEMPTS_MAX: u32 = 5;
/// Pause before a request is sent a third time; the second time is at once.
const PAUSE: Duration = Duration::from_millis(100);

/// A keep-alive connection, opened on first use.
#[derive(Debug)]
pub(super) struct Client {
    target: HttpTarget,
    stream: Option<TcpStream>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HttpResponse {
    pub(super) status: u16,
    pub(super) body: String,
}

#[derive(Debug)]
struct HttpRequest<'a> {
    method: &'a str,
    path: &'a str,
    body: &'a str,
    is_repeatable: bool,
}

/// A reason why a request has no response.
#[derive(Debug)]
enum ExchangeError {
    /// The service closed the connection before the response was complete.
    Closed,
    Other(String),
}

impl Client {
    pub(super) const fn new(target: HttpTarget) -> Self {
        Self { target, stream: None }
    }

    /// Sends a request and waits for the response.
    ///
    /// # Errors
    /// When the connection fails, or the response is not valid HTTP.
    pub(super) fn send(&mut self, method: &str, path: &str, body: &str) -> Result<HttpResponse, BenchError> {
        let request = HttpRequest::new(method, path, body);
        let written = self.write(&request);
        self.finish(&request, written)
    }

    /// Sends a request and returns the body of a response with the expected status.
    ///
    /// # Errors
    /// As [`Self::send`], and when the status is another one.
    pub(super) fn expect(
        &mut self,
        status: u16,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<String, BenchError> {
        let said = self.send(method, path, body)?;
        said.expect(status, method, path)
    }

    /// Waits for the response to a request that was `written`, and repeats the request if the connection was closed.
    fn finish(
        &mut self,
        request: &HttpRequest<'_>,
        written: Result<(), ExchangeError>,
    ) -> Result<HttpResponse, BenchError> {
        let mut answered = written.and_then(|()| self.read());
        for n_sent in 1..ATTEMPTS_MAX {
            if !(request.is_repeatable && matches!(answered, Err(ExchangeError::Closed))) {
                break;
            }
            interrupt::check()?;
            thread::sleep(PAUSE * (n_sent - 1));
            answered = self.write(request).and_then(|()| self.read());
        }
        answered.map_err(|error| {
            let HttpRequest { method, path, .. } = request;
            BenchError::Answer(format!("{method} {path}: {error}"))
        })
    }

    fn write(&mut self, request: &HttpRequest<'_>) -> Result<(), ExchangeError> {
        let HttpRequest { method, path, body, is_repeatable } = request;
        let host = &self.target.host;
        let bytes = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let stream = match self.stream.take().filter(|_| *is_repeatable) {
            Some(stream) => stream,
            None => connect(&self.target)?,
        };
        (&stream).write_all(bytes.as_bytes())?;
        self.stream = Some(stream);
        Ok(())
    }

    fn read(&mut self) -> Result<HttpResponse, ExchangeError> {
        let other = |why: &str| ExchangeError::Other(why.to_owned());
        let stream = self.stream.take().ok_or_else(|| other("no request was sent"))?;
        let (mut bytes, mut piece) = (Vec::new(), [0; 16 * 1024]);
        let answer = loop {
            if let Some(answer) = wire::answer(&bytes).map_err(other)? {
                break answer;
            }
            let n_bytes = match (&stream).read(&mut piece) {
                Ok(0) => return Err(ExchangeError::Closed),
                Ok(n_bytes) => n_bytes,
                // A signal came; whoever sends requests looks for it between them.
                Err(error) if error.kind() == ErrorKind::Interrupted => 0,
                Err(error) => return Err(error.into()),
            };
            bytes.extend_from_slice(piece.get(..n_bytes).unwrap_or_default());
        };
        if !answer.closes {
            self.stream = Some(stream);
        }
        let body = bytes.get(answer.body.clone()).unwrap_or_default();
        Ok(HttpResponse { status: answer.status, body: String::from_utf8_lossy(body).into_owned() })
    }
}

impl<'a> HttpRequest<'a> {
    fn new(method: &'a str, path: &'a str, body: &'a str) -> Self {
        Self { method, path, body, is_repeatable: method == "GET" || has_payment_id(body) }
    }
}

/// Whether a body is a payment with an id, or reports one.
fn has_payment_id(body: &str) -> bool {
    let body: Json = serde_json::from_str(body).unwrap_or_default();
    let payment = body.get("data").unwrap_or(&body);
    payment.get("transaction_id").and_then(Json::as_str).is_some_and(|id| !id.is_empty())
}

impl From<io::Error> for ExchangeError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::NotConnected
            | ErrorKind::UnexpectedEof => Self::Closed,
            _ => Self::Other(error.to_string()),
        }
    }
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the connection was closed before the response"),
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl HttpResponse {
    fn expect(self, status: u16, method: &str, path: &str) -> Result<String, BenchError> {
        if self.status == status {
            Ok(self.body)
        } else {
            Err(BenchError::Answer(format!("{method} {path} returned {}: {}", self.status, self.body)))
        }
    }
}

/// Sends one request over each client before waiting for the responses. Returns the bodies of the responses, in order.
///
/// # Errors
/// As [`Client::expect`].
pub(super) fn expect_each(
    clients: &mut [Client],
    status: u16,
    (method, path): (&str, &str),
    bodies: &[String],
) -> Result<Vec<String>, BenchError> {
    let sent = clients.iter_mut().zip(bodies).map(|(client, body)| {
        let request = HttpRequest::new(method, path, body);
        let written = client.write(&request);
        (client, request, written)
    });
    // Every request is written before the first response is awaited.
    let sent: Vec<_> = sent.collect();
    let answers = sent
        .into_iter()
        .map(|(client, request, written)| client.finish(&request, written)?.expect(status, method, path));
    answers.collect()
}

fn connect(target: &HttpTarget) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&target.address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

#[cfg(test)]
mod tests;
