//! State of a connection, its start time, and the next limit.
//!
//! ```text
//!             first byte              head read             body read         response handed over
//!  Head ──────────────────▶ Head ──────────────▶ Body ──────────────▶ Answer ──────────────▶ Idle ──first byte──▶ Head
//!  (nothing received yet)                          └─ limit ─▶ Late (408) ─▶ Answer
//! ```
//!
//! A response that the client does not read has a separate limit, independent of this state. `tokio-io-timeout` restarts
//! its timer at every byte, and hyper limits the time of the head only. Neither limits the total time of a client that
//! sends one byte at a time.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use tollgate_telemetry::config::ConnectionLimits;

/// Bytes of a response that a client must read within the write limit. A trickle of single bytes is not enough.
const TAKEN_BYTES_MIN: usize = 64 * 1024;

/// Time to answer a late body with 408. A handler that is not reading the body does not notice it.
const LATE: Duration = Duration::from_millis(500);

/// Quiet time before an old connection is closed without a response. A request may be in transit when the connection
/// closes, so a recently active client would get no answer. An active client gets `Connection: close` with a response
/// instead.
const QUIET: Duration = Duration::from_secs(5);

/// Timers of one connection, updated by its socket and bodies and read by its timer.
#[derive(Debug)]
pub(super) struct ConnectionTimers {
    limits: ConnectionLimits,
    born: Instant,
    state: Mutex<TimerState>,
}

#[derive(Debug)]
struct TimerState {
    doing: ConnectionActivity,
    since: Instant,
    /// Whether part of the last request body is outstanding.
    has_open_body: bool,
    /// Start of the wait for the client to read, and bytes read since then.
    waiting: Option<(Instant, usize)>,
    /// Whether no further request is accepted.
    is_last: bool,
    /// Whether that is due to the age of the connection.
    is_old: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionActivity {
    Head { has_begun: bool },
    Body,
    Late,
    Answer,
    Idle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpiredLimit {
    /// The request head is missing or incomplete.
    Head { has_begun: bool },
    /// The request body is incomplete.
    Body,
    /// The request body is still incomplete, and no handler has answered.
    BodyForGood,
    /// The client does not read its response.
    Write,
    /// No further request arrived.
    Idle,
    /// The connection is old and quiet.
    Age,
}

impl ExpiredLimit {
    /// Returns the label for logs and metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Head { .. } => "head",
            Self::Body | Self::BodyForGood => "body",
            Self::Write => "write",
            Self::Idle => "idle",
            Self::Age => "age",
        }
    }
}

impl ConnectionTimers {
    /// Creates the timers of a new connection.
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        let now = Instant::now();
        let state = TimerState {
            doing: ConnectionActivity::Head { has_begun: false },
            since: now,
            has_open_body: false,
            waiting: None,
            is_last: false,
            is_old: false,
        };
        Self { limits, born: now, state: Mutex::new(state) }
    }

    /// Records that bytes arrived.
    pub(super) fn note_received(&self) {
        let mut state = self.state.lock();
        match state.doing {
            // The rest of a refused body does not start a request.
            ConnectionActivity::Idle if !state.has_open_body => {
                state.turn(ConnectionActivity::Head { has_begun: true })
            }
            ConnectionActivity::Head { has_begun: false } => {
                state.doing = ConnectionActivity::Head { has_begun: true }
            }
            ConnectionActivity::Head { .. }
            | ConnectionActivity::Body
            | ConnectionActivity::Late
            | ConnectionActivity::Answer
            | ConnectionActivity::Idle => {}
        }
    }

    /// Records a request head that is followed by a body.
    pub(super) fn request_with_body(&self) {
        let mut state = self.state.lock();
        state.has_open_body = true;
        state.turn(ConnectionActivity::Body);
    }

    /// Records a request head that is followed by a body whose reader limits each wait for it.
    pub(super) fn request_with_streamed_body(&self) {
        let mut state = self.state.lock();
        state.has_open_body = true;
        state.turn(ConnectionActivity::Answer);
    }

    /// Records a request head without a body.
    pub(super) fn request_without_body(&self) {
        self.state.lock().turn(ConnectionActivity::Answer);
    }

    /// Records that the last request body was read or is no longer needed.
    pub(super) fn body_ended(&self) {
        let mut state = self.state.lock();
        state.has_open_body = false;
        if matches!(state.doing, ConnectionActivity::Body | ConnectionActivity::Late) {
            state.turn(ConnectionActivity::Answer);
        }
    }

    pub(super) fn is_body_late(&self) -> bool {
        self.state.lock().doing == ConnectionActivity::Late
    }

    /// Records that the last response was handed over.
    pub(super) fn answered(&self) {
        self.state.lock().turn(ConnectionActivity::Idle);
    }

    /// Records that the client read `n_bytes` and more is waiting.
    pub(super) fn taken(&self, n_bytes: usize) {
        let mut state = self.state.lock();
        let (since, n_before) = state.waiting.unwrap_or_else(|| (Instant::now(), 0));
        let n_taken = n_before + n_bytes;
        state.waiting = Some(if n_taken < TAKEN_BYTES_MIN { (since, n_taken) } else { (Instant::now(), 0) });
    }

    /// Records that the client read everything; an idle connection starts its idle time again.
    pub(super) fn taken_whole(&self) {
        let mut state = self.state.lock();
        if state.waiting.take().is_some() && state.doing == ConnectionActivity::Idle {
            state.since = Instant::now();
        }
    }

    /// Records that no further request is accepted on this connection.
    pub(super) fn set_last(&self) {
        self.state.lock().is_last = true;
    }

    /// Returns whether the connection is so old that the current response is its last.
    pub(super) fn grow_old(&self) -> bool {
        let mut state = self.state.lock();
        if !state.is_last && self.born.elapsed() >= self.limits.age {
            (state.is_last, state.is_old) = (true, true);
        }
        state.is_old
    }

    /// Returns whether the connection ends because of its age.
    pub(super) fn is_old(&self) -> bool {
        self.state.lock().is_old
    }

    /// Marks the request body as late.
    pub(super) fn set_deferred(&self) {
        self.state.lock().turn(ConnectionActivity::Late);
    }

    /// Returns the time of the next limit if no traffic occurs before it.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let state = self.state.lock();
        let limits = self.limits_of(&state);
        limits.into_iter().flatten().map(|(deadline, _)| deadline).min()
    }

    /// Returns the exceeded limit, the most severe first.
    pub(super) fn overdue(&self, now: Instant) -> Option<ExpiredLimit> {
        let state = self.state.lock();
        let limits = self.limits_of(&state);
        limits.into_iter().flatten().find(|(deadline, _)| *deadline <= now).map(|(_, overdue)| overdue)
    }

    fn limits_of(&self, state: &TimerState) -> [Option<(Instant, ExpiredLimit)>; 3] {
        let ConnectionLimits { head, body, write, idle, age } = self.limits;
        let doing = match state.doing {
            ConnectionActivity::Head { has_begun } => Some((head, ExpiredLimit::Head { has_begun })),
            ConnectionActivity::Body => Some((body, ExpiredLimit::Body)),
            ConnectionActivity::Late => Some((LATE, ExpiredLimit::BodyForGood)),
            ConnectionActivity::Answer => None,
            ConnectionActivity::Idle => Some((idle, ExpiredLimit::Idle)),
        };
        [
            state.waiting.map(|(since, _)| (since + write, ExpiredLimit::Write)),
            doing.map(|(limit, overdue)| (state.since + limit, overdue)),
            (!state.is_last && state.doing == ConnectionActivity::Idle && state.waiting.is_none())
                .then(|| ((self.born + age).max(state.since + QUIET), ExpiredLimit::Age)),
        ]
    }
}

impl TimerState {
    fn turn(&mut self, doing: ConnectionActivity) {
        self.doing = doing;
        self.since = Instant::now();
    }
}

#[cfg(test)]
mod tests;
