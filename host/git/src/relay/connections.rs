//! All connections of a relay. They can be closed from outside; afterwards no other can begin.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// Maximum number of connections to the remote; libgit2 opens one or two at a time.
const ADMITTED_MAX: usize = 16;
/// Maximum number of connections without a valid request. Other processes can fill these; each new one evicts the
/// oldest. The worker is hardly affected, because it sends its request at once.
const WAITING_MAX: usize = 32;

/// Id of a connection; ids increase.
pub(super) type ConnectionId = u64;

#[derive(Default)]
pub(super) struct Connections {
    open: Mutex<TrackedConnection>,
    /// Signalled when all are closed for good.
    closed: Condvar,
}

#[derive(Default)]
struct TrackedConnection {
    next: ConnectionId,
    waiting: BTreeMap<ConnectionId, TcpStream>,
    /// Local connection, and the one to the remote.
    admitted: BTreeMap<ConnectionId, Vec<TcpStream>>,
    is_closed: bool,
}

impl Connections {
    pub(super) fn enter(&self, client: &TcpStream) -> io::Result<ConnectionId> {
        client.set_nodelay(true)?;
        let client = client.try_clone()?;
        let mut open = self.open.lock();
        if open.is_closed {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if open.waiting.len() >= WAITING_MAX
            && let Some((_, oldest)) = open.waiting.pop_first()
        {
            oldest.shutdown(Shutdown::Both).ok();
        }
        let id = open.next;
        open.next += 1;
        open.waiting.insert(id, client);
        Ok(id)
    }

    /// Marks a connection as the worker's; from now on it cannot be evicted.
    pub(super) fn admit(&self, id: ConnectionId) -> io::Result<()> {
        let mut open = self.open.lock();
        let client = open.waiting.remove(&id).ok_or(io::ErrorKind::ConnectionAborted)?;
        if open.admitted.len() >= ADMITTED_MAX {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        open.admitted.insert(id, vec![client]);
        Ok(())
    }

    /// Registers the remote end of an admitted connection.
    pub(super) fn lead(&self, id: ConnectionId, remote: &TcpStream) -> io::Result<()> {
        remote.set_nodelay(true)?;
        let remote = remote.try_clone()?;
        let mut open = self.open.lock();
        let both = open.admitted.get_mut(&id).ok_or(io::ErrorKind::ConnectionAborted)?;
        both.push(remote);
        Ok(())
    }

    pub(super) fn leave(&self, id: ConnectionId) {
        let mut open = self.open.lock();
        open.waiting.remove(&id);
        open.admitted.remove(&id);
    }

    /// Closes all connections and refuses new ones.
    pub(super) fn close(&self) {
        let mut open = self.open.lock();
        open.is_closed = true;
        let waiting = std::mem::take(&mut open.waiting).into_values();
        let admitted = std::mem::take(&mut open.admitted).into_values().flatten();
        for socket in waiting.chain(admitted) {
            socket.shutdown(Shutdown::Both).ok();
        }
        self.closed.notify_all();
    }

    /// Waits until all are closed; returns `false` if they are not closed by the deadline.
    pub(super) fn are_closed_by(&self, deadline: Instant) -> bool {
        let mut open = self.open.lock();
        while !open.is_closed {
            if self.closed.wait_until(&mut open, deadline).timed_out() {
                return open.is_closed;
            }
        }
        true
    }
}
