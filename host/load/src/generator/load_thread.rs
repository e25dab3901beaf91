//! One thread of the generator, with its share of the connections and of the rate.

use std::collections::VecDeque;
use std::mem;
use std::time::{Duration, Instant};

use super::connection::{Connection, ConnectionEvent};
use super::resting::RestingConnections;
use super::schedule::ConnectionSchedule;
use super::{
    ArrivalProcess, LEFT_AFTER, LoadResult, LoadSpec, OverduePolicy, PATIENCE, RefusalPolicy, RequestSample,
    micros,
};
use crate::corpus::Requests;
use crate::error::BenchError;
use crate::interrupt;
use crate::target::HttpTarget;
use crate::wire::CompleteResponse;

/// The longest wait before the next check for an end.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const PIECE_BYTES: usize = 64 * 1024;

pub(super) struct GeneratorThread<'a> {
    target: &'a HttpTarget,
    requests: &'a Requests,
    load: LoadSpec,
    /// Index of the thread: it sends every `n_lanes`-th due request, starting with this one.
    number: usize,
    n_lanes: usize,
    connections: Vec<Connection>,
    free: VecDeque<usize>,
    resting: RestingConnections,
    n_busy: usize,
    arrivals: ConnectionSchedule,
    /// Requests of this thread that were due and have been sent or dropped.
    n_taken: usize,
    /// Requests that this thread sends at most.
    n_taken_max: usize,
    piece: Vec<u8>,
    outcome: LoadResult,
}

impl<'a> GeneratorThread<'a> {
    /// Opens the connections of this thread, up to the number the service grants.
    pub(super) fn open(
        target: &'a HttpTarget,
        requests: &'a Requests,
        load: LoadSpec,
        number: usize,
        n_lanes: usize,
        n_own: usize,
    ) -> Result<Self, BenchError> {
        let mut connections = Vec::with_capacity(n_own);
        let arrivals = ConnectionSchedule::new().map_err(BenchError::io("wait for answers"))?;
        for _ in 0..n_own {
            interrupt::check()?;
            match Connection::open(target) {
                Ok(connection) => {
                    arrivals
                        .watch(connections.len(), &connection)
                        .map_err(BenchError::io("wait for answers"))?;
                    connections.push(connection);
                }
                // A service that refuses some connections is measured with the others.
                Err(_) if !connections.is_empty() => break,
                Err(error) => return Err(BenchError::io("connect to the service")(error)),
            }
        }
        let outcome = LoadResult { n_connections: connections.len(), ..LoadResult::nothing(Instant::now()) };
        Ok(Self {
            target,
            requests,
            load,
            number,
            n_lanes,
            free: (0..connections.len()).collect(),
            resting: RestingConnections::new(number),
            n_busy: 0,
            arrivals,
            connections,
            n_taken: 0,
            n_taken_max: match load.pace {
                ArrivalProcess::ClosedOf { n_requests } => (n_requests + n_lanes - 1 - number) / n_lanes,
                ArrivalProcess::Closed | ArrivalProcess::Open { .. } => usize::MAX,
            },
            piece: vec![0; PIECE_BYTES],
            outcome,
        })
    }

    pub(super) fn run(mut self, began: Instant, over: &dyn Fn() -> bool) -> Result<LoadResult, BenchError> {
        self.outcome.began = began;
        let end = began + self.load.duration;
        loop {
            let now = Instant::now();
            if now >= end || over() || (self.has_sent_all() && self.n_busy == 0) {
                self.outcome.lasted = now.min(end).saturating_duration_since(began);
                break;
            }
            interrupt::check()?;
            self.take_back(now);
            let next = [self.send_what_is_due(now), self.resting.next()];
            let until = next.into_iter().flatten().fold(end, Instant::min);
            self.take_answers(until.saturating_duration_since(Instant::now()).min(LOOK_EVERY))?;
            if self.connections.is_empty() || self.free.len() + self.n_busy + self.resting.len() == 0 {
                return Err(BenchError::Answer("the service has closed every connection".to_owned()));
            }
        }
        self.leave_what_was_due();
        self.drain()?;
        Ok(self.outcome)
    }

    const fn has_sent_all(&self) -> bool {
        self.n_taken >= self.n_taken_max
    }

    /// The time its n-th request is due; `None` in a closed loop.
    fn due(&self, n: usize) -> Option<Instant> {
        let ArrivalProcess::Open { per_second, .. } = self.load.pace else { return None };
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let position = (n * self.n_lanes + self.number) as f64;
        Some(self.outcome.began + Duration::from_secs_f64(position / per_second))
    }

    /// Sends requests until none is due or no connection is free. Returns the time the next one is due.
    fn send_what_is_due(&mut self, now: Instant) -> Option<Instant> {
        // At most one request per connection: a connection that breaks at once and is replaced is free again.
        for _ in 0..self.connections.len() {
            if self.has_sent_all() {
                return None;
            }
            self.leave_what_is_late(now);
            let due = self.due(self.n_taken);
            if due.is_some_and(|due| due > now) {
                return due;
            }
            // Overdue requests are dropped when a connection becomes free. Waking up for each one would take a core
            // from the service.
            let slot = self.free.pop_front()?;
            self.send(slot, due);
        }
        Some(now)
    }

    /// Returns connections to use whose pause after a refusal is over.
    fn take_back(&mut self, now: Instant) {
        while let Some(slot) = self.resting.rested(now) {
            self.free.push_back(slot);
        }
    }

    /// Drops the requests that waited too long for a connection, under [`OverduePolicy::Left`].
    fn leave_what_is_late(&mut self, now: Instant) {
        if matches!(self.load.pace, ArrivalProcess::Open { overdue: OverduePolicy::Left, .. }) {
            let late = now.checked_sub(LEFT_AFTER).map_or(0, |then| self.n_due_until(then));
            self.leave(late.saturating_sub(self.n_taken));
        }
    }

    fn leave(&mut self, n: usize) {
        self.n_taken += n;
        self.outcome.n_due += n;
        self.outcome.n_unsent += n;
    }

    /// The number of requests of this thread due by `then`; 0 in a closed loop.
    fn n_due_until(&self, then: Instant) -> usize {
        let ArrivalProcess::Open { per_second, .. } = self.load.pace else { return 0 };
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let (number, n_lanes) = (self.number as f64, self.n_lanes as f64);
        let position = then.saturating_duration_since(self.outcome.began).as_secs_f64() * per_second;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rounded, and not negative"
        )]
        let n = ((position - number) / n_lanes).ceil().max(0.0) as usize;
        n
    }

    fn send(&mut self, slot: usize, due: Option<Instant>) {
        self.n_taken += 1;
        self.outcome.n_due += 1;
        let Some(connection) = self.connections.get_mut(slot) else { return };
        self.requests.write(&mut connection.request);
        if connection.send(due.unwrap_or_else(Instant::now)) {
            self.n_busy += 1;
        } else {
            self.broken(slot);
        }
    }

    /// Waits for at most `patience` and reads the responses that have arrived.
    fn take_answers(&mut self, patience: Duration) -> Result<(), BenchError> {
        let ready = self.arrivals.wait(&self.connections, patience);
        for slot in ready.map_err(BenchError::io("wait for answers"))? {
            let Some(connection) = self.connections.get_mut(slot) else { continue };
            if !connection.is_busy {
                // No request is in flight, so the peer has closed it.
                self.reopen(slot);
                continue;
            }
            match connection.take(&mut self.piece) {
                ConnectionEvent::Part => continue,
                ConnectionEvent::Whole { answer, matched } => self.note(slot, &answer, matched),
                ConnectionEvent::Broken => self.broken(slot),
                ConnectionEvent::Nonsense(why) => return Err(BenchError::Answer(why.to_owned())),
            }
            self.n_busy -= 1;
        }
        Ok(())
    }

    fn note(&mut self, slot: usize, answer: &CompleteResponse, matched: bool) {
        let Some(connection) = self.connections.get(slot) else { return };
        let now = Instant::now();
        self.outcome.answered.push(RequestSample {
            due_us: micros(connection.due.saturating_duration_since(self.outcome.began)),
            latency_us: micros(now - connection.due),
            service_us: micros(now - connection.sent),
            status: answer.status,
        });
        self.outcome.n_matched += usize::from(matched);
        self.outcome.n_without_retry_after +=
            usize::from(answer.status == 503 && answer.retry_after.is_none());
        let comes_back = answer.status == 503 && self.load.refused == RefusalPolicy::ComesBack;
        if let Some(seconds) = answer.retry_after.filter(|_| comes_back) {
            self.resting.lay(slot, now, Duration::from_secs(seconds.into()));
        } else {
            self.free.push_back(slot);
        }
        if answer.closes {
            self.reopen(slot);
        }
    }

    /// Repeats the request of a connection that broke. A request that breaks a second one is counted.
    fn broken(&mut self, slot: usize) {
        self.free.push_back(slot);
        if let Some(broken) = self.reopen(slot)
            && let Some(connection) = self.connections.get_mut(slot)
            && connection.repeat(broken)
        {
            self.free.retain(|free| *free != slot);
            self.n_busy += 1;
        } else {
            self.outcome.n_broken += 1;
        }
    }

    /// Replaces a connection, keeps its free or resting state, and returns the old one. If that fails, the connection is
    /// lost.
    fn reopen(&mut self, slot: usize) -> Option<Connection> {
        let connection = self.connections.get_mut(slot)?;
        connection.is_busy = false;
        self.arrivals.remove(connection);
        let opened = Connection::open(self.target);
        if let Ok(new) = opened.and_then(|new| self.arrivals.watch(slot, &new).map(|()| new)) {
            return Some(mem::replace(connection, new));
        }
        self.free.retain(|free| *free != slot);
        self.resting.remove(slot);
        None
    }

    /// Records the waiting time, up to the end, of requests that were due but never sent.
    fn leave_what_was_due(&mut self) {
        let end = self.outcome.began + self.outcome.lasted;
        while let Some(due) = self.due(self.n_taken).filter(|due| *due < end) {
            if matches!(self.load.pace, ArrivalProcess::Open { overdue: OverduePolicy::Waits, .. }) {
                self.outcome.in_vain_us.push(micros(end - due));
            }
            self.leave(1);
        }
    }

    fn drain(&mut self) -> Result<(), BenchError> {
        let end = Instant::now() + PATIENCE;
        while self.n_busy > 0 && Instant::now() < end {
            interrupt::check()?;
            self.take_answers(LOOK_EVERY)?;
        }
        for connection in self.connections.iter().filter(|connection| connection.is_busy) {
            self.outcome.n_unanswered += 1;
            self.outcome.in_vain_us.push(micros(connection.due.elapsed()));
        }
        Ok(())
    }
}
