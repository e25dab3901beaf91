//! One non-blocking keep-alive connection with at most one request in flight.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use crate::target::HttpTarget;
use crate::wire::{self, CompleteResponse};

const CONNECT_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    /// The current or latest request.
    pub(super) request: Vec<u8>,
    /// Whether the current request was sent before, over a connection that broke.
    is_repeated: bool,
    /// Bytes of the response received so far.
    arrived: Vec<u8>,
    /// The time the current request was due.
    pub(super) due: Instant,
    /// The time it was sent.
    pub(super) sent: Instant,
    /// Whether a request is in flight.
    pub(super) is_busy: bool,
}

/// The result of reading from a connection.
#[derive(Debug)]
pub(super) enum ConnectionEvent {
    /// The response is not complete.
    Part,
    /// A complete response, and whether a rule matched.
    Whole { answer: CompleteResponse, matched: bool },
    /// The connection was closed or failed.
    Broken,
    /// The response is not valid HTTP.
    Nonsense(&'static str),
}

impl Connection {
    pub(super) fn open(target: &HttpTarget) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&target.address, CONNECT_MAX)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let now = Instant::now();
        Ok(Self {
            stream,
            request: Vec::new(),
            is_repeated: false,
            arrived: Vec::new(),
            due: now,
            sent: now,
            is_busy: false,
        })
    }

    /// Sends [`Self::request`] and returns whether the socket accepted all of it. An idle connection accepts it.
    pub(super) fn send(&mut self, due: Instant) -> bool {
        self.is_repeated = false;
        (self.due, self.sent) = (due, Instant::now());
        self.write()
    }

    /// Sends the request of a connection that broke again, once: its payment has an id. Returns whether it was sent.
    pub(super) fn repeat(&mut self, broken: Self) -> bool {
        if broken.is_repeated {
            return false;
        }
        self.is_repeated = true;
        (self.request, self.due, self.sent) = (broken.request, broken.due, broken.sent);
        self.write()
    }

    fn write(&mut self) -> bool {
        let n_bytes = self.request.len();
        self.is_busy = self.stream.write(&self.request).is_ok_and(|n_written| n_written == n_bytes);
        self.is_busy
    }

    /// Reads the bytes that have arrived.
    pub(super) fn take(&mut self, piece: &mut [u8]) -> ConnectionEvent {
        match self.stream.read(piece) {
            Ok(0) => ConnectionEvent::Broken,
            Ok(n_bytes) => {
                self.arrived.extend_from_slice(piece.get(..n_bytes).unwrap_or_default());
                self.whole()
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                ConnectionEvent::Part
            }
            Err(_) => ConnectionEvent::Broken,
        }
    }

    fn whole(&mut self) -> ConnectionEvent {
        match wire::answer(&self.arrived) {
            Ok(None) => ConnectionEvent::Part,
            Ok(Some(answer)) => {
                let body = self.arrived.get(answer.body.clone()).unwrap_or_default();
                let matched = answer.status == 200 && wire::position(body, b"\"triggered\":[]").is_none();
                self.arrived.clear();
                self.is_busy = false;
                ConnectionEvent::Whole { answer, matched }
            }
            Err(why) => ConnectionEvent::Nonsense(why),
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
