//! Generates load on a service and measures the latency of its responses.
//!
//! In an open loop, the rate alone determines when each request is due, and latency counts from that time. A stall of
//! one second thus delays every request due in that second, not only the few already sent. This is the correction for
//! coordinated omission known from wrk2. A few threads hold all connections, so the load costs little of the machine.

mod connection;
mod load_thread;
mod resting;
mod schedule;
mod written;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::corpus::Requests;
use super::error::BenchError;
use super::samples::Samples;
use super::target::HttpTarget;
use load_thread::GeneratorThread;

/// The time to wait for responses after the load ends.
const PATIENCE: Duration = Duration::from_secs(5);
/// With [`OverduePolicy::Left`], a request without a free connection is dropped this long after it was due.
const LEFT_AFTER: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ArrivalProcess {
    /// Each connection sends its next request after an answer. This measures capacity; a slow service gets fewer
    /// requests.
    Closed,
    /// As `Closed`, until this many requests are answered.
    ClosedOf { n_requests: usize },
    /// A fixed rate per second, regardless of the responses.
    Open { per_second: f64, overdue: OverduePolicy },
}

/// The treatment of a due request without a free connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OverduePolicy {
    /// It waits for a connection; its latency counts from the time it was due.
    Waits,
    /// It is dropped and counted, and does not queue in the generator.
    Left,
}

/// The load to generate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LoadSpec {
    pub(super) pace: ArrivalProcess,
    pub(super) n_connections: usize,
    pub(super) duration: Duration,
    pub(super) refused: RefusalPolicy,
}

/// The reaction of a connection to a 503 response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusalPolicy {
    /// Sends the next request at once.
    GoesOn,
    /// Waits as `Retry-After` says.
    ComesBack,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestSample {
    /// The time it was due, in microseconds since the start; in a closed loop, the time it was sent.
    pub(super) due_us: u32,
    /// Time from due to answered.
    pub(super) latency_us: u32,
    /// Time from sent to answered.
    pub(super) service_us: u32,
    pub(super) status: u16,
}

/// The result of a load. It counts every due request exactly once.
#[derive(Debug, Clone)]
pub(super) struct LoadResult {
    pub(super) began: Instant,
    /// The time during which requests were due.
    pub(super) lasted: Duration,
    pub(super) n_due: usize,
    pub(super) answered: Vec<RequestSample>,
    /// Requests never sent for lack of a free connection.
    pub(super) n_unsent: usize,
    /// Requests sent but not answered within the time allowed after the end.
    pub(super) n_unanswered: usize,
    /// Requests sent over a connection that broke.
    pub(super) n_broken: usize,
    /// Waiting times of due requests that got no answer. They are lower bounds, so they belong to the latencies.
    pub(super) in_vain_us: Vec<u32>,
    /// Responses with status 503 and no `Retry-After`.
    pub(super) n_without_retry_after: usize,
    /// Transactions that at least one rule matched.
    pub(super) n_matched: usize,
    /// Connections opened; fewer than requested where the service or the system refused some.
    pub(super) n_connections: usize,
}

/// Generates this load until its duration ends or `stop` is set.
///
/// # Errors
/// When no connection can be opened, a response is not valid HTTP, or the user interrupts.
pub(super) fn run(
    target: &HttpTarget,
    requests: &Requests,
    load: LoadSpec,
    stop: &AtomicBool,
) -> Result<LoadResult, BenchError> {
    let n_lanes = n_lanes(load.n_connections);
    let mut lanes = Vec::new();
    for number in 0..n_lanes {
        let n_own = (load.n_connections + n_lanes - 1 - number) / n_lanes;
        lanes.push(GeneratorThread::open(target, requests, load, number, n_lanes, n_own)?);
    }
    let began = Instant::now();
    let is_over = AtomicBool::new(false);
    let over = || stop.load(Ordering::Relaxed) || is_over.load(Ordering::Relaxed);
    let outcomes: Result<Vec<LoadResult>, BenchError> = thread::scope(|scope| {
        let running: Vec<_> = lanes
            .into_iter()
            .map(|lane| {
                let (over, is_over) = (&over, &is_over);
                scope.spawn(move || {
                    let outcome = lane.run(began, over);
                    // A thread that fails ends the others.
                    is_over.fetch_or(outcome.is_err(), Ordering::Relaxed);
                    outcome
                })
            })
            .collect();
        let ended = running.into_iter().map(|lane| {
            lane.join().unwrap_or_else(|_| Err(BenchError::Answer("the generator failed".to_owned())))
        });
        ended.collect()
    });
    outcomes?
        .into_iter()
        .reduce(LoadResult::and)
        .ok_or_else(|| BenchError::Nothing("no connection".to_owned()))
}

/// A quarter of the cores, at least one and at most one per connection.
fn n_lanes(n_connections: usize) -> usize {
    let n_cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (n_cores / 4).clamp(1, n_connections.max(1))
}

impl LoadResult {
    const fn nothing(began: Instant) -> Self {
        Self {
            began,
            lasted: Duration::ZERO,
            n_due: 0,
            answered: Vec::new(),
            n_unsent: 0,
            n_unanswered: 0,
            n_broken: 0,
            in_vain_us: Vec::new(),
            n_without_retry_after: 0,
            n_matched: 0,
            n_connections: 0,
        }
    }

    fn and(mut self, other: Self) -> Self {
        self.lasted = self.lasted.max(other.lasted);
        self.n_due += other.n_due;
        self.answered.extend(other.answered);
        self.n_unsent += other.n_unsent;
        self.n_unanswered += other.n_unanswered;
        self.n_broken += other.n_broken;
        self.in_vain_us.extend(other.in_vain_us);
        self.n_without_retry_after += other.n_without_retry_after;
        self.n_matched += other.n_matched;
        self.n_connections += other.n_connections;
        self
    }

    pub(super) fn by_status(&self) -> BTreeMap<u16, usize> {
        let mut counts = BTreeMap::new();
        for answered in &self.answered {
            *counts.entry(answered.status).or_default() += 1;
        }
        counts
    }

    pub(super) fn n_ok(&self) -> usize {
        self.ok().count()
    }

    /// Durable verdicts per second, counting those answered before the end of the load.
    pub(super) fn ok_per_second(&self) -> f64 {
        let seconds = self.lasted.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let n = self.ok().filter(|answered| self.is_within(answered)).count() as f64;
        if seconds > 0.0 { n / seconds } else { 0.0 }
    }

    /// Latencies of requests that got a verdict, and waiting times of those that got no answer.
    pub(super) fn latencies(&self) -> Samples {
        Samples::new(self.ok().map(|answered| answered.latency_us).chain(self.in_vain_us.iter().copied()))
    }

    /// Times from sent to answered: latencies without the correction for coordinated omission.
    pub(super) fn service_times(&self) -> Samples {
        Samples::new(self.ok().map(|answered| answered.service_us))
    }

    /// Time of each refusal, from sent to answered.
    pub(super) fn refusals(&self) -> Samples {
        Samples::new(self.refused().map(|answered| answered.service_us))
    }

    pub(super) fn refused(&self) -> impl Iterator<Item = &RequestSample> {
        self.answered.iter().filter(|answered| answered.status == 503)
    }

    pub(super) fn ok(&self) -> impl Iterator<Item = &RequestSample> {
        self.answered.iter().filter(|answered| answered.status == 200)
    }

    fn is_within(&self, answered: &RequestSample) -> bool {
        let at_us = u128::from(answered.due_us) + u128::from(answered.latency_us);
        at_us <= self.lasted.as_micros()
    }
}

/// Whole microseconds, saturating at `u32::MAX` (71 minutes).
fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
