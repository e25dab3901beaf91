//! The way to a remote: a relay on loopback that libgit2 takes for the remote itself.
//!
//! ```text
//!  worker ──one request──▶ relay ──TLS, credentials──▶ an address that was judged before
//!         ◀── bytes counted, time measured, no redirect ◀──
//! ```
//!
//! libgit2 resolves names itself, follows redirects within a host, knows no limit in bytes and waits for ever. Behind the
//! relay it can reach one repository of one remote, at addresses that were checked, for so many bytes and so long. The
//! relay speaks TLS, too: behind a proxy libgit2 goes on to use a connection it has freed when a certificate is not
//! trusted. And it shows the credentials, when the remote asks for them: who runs libgit2 does not know them.
//!
//! Every process of the machine can connect here. Who is not the worker is sent away, and disturbs nobody: a request has
//! to begin with a key that only the worker was told; a connection that carries no requests has to be one of its own.

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
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tollgate_model::secret::Secret;

use super::network::Network;
use connections::{ConnectionId, Connections};

/// How long one address may take to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Of the key that requests begin with: nobody guesses it within an operation.
const KEY_BYTES: usize = 16;

/// How the remote is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RelayTransport {
    /// In requests within TLS, to a host of this name.
    Tls(String),
    /// In plain requests.
    Plain,
    /// In bytes: for SSH.
    Raw,
}

/// What is asked of the remote; nothing else passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitService {
    /// To hand something out.
    Fetch,
    /// To take something.
    Push,
}

/// Where the relay leads, and how far.
pub(super) struct RelayRoute {
    pub(super) manner: RelayTransport,
    /// The host, and its port where it has to be said, as requests name it.
    pub(super) authority: String,
    /// Of the repository, on that host.
    pub(super) path: String,
    pub(super) service: GitService,
    /// What is shown when the remote asks for it; the value of the field `Authorization`.
    pub(super) authorization: Option<Secret>,
    /// Where it is, checked.
    pub(super) addresses: Vec<SocketAddr>,
    /// By what they are reached.
    pub(super) network: Arc<dyn Network>,
    /// From the remote.
    pub(super) bytes_max: u64,
    /// For everything together.
    pub(super) time_max: Duration,
}

/// Why the relay cut a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RelayCut {
    /// No address answered.
    Unreachable = 1,
    /// Time was up.
    TooSlow,
    /// The remote sent too much.
    TooLarge,
    /// The remote would send us somewhere else, or does not speak HTTP.
    Elsewhere,
    /// The remote has not proved who it is.
    Untrusted,
    /// The remote was shown the credentials, and asked again.
    Refused,
}

/// Open until dropped.
pub(super) struct Relay {
    address: SocketAddr,
    way: Arc<RelayShared>,
    threads: Vec<JoinHandle<()>>,
}

/// What all connections of a relay share.
struct RelayShared {
    route: RelayRoute,
    /// What the path of a request begins with, in hexadecimal digits.
    key: String,
    /// The process that may connect; 0 until it is known.
    guest: AtomicU32,
    deadline: Instant,
    n_received_bytes: AtomicU64,
    cut: AtomicU8,
    /// Whether the remote has asked for credentials.
    is_asked: AtomicBool,
    is_closing: AtomicBool,
    connections: Connections,
}

impl Relay {
    /// Opens a relay to one remote.
    ///
    /// # Errors
    /// When the system gives no socket, no thread or no random numbers.
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

    /// Lets a process of this machine in.
    pub(super) fn admit(&self, process: u32) {
        self.way.guest.store(process, Ordering::Relaxed);
    }

    /// The port it listens on, at 127.0.0.1.
    pub(super) const fn port(&self) -> u16 {
        self.address.port()
    }

    /// What libgit2 is told to speak to. A secret as long as the relay is open.
    pub(super) fn url(&self) -> String {
        let RelayShared { route, key, .. } = &*self.way;
        match route.manner {
            RelayTransport::Raw => format!("ssh://{}{}", self.address, route.path),
            RelayTransport::Plain | RelayTransport::Tls(_) => format!("http://{}/{key}", self.address),
        }
    }

    /// Why a connection was cut, if one was.
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
        // Wakes who waits for a connection.
        TcpStream::connect(self.address).ok();
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
    }
}

impl RelayShared {
    fn serve(self: &Arc<Self>, listener: &TcpListener) {
        let mut carrying: Vec<JoinHandle<()>> = Vec::new();
        for stream in listener.incoming() {
            if self.is_closing.load(Ordering::Relaxed) {
                break;
            }
            carrying.retain(|carried| !carried.is_finished());
            let Ok(stream) = stream else {
                // No room for another connection just now.
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            let way = Arc::clone(self);
            carrying.extend(spawn(move || way.carry(stream)).ok());
        }
        for carried in carrying {
            carried.join().ok();
        }
    }

    /// Whatever a connection waits for, a handshake or a client that goes on sending: when time is up, it is over.
    fn watch(&self) {
        if !self.connections.are_closed_by(self.deadline) {
            self.cut(RelayCut::TooSlow);
        }
    }

    /// One connection, to its end.
    fn carry(&self, client: TcpStream) {
        // Who is not on this machine has no business here.
        let is_local = client.peer_addr().is_ok_and(|peer| peer.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST));
        if !is_local {
            return;
        }
        let Ok(id) = self.connections.enter(&client) else { return };
        if self.route.manner == RelayTransport::Raw {
            if self.is_guest(&client) && self.connections.admit(id).is_ok() {
                self.carry_bytes(id, &client);
            }
        } else if let Ok(request) = head::take(&client, self)
            && self.connections.admit(id).is_ok()
        {
            self.carry_request(id, &client, request);
        }
        client.shutdown(Shutdown::Both).ok();
        self.connections.leave(id);
    }

    /// Whether the other end is the worker's. Where the system does not say, everybody's is.
    fn is_guest(&self, client: &TcpStream) -> bool {
        #[cfg(target_os = "linux")]
        return guest::holds(self.guest.load(Ordering::Relaxed), client);
        #[cfg(not(target_os = "linux"))]
        true
    }

    fn carry_bytes(&self, id: ConnectionId, client: &TcpStream) {
        let Some(remote) = self.connect(id) else { return self.refuse(client, RelayCut::Unreachable) };
        pump::both_ways(self, client, &remote);
        remote.shutdown(Shutdown::Both).ok();
    }

    fn carry_request(&self, id: ConnectionId, client: &TcpStream, request: head::RequestHead) {
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

    /// Said here before it is said there: whoever hears of it asks why at once.
    fn refuse(&self, client: &TcpStream, cut: RelayCut) {
        self.note(cut);
        if self.route.manner != RelayTransport::Raw {
            head::refuse(client);
        }
        self.connections.close();
    }

    /// To the remote, for an admitted connection.
    fn connect(&self, id: ConnectionId) -> Option<TcpStream> {
        let patience = || CONNECT_TIMEOUT.min(self.time_left()).max(Duration::from_millis(1));
        let addresses = self.route.addresses.iter().take_while(|_| !self.time_left().is_zero());
        let stream =
            addresses.copied().find_map(|address| self.route.network.connect(address, patience()).ok())?;
        // Long enough for a handshake; what follows looks at the time more often.
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

    /// The first reason is the reason.
    fn note(&self, cut: RelayCut) {
        self.cut.compare_exchange(0, cut as u8, Ordering::Relaxed, Ordering::Relaxed).ok();
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("git-relay".to_owned()).spawn(work)
}

#[cfg(test)]
mod tests;
