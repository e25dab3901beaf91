//! A listener with one thread per connection, shared by all peers.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Upper bound for any wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// A listener on a free port of 127.0.0.1. Dropping it ends all its connections.
#[derive(Debug)]
pub(super) struct Peer {
    port: u16,
    sockets: Arc<Sockets>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Sockets {
    open: Mutex<Vec<TcpStream>>,
    is_over: AtomicBool,
}

impl Peer {
    /// Starts listening and runs `serve` for every connection on a separate thread.
    pub(super) fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let port = listener.local_addr().expect("a socket has an address").port();
        let sockets = Arc::new(Sockets::default());
        let (shared, serve) = (Arc::clone(&sockets), Arc::new(serve));
        let accepting = thread::spawn(move || {
            let mut serving = Vec::new();
            for stream in listener.incoming() {
                if shared.is_over.load(Ordering::Relaxed) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                shared.open().extend(stream.try_clone());
                let serve = Arc::clone(&serve);
                serving.push(thread::spawn(move || serve(stream)));
                serving.retain(|thread| !thread.is_finished());
            }
            serving.into_iter().for_each(|thread| drop(thread.join()));
        });
        Self { port, sockets, accepting: Some(accepting) }
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Closes every connection.
    pub(super) fn hang_up(&self) {
        for socket in self.sockets.open().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Sockets {
    fn open(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.sockets.is_over.store(true, Ordering::Relaxed);
        // Wakes the accept loop.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.hang_up();
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

/// A value that threads change and tests wait for.
#[derive(Debug)]
pub(super) struct Watched<T> {
    value: Mutex<T>,
    changed: Condvar,
}

impl<T> Watched<T> {
    pub(super) const fn new(value: T) -> Self {
        Self { value: Mutex::new(value), changed: Condvar::new() }
    }

    pub(super) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let result = change(&mut self.value.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
        result
    }

    pub(super) fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.value.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until `find` returns a value; `None` after a timeout.
    pub(super) fn wait<R>(&self, find: impl Fn(&T) -> Option<R>) -> Option<R> {
        let deadline = Instant::now() + PATIENCE;
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(found) = find(&value) {
                return Some(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            value = self.changed.wait_timeout(value, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
