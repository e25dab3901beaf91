//! Copies bytes in both directions, counted and timed.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::{RelayCut, RelayShared};

/// Interval at which an idle connection checks the deadline.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(200);
pub(super) const PIECE_BYTES: usize = 64 * 1024;

/// Copies both directions until the remote ends or a limit is reached.
pub(super) fn both_ways(way: &RelayShared, client: &TcpStream, remote: &TcpStream) {
    thread::scope(|scope| {
        scope.spawn(|| one_way(way, client, remote, false));
        one_way(way, remote, client, true);
        // The remote has ended, so further requests are pointless.
        client.shutdown(Shutdown::Both).ok();
    });
}

/// Returns whether a read failed only because no data is available yet.
pub(super) fn is_nothing_yet(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn one_way(way: &RelayShared, from: &TcpStream, to: &TcpStream, is_received: bool) {
    let (mut reading, mut writing) = (from, to);
    if from.set_read_timeout(Some(LOOK_EVERY)).is_err()
        || to.set_write_timeout(Some(way.time_left().max(LOOK_EVERY))).is_err()
    {
        return way.connections.close();
    }
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let read = reading.read(&mut piece);
        if way.time_left().is_zero() {
            return way.cut(RelayCut::TooSlow);
        }
        let n_bytes = match read {
            Ok(0) => break,
            Ok(n_bytes) => n_bytes,
            Err(error) if is_nothing_yet(&error) => continue,
            Err(_) => break,
        };
        if is_received {
            let n_received =
                way.n_received_bytes.fetch_add(n_bytes as u64, Ordering::Relaxed) + n_bytes as u64;
            if n_received > way.route.bytes_max {
                return way.cut(RelayCut::TooLarge);
            }
        }
        let Some(bytes) = piece.get(..n_bytes) else { break };
        if writing.write_all(bytes).is_err() {
            break;
        }
    }
    to.shutdown(Shutdown::Write).ok();
}
