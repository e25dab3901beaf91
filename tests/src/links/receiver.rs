//! A webhook's receiver: an HTTP server that takes alerts, or does not.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::peer::{Peer, Watched};

/// What it does with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reception {
    /// It answers with this status.
    Status(u16),
    /// It sends the sender somewhere else.
    Redirect(String),
    /// It never answers.
    Hanging,
    /// It answers 200 and a body without an end.
    Endless,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Delivered {
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// As it came.
    pub body: Vec<u8>,
    /// Whether it was answered with success.
    pub is_taken: bool,
}

#[derive(Debug)]
struct Seen {
    reception: Reception,
    /// What is done with the next requests, before `reception` holds.
    next: Vec<Reception>,
    requests: Vec<Delivered>,
}

/// Listens on a free port until it is dropped.
#[derive(Debug)]
pub struct Receiver {
    peer: Peer,
    seen: Arc<Watched<Seen>>,
}

impl Delivered {
    /// The first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        let header = self.headers.iter().find(|(known, _)| known == name);
        header.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// The body as JSON; null when it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// About which transaction it is.
    #[must_use]
    pub fn transaction_id(&self) -> String {
        self.json().get("transaction_id").and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

impl Receiver {
    /// On a free port of 127.0.0.1.
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

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hooks/alerts", self.peer.port())
    }

    /// The same with something before the `@` and behind the path.
    #[must_use]
    pub fn url_with(&self, user_info: &str, query: &str) -> String {
        format!("http://{user_info}@127.0.0.1:{}/hooks/alerts?{query}", self.peer.port())
    }

    /// Does this from the next request on.
    pub fn set(&self, reception: Reception) {
        self.seen.change(|seen| seen.reception = reception);
    }

    /// Does these with the next requests, and then what was said before.
    pub fn set_next(&self, mut receptions: Vec<Reception>) {
        receptions.reverse();
        self.seen.change(|seen| seen.next = receptions);
    }

    /// Every request so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Delivered> {
        self.seen.read(|seen| seen.requests.clone())
    }

    /// Waits for so many requests; those there were in the end.
    #[must_use]
    pub fn wait_for(&self, n: usize) -> Vec<Delivered> {
        self.seen.wait(|seen| (seen.requests.len() >= n).then_some(()));
        self.requests()
    }

    /// Waits until the alert about a transaction was taken; whether it was.
    #[must_use]
    pub fn wait_for_taken(&self, transaction_id: &str) -> Option<Delivered> {
        let is_it = |request: &&Delivered| request.is_taken && request.transaction_id() == transaction_id;
        self.seen.wait(|seen| seen.requests.iter().find(is_it).cloned())
    }
}

/// One request of a connection; `None` at its end.
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
        Reception::Redirect(place) => {
            let head = format!("HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n");
            tcp.write_all(head.as_bytes()).ok()
        }
        Reception::Hanging => {
            // Until the sender gives up, or the receiver ends.
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
