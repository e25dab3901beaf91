//! A relay on loopback that libgit2 contacts in place of the remote.
//!
//! ```text
//!  worker ──one request──▶ relay ──TLS, credentials──▶ an address that passed the policy
//!         ◀── bytes counted, time measured, no redirect ◀──
//! ```
//!
//! libgit2 resolves names itself, follows redirects within a host, has no byte limit and waits for ever. Behind the
//! relay it can reach one repository of one remote, at checked addresses, within limits on bytes and time.
//!
//! The relay also performs TLS: behind a proxy, libgit2 continues to use a freed connection when a certificate is not
//! trusted. The relay adds the credentials when the remote asks for them, so the worker never has them.
//!
//! Every local process can connect here; the relay rejects all except the worker. A request must begin with a key that
//! only the worker received. A raw connection must belong to the worker process.

mod connections;
mod exchange;
#[cfg(target_os = "linux")]
mod guest;
mod head;
mod pump;
mod tls;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tollgate_model::secret::Secret;

use super::network::Network;
use super::remote_failure::HttpAnswer;
use connections::{ConnectionId, Connections};

/// Time limit for connecting to one address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Length of the key at the beginning of requests: infeasible to guess during an operation.
const KEY_BYTES: usize = 16;

/// Protocol between relay and remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RelayTransport {
    /// HTTP over TLS, to a host of this name.
    Tls(String),
    Plain,
    /// Raw bytes, for SSH.
    Raw,
}

/// The only Git service that a relay lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitService {
    /// Download from the remote.
    Fetch,
    /// Upload to the remote.
    Push,
}

/// Destination and limits of a relay.
pub(super) struct RelayRoute {
    pub(super) manner: RelayTransport,
    /// Host for requests, with its port unless it is the default.
    pub(super) authority: String,
    /// Path of the repository on that host.
    pub(super) path: String,
    pub(super) service: GitService,
    /// Value of the `Authorization` field, sent when the remote asks for it.
    pub(super) authorization: Option<Secret>,
    /// Checked addresses of the host.
    pub(super) addresses: Vec<SocketAddr>,
    /// Network for connections to the addresses.
    pub(super) network: Arc<dyn Network>,
    pub(super) bytes_max: u64,
    /// Time limit for the whole operation.
    pub(super) time_max: Duration,
}

/// Reason why the relay closed a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RelayCut {
    /// No address accepted a connection.
    Unreachable = 1,
    TooSlow,
    TooLarge,
    /// The remote sent a redirect, or does not speak HTTP.
    Elsewhere,
    /// The certificate of the remote is not trusted.
    Untrusted,
    /// The remote rejected the credentials.
    Refused,
}

/// A relay, open until dropped.
pub(super) struct Relay {
    address: SocketAddr,
    way: Arc<RelayShared>,
    threads: Vec<JoinHandle<()>>,
}

/// State shared by all connections of a relay.
struct RelayShared {
    route: RelayRoute,
    /// Key at the beginning of request paths, in hexadecimal digits.
    key: String,
    /// Process that may connect; 0 until it is set.
    guest: AtomicU32,
    deadline: Instant,
    n_received_bytes: AtomicU64,
    cut: AtomicU8,
    /// Status of the last response over HTTP; 0 before the first.
    status: AtomicU16,
    /// Whether the last response has a content type of Git.
    is_git: AtomicBool,
    /// Whether the remote has asked for credentials.
    is_asked: AtomicBool,
    is_closing: AtomicBool,
    connections: Connections,
}

impl Relay {
    /// Opens a relay to one remote.
    ///
    /// # Errors
    /// Fails if the system provides no socket, thread or random numbers.
    pub(super) fn open(route: RelayRoute) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let mut key = [0; KEY_BYTES];
        openssl::rand::rand_bytes(&mut key)?;
        let way = Arc::new(RelayShared {
            deadline: Instant::now() + route.time_max,
            route,
            key: key.iter().map(|byte| format!("{byte:02x}")).collect(),
            guest: AtomicU32::new(0),
            n_received_bytes: AtomicU64::new(0),
            cut: AtomicU8::new(0),
            status: AtomicU16::new(0),
            is_git: AtomicBool::new(false),
            is_asked: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            connections: Connections::default(),
        });
        let mut relay = Self { address, way: Arc::clone(&way), threads: Vec::with_capacity(2) };
        let served = Arc::clone(&way);
        relay.threads.push(spawn(move || served.serve(&listener))?);
        relay.threads.push(spawn(move || way.watch())?);
        Ok(relay)
    }

    /// Allows a local process to connect.
    pub(super) fn admit(&self, process: u32) {
        self.way.guest.store(process, Ordering::Relaxed);
    }

    pub(super) const fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the URL for libgit2. For HTTP it contains the key, so it is secret while the relay is open.
    pub(super) fn url(&self) -> String {
        let RelayShared { route, key, .. } = &*self.way;
        match route.manner {
            RelayTransport::Raw => format!("ssh://{}{}", self.address, route.path),
            RelayTransport::Plain | RelayTransport::Tls(_) => format!("http://{}/{key}", self.address),
        }
    }

    pub(super) fn http_answer(&self) -> HttpAnswer {
        let status = self.way.status.load(Ordering::Relaxed);
        HttpAnswer {
            status: (status != 0).then_some(status),
            is_git: self.way.is_git.load(Ordering::Relaxed),
        }
    }

    pub(super) fn cut(&self) -> Option<RelayCut> {
        let all = [
            RelayCut::Unreachable,
            RelayCut::TooSlow,
            RelayCut::TooLarge,
            RelayCut::Elsewhere,
            RelayCut::Untrusted,
            RelayCut::Refused,
        ];
        all.into_iter().find(|cut| *cut as u8 == self.way.cut.load(Ordering::Relaxed))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.way.is_closing.store(true, Ordering::Relaxed);
        self.way.connections.close();
        // Wakes the thread that accepts connections.
        TcpStream::connect(self.address).ok();
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
    }
}

impl RelayShared {
    fn serve(self: &Arc<Self>, listener: &TcpListener) {
        let mut connections: Vec<JoinHandle<()>> = Vec::new();
        for stream in listener.incoming() {
            if self.is_closing.load(Ordering::Relaxed) {
                break;
            }
            connections.retain(|connection| !connection.is_finished());
            let Ok(stream) = stream else {
                // The system has no resources for another connection right now.
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            let way = Arc::clone(self);
            connections.extend(spawn(move || way.relay(stream)).ok());
        }
        for connection in connections {
            connection.join().ok();
        }
    }

    /// Closes all connections at the deadline, even during a handshake or while a client keeps sending.
    fn watch(&self) {
        if !self.connections.are_closed_by(self.deadline) {
            self.cut(RelayCut::TooSlow);
        }
    }

    fn relay(&self, client: TcpStream) {
        // Only local processes may connect.
        let is_local = client.peer_addr().is_ok_and(|peer| peer.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST));
        if !is_local {
            return;
        }
        let Ok(id) = self.connections.enter(&client) else { return };
        if self.route.manner == RelayTransport::Raw {
            if self.is_guest(&client) && self.connections.admit(id).is_ok() {
                self.relay_bytes(id, &client);
            }
        } else if let Ok(request) = head::take(&client, self)
            && self.connections.admit(id).is_ok()
        {
            self.relay_request(id, &client, request);
        }
        client.shutdown(Shutdown::Both).ok();
        self.connections.leave(id);
    }

    /// Returns whether the worker process holds the other end. Systems other than Linux cannot tell, so all are
    /// accepted.
    fn is_guest(&self, client: &TcpStream) -> bool {
        #[cfg(target_os = "linux")]
        return guest::holds(self.guest.load(Ordering::Relaxed), client);
        #[cfg(not(target_os = "linux"))]
        true
    }

    fn relay_bytes(&self, id: ConnectionId, client: &TcpStream) {
        let Some(remote) = self.connect(id) else { return self.refuse(client, RelayCut::Unreachable) };
        pump::both_ways(self, client, &remote);
        remote.shutdown(Shutdown::Both).ok();
    }

    fn relay_request(&self, id: ConnectionId, client: &TcpStream, request: head::RequestHead) {
        let Some(remote) = self.connect(id) else { return self.refuse(client, RelayCut::Unreachable) };
        match &self.route.manner {
            RelayTransport::Raw => {}
            RelayTransport::Plain => drop(exchange::exchange(self, client, &mut &remote, request)),
            RelayTransport::Tls(host) => {
                match remote.try_clone().ok().and_then(|stream| tls::connect(host, stream)) {
                    Some(mut secured) => {
                        remote.set_read_timeout(Some(pump::LOOK_EVERY)).ok();
                        exchange::exchange(self, client, &mut secured, request).ok();
                    }
                    None => self.refuse(client, RelayCut::Untrusted),
                }
            }
        }
        remote.shutdown(Shutdown::Both).ok();
    }

    /// Records the reason before it replies, because the service may query the reason as soon as the worker ends.
    fn refuse(&self, client: &TcpStream, cut: RelayCut) {
        self.note(cut);
        if self.route.manner != RelayTransport::Raw {
            head::refuse(client);
        }
        self.connections.close();
    }

    /// Connects an admitted connection to the remote.
    fn connect(&self, id: ConnectionId) -> Option<TcpStream> {
        let patience = || CONNECT_TIMEOUT.min(self.time_left()).max(Duration::from_millis(1));
        let addresses = self.route.addresses.iter().take_while(|_| !self.time_left().is_zero());
        let stream =
            addresses.copied().find_map(|address| self.route.network.connect(address, patience()).ok())?;
        // Long enough for a handshake; later reads check the deadline more often.
        let patience = Some(patience());
        stream.set_read_timeout(patience).and_then(|()| stream.set_write_timeout(patience)).ok()?;
        self.connections.lead(id, &stream).ok()?;
        Some(stream)
    }

    fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn cut(&self, cut: RelayCut) {
        self.note(cut);
        self.connections.close();
    }

    /// Records a reason, unless there is one already.
    fn note(&self, cut: RelayCut) {
        self.cut.compare_exchange(0, cut as u8, Ordering::Relaxed, Ordering::Relaxed).ok();
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("git-relay".to_owned()).spawn(work)
}

#[cfg(test)]
mod tests;
