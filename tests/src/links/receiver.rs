//! A webhook receiver: an HTTP server that accepts or rejects alerts.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::peer::{Peer, Watched};

/// Response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reception {
    /// Responds with this status.
    Status(u16),
    /// Redirects to this URL.
    Redirect(String),
    /// Never responds.
    Hanging,
    /// Responds with 200 and an endless body.
    Endless,
}

/// A received request.
#[derive(Debug, Clone)]
pub struct Delivered {
    /// All headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body as received.
    pub body: Vec<u8>,
    /// Whether the response was a success.
    pub is_taken: bool,
}

#[derive(Debug)]
struct Seen {
    reception: Reception,
    /// Responses to the next requests, before `reception` applies.
    next: Vec<Reception>,
    requests: Vec<Delivered>,
}

/// A receiver on a free port. Stops when dropped.
#[derive(Debug)]
pub struct Receiver {
    peer: Peer,
    seen: Arc<Watched<Seen>>,
}

impl Delivered {
    /// Returns the first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        let header = self.headers.iter().find(|(known, _)| known == name);
        header.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Parses the body as JSON; null if it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the transaction id in the body.
    #[must_use]
    pub fn transaction_id(&self) -> String {
        self.json().get("transaction_id").and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

impl Receiver {
    /// Starts a receiver on a free port of 127.0.0.1.
    #[must_use]
    pub fn start(reception: Reception) -> Self {
        let seen = Arc::new(Watched::new(Seen { reception, next: Vec::new(), requests: Vec::new() }));
        let shared = Arc::clone(&seen);
        let peer = Peer::listen(move |tcp| {
            let mut reader = BufReader::new(&tcp);
            while take(&shared, &mut reader, &tcp).is_some() {}
        });
        Self { peer, seen }
    }

    /// Returns its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hooks/alerts", self.peer.port())
    }

    /// Returns the URL with this text before the `@` and this query.
    #[must_use]
    pub fn url_with(&self, user_info: &str, query: &str) -> String {
        format!("http://{user_info}@127.0.0.1:{}/hooks/alerts?{query}", self.peer.port())
    }

    /// Changes the response from the next request on.
    pub fn set(&self, reception: Reception) {
        self.seen.change(|seen| seen.reception = reception);
    }

    /// Sets the responses to the next requests only.
    pub fn set_next(&self, mut receptions: Vec<Reception>) {
        receptions.reverse();
        self.seen.change(|seen| seen.next = receptions);
    }

    /// Returns all requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Delivered> {
        self.seen.read(|seen| seen.requests.clone())
    }

    /// Waits for this many requests. Returns all requests at the end of the wait.
    #[must_use]
    pub fn wait_for(&self, n: usize) -> Vec<Delivered> {
        self.seen.wait(|seen| (seen.requests.len() >= n).then_some(()));
        self.requests()
    }

    /// Waits until the alert about a transaction is accepted; `None` after a timeout.
    #[must_use]
    pub fn wait_for_taken(&self, transaction_id: &str) -> Option<Delivered> {
        let is_it = |request: &&Delivered| request.is_taken && request.transaction_id() == transaction_id;
        self.seen.wait(|seen| seen.requests.iter().find(is_it).cloned())
    }
}

/// Handles one request of a connection; `None` at the end.
fn take(seen: &Watched<Seen>, reader: &mut BufReader<&TcpStream>, mut tcp: &TcpStream) -> Option<()> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut headers = vec![("request".to_owned(), line.trim_end().to_owned())];
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, length)| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let reception = seen.change(|seen| {
        let reception = seen.next.pop().unwrap_or_else(|| seen.reception.clone());
        let is_taken = matches!(reception, Reception::Status(200..300) | Reception::Endless);
        seen.requests.push(Delivered { headers, body, is_taken });
        reception
    });
    match reception {
        Reception::Status(status) => {
            let head = format!("HTTP/1.1 {status} So\r\nContent-Length: 2\r\n\r\nok");
            tcp.write_all(head.as_bytes()).ok()
        }
        Reception::Redirect(target) => {
            let head = format!("HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n");
            tcp.write_all(head.as_bytes()).ok()
        }
        Reception::Hanging => {
            // Wait until the sender gives up or the receiver stops.
            let _ = tcp.set_read_timeout(Some(Duration::from_secs(60)));
            let _ = reader.read(&mut [0]);
            None
        }
        Reception::Endless => {
            tcp.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n").ok()?;
            while tcp.write_all(&[b'x'; 65536]).is_ok() {}
            None
        }
    }
}
