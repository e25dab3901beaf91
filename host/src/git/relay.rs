//! The way to a remote: a relay on loopback that libgit2 takes for the remote itself.
//!
//! ```text
//!  libgit2 ──one request──▶ relay ──TLS──▶ an address that was judged before
//!          ◀── bytes counted, time measured, no redirect ◀──
//! ```
//!
//! libgit2 resolves names itself, follows redirects within a host, knows no limit in bytes and waits for ever. Behind the
//! relay it can reach one remote, at addresses that were checked, for so many bytes and so long. The relay speaks TLS, too:
//! behind a proxy libgit2 goes on to use a connection it has freed when a certificate is not trusted.

mod exchange;
mod head;
mod pump;
mod tls;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Connections of one operation; libgit2 opens one or two at a time.
const CONNECTIONS_MAX: usize = 64;
/// How long one address may take to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How the remote is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Manner {
    /// In requests within TLS, to a host of this name.
    Tls(String),
    /// In plain requests.
    Plain,
    /// In bytes: for SSH.
    Raw,
}

/// Where the relay leads, and how far.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) manner: Manner,
    /// The host, and its port where it has to be said, as requests name it.
    pub(super) authority: String,
    /// Where it is, checked.
    pub(super) addresses: Vec<SocketAddr>,
    /// From the remote.
    pub(super) bytes_max: u64,
    /// For everything together.
    pub(super) time_max: Duration,
}

/// Why the relay cut a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
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
}

/// Open until dropped.
pub(super) struct Relay {
    address: SocketAddr,
    way: Arc<Way>,
    threads: Vec<JoinHandle<()>>,
}

/// What all connections of a relay share.
struct Way {
    route: Route,
    deadline: Instant,
    n_received_bytes: AtomicU64,
    cut: AtomicU8,
    is_closing: AtomicBool,
    sockets: Mutex<Sockets>,
    /// Said when the sockets are closed for good.
    closed: Condvar,
}

/// Every connection, until all are closed for good.
#[derive(Default)]
struct Sockets {
    open: Vec<TcpStream>,
    is_closed: bool,
}

impl Relay {
    /// Opens a relay to one remote.
    ///
    /// # Errors
    /// When the system gives no socket or no thread.
    pub(super) fn open(route: Route) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let way = Arc::new(Way {
            deadline: Instant::now() + route.time_max,
            route,
            n_received_bytes: AtomicU64::new(0),
            cut: AtomicU8::new(0),
            is_closing: AtomicBool::new(false),
            sockets: Mutex::default(),
            closed: Condvar::new(),
        });
        let mut relay = Self { address, way: Arc::clone(&way), threads: Vec::with_capacity(2) };
        let served = Arc::clone(&way);
        relay.threads.push(spawn(move || served.serve(&listener))?);
        relay.threads.push(spawn(move || way.watch())?);
        Ok(relay)
    }

    /// The port it listens on, at 127.0.0.1.
    pub(super) const fn port(&self) -> u16 {
        self.address.port()
    }

    /// Why a connection was cut, if one was.
    pub(super) fn cut(&self) -> Option<Cut> {
        [Cut::Unreachable, Cut::TooSlow, Cut::TooLarge, Cut::Elsewhere, Cut::Untrusted]
            .into_iter()
            .find(|cut| *cut as u8 == self.way.cut.load(Ordering::Relaxed))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.way.is_closing.store(true, Ordering::Relaxed);
        self.way.close();
        // Wakes who waits for a connection.
        TcpStream::connect(self.address).ok();
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
    }
}

impl Way {
    fn serve(self: &Arc<Self>, listener: &TcpListener) {
        let mut carrying = Vec::new();
        for stream in listener.incoming().take(CONNECTIONS_MAX) {
            if self.is_closing.load(Ordering::Relaxed) {
                break;
            }
            let Ok(stream) = stream else { continue };
            let way = Arc::clone(self);
            carrying.extend(spawn(move || way.carry(stream)).ok());
        }
        for carried in carrying {
            carried.join().ok();
        }
    }

    /// Whatever a connection waits for, a handshake or a client that goes on sending: when time is up, it is over.
    fn watch(&self) {
        let mut sockets = self.sockets.lock();
        while !sockets.is_closed {
            if self.closed.wait_until(&mut sockets, self.deadline).timed_out() {
                drop(sockets);
                return self.cut(Cut::TooSlow);
            }
        }
    }

    /// One connection, to its end.
    fn carry(&self, client: TcpStream) {
        // Who is not on this machine has no business here.
        let is_local = client.peer_addr().is_ok_and(|peer| peer.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST));
        if !is_local || self.remember(&client).is_err() {
            return;
        }
        let Some(remote) = self.connect() else { return self.refuse(&client, Cut::Unreachable) };
        if self.remember(&remote).is_ok() {
            match &self.route.manner {
                Manner::Raw => pump::both_ways(self, &client, &remote),
                Manner::Plain => self.carry_request(&client, &mut &remote),
                Manner::Tls(host) => {
                    match remote.try_clone().ok().and_then(|stream| tls::connect(host, stream)) {
                        Some(mut secured) => {
                            remote.set_read_timeout(Some(pump::LOOK_EVERY)).ok();
                            self.carry_request(&client, &mut secured);
                        }
                        None => self.refuse(&client, Cut::Untrusted),
                    }
                }
            }
        }
        client.shutdown(Shutdown::Both).ok();
        remote.shutdown(Shutdown::Both).ok();
    }

    fn carry_request(&self, client: &TcpStream, remote: &mut dyn exchange::Remote) {
        match head::take(client, &self.route) {
            Ok(request) => drop(exchange::exchange(self, client, remote, request)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => self.cut(Cut::Elsewhere),
            Err(_) => {}
        }
    }

    /// Said here before it is said there: whoever hears of it asks why at once.
    fn refuse(&self, client: &TcpStream, cut: Cut) {
        self.note(cut);
        if self.route.manner != Manner::Raw {
            head::refuse(client);
        }
        self.close();
    }

    fn connect(&self) -> Option<TcpStream> {
        let patience = || CONNECT_TIMEOUT.min(self.time_left()).max(Duration::from_millis(1));
        let addresses = self.route.addresses.iter().take_while(|_| !self.time_left().is_zero());
        let stream =
            addresses.copied().find_map(|address| TcpStream::connect_timeout(&address, patience()).ok())?;
        // Long enough for a handshake; what follows looks at the time more often.
        let patience = Some(patience());
        stream.set_read_timeout(patience).and_then(|()| stream.set_write_timeout(patience)).ok()?;
        Some(stream)
    }

    fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// So that it can be closed from outside. Once all are closed, no other is begun.
    fn remember(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut sockets = self.sockets.lock();
        if sockets.is_closed {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        sockets.open.push(stream.try_clone()?);
        Ok(())
    }

    fn cut(&self, cut: Cut) {
        self.note(cut);
        self.close();
    }

    /// The first reason is the reason.
    fn note(&self, cut: Cut) {
        self.cut.compare_exchange(0, cut as u8, Ordering::Relaxed, Ordering::Relaxed).ok();
    }

    fn close(&self) {
        let mut sockets = self.sockets.lock();
        sockets.is_closed = true;
        for socket in sockets.open.drain(..) {
            socket.shutdown(Shutdown::Both).ok();
        }
        self.closed.notify_all();
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("git-relay".to_owned()).spawn(work)
}

#[cfg(test)]
mod tests;
