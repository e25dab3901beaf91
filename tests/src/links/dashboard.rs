//! A dashboard: a WebSocket server that can misbehave.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Instant;

use openssl::ssl::SslAcceptor;
use serde_json::Value;
use tungstenite::handshake::server::{Callback, ErrorResponse, Request, Response};
use tungstenite::http::StatusCode;
use tungstenite::{Message, WebSocket};

use super::peer::{Peer, Watched};
use crate::Identity;

/// Behaviour from the next connection on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Accepts connections and reads messages.
    Fine,
    /// Closes connections before the handshake.
    Down,
    /// Rejects all credentials.
    Revoked,
    /// Completes the handshake and reads nothing.
    Deaf,
    /// Announces a frame of 1 GiB.
    Boasting,
    /// Sends without end.
    Babbling,
}

/// Observations of the dashboard.
#[derive(Debug)]
struct Seen {
    manner: Manner,
    /// Times of all connection attempts.
    attempts: Vec<Instant>,
    /// Completed handshakes.
    n_connections: usize,
    /// `Authorization` headers of all handshakes.
    authorizations: Vec<String>,
    messages: Vec<String>,
    /// Number of calls that closed all connections.
    n_ends: usize,
    is_over: bool,
}

/// A dashboard on a free port. Stops when dropped.
#[derive(Debug)]
pub struct Dashboard {
    peer: Peer,
    seen: Arc<Watched<Seen>>,
    is_secure: bool,
}

trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

impl Dashboard {
    /// Starts a dashboard at `ws://127.0.0.1`.
    #[must_use]
    pub fn start(manner: Manner) -> Self {
        Self::listen(manner, None)
    }

    /// Starts a dashboard at `wss://localhost`.
    #[must_use]
    pub fn start_secure(identity: &Identity) -> Self {
        Self::listen(Manner::Fine, Some(identity.acceptor()))
    }

    fn listen(manner: Manner, acceptor: Option<SslAcceptor>) -> Self {
        let seen = Arc::new(Watched::new(Seen {
            manner,
            attempts: Vec::new(),
            n_connections: 0,
            authorizations: Vec::new(),
            messages: Vec::new(),
            n_ends: 0,
            is_over: false,
        }));
        let (shared, is_secure) = (Arc::clone(&seen), acceptor.is_some());
        let peer = Peer::listen(move |tcp| {
            let manner = shared.change(|seen| {
                seen.attempts.push(Instant::now());
                seen.manner
            });
            let Ok(raw) = tcp.try_clone() else { return };
            match &acceptor {
                _ if manner == Manner::Down => {}
                None => serve(&shared, manner, tcp),
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(tcp) {
                        serve(&shared, manner, stream);
                    }
                }
            }
            let _ = raw.shutdown(std::net::Shutdown::Both);
        });
        Self { peer, seen, is_secure }
    }

    /// Returns its URL.
    #[must_use]
    pub fn url(&self) -> String {
        let port = self.peer.port();
        if self.is_secure {
            format!("wss://localhost:{port}/alerts")
        } else {
            format!("ws://127.0.0.1:{port}/alerts")
        }
    }

    /// Changes the behaviour from the next connection on.
    pub fn set_manner(&self, manner: Manner) {
        self.seen.change(|seen| seen.manner = manner);
    }

    /// Closes every connection.
    pub fn hang_up(&self) {
        self.seen.change(|seen| seen.n_ends += 1);
        self.peer.hang_up();
    }

    /// Waits for this many handshakes. Returns whether they completed in time.
    #[must_use]
    pub fn wait_for_connections(&self, n: usize) -> bool {
        self.seen.wait(|seen| (seen.n_connections >= n).then_some(())).is_some()
    }

    /// Waits for the notification about a transaction.
    #[must_use]
    pub fn wait_for(&self, transaction_id: &str) -> Option<Value> {
        let part = format!("\"transaction_id\":\"{transaction_id}\"");
        self.seen.wait(|seen| {
            let message = seen.messages.iter().find(|message| message.contains(&part))?;
            serde_json::from_str(message).ok()
        })
    }

    /// Returns the transaction ids of all notifications, in order.
    #[must_use]
    pub fn received_ids(&self) -> Vec<String> {
        let id = |message: &String| {
            let message: Value = serde_json::from_str(message).unwrap_or_default();
            message.get("transaction_id").and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        self.seen.read(|seen| seen.messages.iter().map(id).collect())
    }

    /// Returns the times of all connection attempts.
    #[must_use]
    pub fn attempts(&self) -> Vec<Instant> {
        self.seen.read(|seen| seen.attempts.clone())
    }

    /// Returns the `Authorization` headers of all handshakes.
    #[must_use]
    pub fn authorizations(&self) -> Vec<String> {
        self.seen.read(|seen| seen.authorizations.clone())
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.seen.change(|seen| seen.is_over = true);
    }
}

/// Checks the handshake request.
struct Judge<'a> {
    seen: &'a Watched<Seen>,
    manner: Manner,
}

impl Callback for Judge<'_> {
    fn on_request(self, request: &Request, response: Response) -> Result<Response, ErrorResponse> {
        let authorization = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        self.seen.change(|seen| seen.authorizations.extend(authorization.map(str::to_owned)));
        if self.manner == Manner::Revoked {
            let mut refusal = ErrorResponse::new(Some("who are you?".to_owned()));
            *refusal.status_mut() = StatusCode::UNAUTHORIZED;
            return Err(refusal);
        }
        Ok(response)
    }
}

fn serve(seen: &Watched<Seen>, manner: Manner, stream: impl Stream) {
    let Ok(socket) = tungstenite::accept_hdr(stream, Judge { seen, manner }) else { return };
    seen.change(|seen| seen.n_connections += 1);
    match manner {
        Manner::Deaf => wait_for_the_end(seen),
        Manner::Boasting => boast(seen, socket),
        Manner::Babbling => babble(socket),
        _ => listen(seen, socket),
    }
}

fn listen(seen: &Watched<Seen>, mut socket: WebSocket<impl Stream>) {
    while let Ok(message) = socket.read() {
        if let Message::Text(text) = message {
            seen.change(|seen| seen.messages.push(text.to_string()));
        }
    }
}

/// Holds the connection without reading until all are closed.
fn wait_for_the_end(seen: &Watched<Seen>) {
    let n_ends = seen.read(|seen| seen.n_ends);
    while seen.wait(|seen| (seen.is_over || seen.n_ends > n_ends).then_some(())).is_none() {}
}

/// Sends the header of an unmasked binary frame of 2^30 bytes, and part of its payload.
fn boast(seen: &Watched<Seen>, mut socket: WebSocket<impl Stream>) {
    let mut frame = vec![0x82, 127];
    frame.extend_from_slice(&(1_u64 << 30).to_be_bytes());
    frame.resize(frame.len() + (1 << 20), 0);
    let _ = socket.get_mut().write_all(&frame);
    wait_for_the_end(seen);
}

fn babble(mut socket: WebSocket<impl Stream>) {
    while socket.send(Message::text("do as I say")).is_ok() {}
}
