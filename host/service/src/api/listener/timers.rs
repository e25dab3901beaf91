//! What a connection is doing, since when, and which limit it comes to next.
//!
//! ```text
//!             first byte              head read             body read         answer handed on
//!  Head ──────────────────▶ Head ──────────────▶ Body ──────────────▶ Answer ──────────────▶ Idle ──first byte──▶ Head
//!  (nobody said anything)                          └─ limit ─▶ Late (408) ─▶ Answer
//! ```
//!
//! An answer that the client does not take has a limit of its own, whatever else goes on.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::config::ConnectionLimits;

/// What of an answer a client must take within the limit for writing, in bytes. One byte now and then is not taking it.
const TAKEN_BYTES_MIN: usize = 64 * 1024;

/// How long the 408 for a late body may take; who waits for something else than the body does not notice it.
const LATE: Duration = Duration::from_millis(500);

/// How long an old connection says nothing until it is closed without a word: whoever has just sent a request that the service
/// has not seen yet would get no answer. Who sends more often is told with an answer.
const QUIET: Duration = Duration::from_secs(5);

/// The pulse of one connection: felt by its socket and its bodies, looked at by its timer.
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
    /// Some of the body of the last request is still to come.
    has_open_body: bool,
    /// An answer, or more of it, waits for the client since then, and how much was taken from there.
    waiting: Option<(Instant, usize)>,
    /// No further request is taken.
    is_last: bool,
    /// That is so because of its age.
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

/// The limit that a connection came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpiredLimit {
    /// There is no head of a request, though there may be a part of one.
    Head { has_begun: bool },
    /// There is no whole body.
    Body,
    /// There is still none, and nobody cared.
    BodyForGood,
    /// The client does not take its answer.
    Write,
    /// There is no further request.
    Idle,
    /// It is open for long, and quiet.
    Age,
}

impl ExpiredLimit {
    /// In one word.
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
    /// Of a connection that begins now.
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

    /// Bytes came in.
    pub(super) fn heard(&self) {
        let mut state = self.state.lock();
        match state.doing {
            // The rest of a body that was refused begins no request.
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

    /// The head of a request was read; a body follows it.
    pub(super) fn request_with_body(&self) {
        let mut state = self.state.lock();
        state.has_open_body = true;
        state.turn(ConnectionActivity::Body);
    }

    /// The head of a request was read, which is all of it.
    pub(super) fn request_without_body(&self) {
        self.state.lock().turn(ConnectionActivity::Answer);
    }

    /// The body of the last request was read, or nobody wants it any more.
    pub(super) fn body_ended(&self) {
        let mut state = self.state.lock();
        state.has_open_body = false;
        if matches!(state.doing, ConnectionActivity::Body | ConnectionActivity::Late) {
            state.turn(ConnectionActivity::Answer);
        }
    }

    /// Whether the body of the last request took too long.
    pub(super) fn is_body_late(&self) -> bool {
        self.state.lock().doing == ConnectionActivity::Late
    }

    /// The answer to the last request was handed on.
    pub(super) fn answered(&self) {
        self.state.lock().turn(ConnectionActivity::Idle);
    }

    /// The client took so many bytes, and less than there are.
    pub(super) fn taken(&self, n_bytes: usize) {
        let mut state = self.state.lock();
        let (since, n_before) = state.waiting.unwrap_or_else(|| (Instant::now(), 0));
        let n_taken = n_before + n_bytes;
        state.waiting = Some(if n_taken < TAKEN_BYTES_MIN { (since, n_taken) } else { (Instant::now(), 0) });
    }

    /// The client took everything; it is quiet from now on, if it waited for that.
    pub(super) fn taken_whole(&self) {
        let mut state = self.state.lock();
        if state.waiting.take().is_some() && state.doing == ConnectionActivity::Idle {
            state.since = Instant::now();
        }
    }

    /// No further request is taken on this connection.
    pub(super) fn set_last(&self) {
        self.state.lock().is_last = true;
    }

    /// Whether its age makes the answer that is given now the last one.
    pub(super) fn grow_old(&self) -> bool {
        let mut state = self.state.lock();
        if !state.is_last && self.born.elapsed() >= self.limits.age {
            (state.is_last, state.is_old) = (true, true);
        }
        state.is_old
    }

    /// Whether it ends because of its age.
    pub(super) fn is_old(&self) -> bool {
        self.state.lock().is_old
    }

    /// From now on the body of the request is late.
    pub(super) fn set_deferred(&self) {
        self.state.lock().turn(ConnectionActivity::Late);
    }

    /// When the next limit is reached, if nothing happens until then.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let state = self.state.lock();
        let limits = self.limits_of(&state);
        limits.into_iter().flatten().map(|(deadline, _)| deadline).min()
    }

    /// The limit that is reached, the gravest first.
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
