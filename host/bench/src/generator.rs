//! Load on a service, and how late its answers are.
//!
//! In an open loop every request has a time at which it is due, by the rate alone; its latency counts from then, also when
//! it could not be sent because every connection was waiting for an answer. So a service that stands still for a second
//! is seen to have kept everybody waiting who came in that second, and not only those few who had been sent (the
//! correction that wrk2 made known). A few threads hold all connections, so that the load costs little beside the service.

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

/// How long answers are waited for behind the end.
const PATIENCE: Duration = Duration::from_secs(5);
/// Due for so long without a free connection, a request of [`OverduePolicy::Left`] is not sent any more.
const LEFT_AFTER: Duration = Duration::from_millis(5);

/// How requests come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ArrivalProcess {
    /// The next one of a connection when its last one is answered: what the service can take, asked less when it is slow.
    Closed,
    /// So many a second, whatever becomes of them.
    Open { per_second: f64, overdue: OverduePolicy },
}

/// What becomes of a request for which no connection is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OverduePolicy {
    /// It waits for one, and its latency counts from the time it was due.
    Waits,
    /// It is left out, and counted: whoever is refused elsewhere does not queue here.
    Left,
}

/// What is done to a service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LoadSpec {
    pub(super) pace: ArrivalProcess,
    pub(super) n_connections: usize,
    pub(super) duration: Duration,
    pub(super) refused: RefusalPolicy,
}

/// What the owner of a connection does that is refused with 503.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusalPolicy {
    /// Sends the next request.
    GoesOn,
    /// Comes back when the refusal says, as one who heeds `Retry-After`.
    ComesBack,
}

/// One request that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestSample {
    /// When it was due, in microseconds since the beginning; in a closed loop, when it was sent.
    pub(super) due_us: u32,
    /// From then to its answer.
    pub(super) latency_us: u32,
    /// From when it was sent to its answer.
    pub(super) service_us: u32,
    pub(super) status: u16,
}

/// What came of a load. All requests that were due are in it, once.
#[derive(Debug, Clone)]
pub(super) struct LoadResult {
    pub(super) began: Instant,
    /// How long requests were due.
    pub(super) lasted: Duration,
    pub(super) n_due: usize,
    pub(super) answered: Vec<RequestSample>,
    /// Never sent, for want of a free connection.
    pub(super) n_unsent: usize,
    /// Sent, and not answered until well behind the end.
    pub(super) n_unanswered: usize,
    /// Sent over a connection that broke.
    pub(super) n_broken: usize,
    /// How long those waited that were due and never answered: at least so long, so they belong to the latencies.
    pub(super) in_vain_us: Vec<u32>,
    /// Refused with 503 and no word of when to come back.
    pub(super) n_without_retry_after: usize,
    /// Judged by at least one rule that matched.
    pub(super) n_matched: usize,
    /// Connections that there were; fewer than wanted where the service or the system refused them.
    pub(super) n_connections: usize,
}

/// Puts this load on a service, until it ends or `stop` says so.
///
/// # Errors
/// When no connection can be opened, what comes back is no HTTP, or somebody interrupts.
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
                    // One that fails ends the others.
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

/// A quarter of the cores, where there are as many connections.
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

    /// How many were answered with each status.
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

    /// Verdicts that were durable and answered, of all the time that requests were due.
    pub(super) fn ok_per_second(&self) -> f64 {
        let seconds = self.lasted.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let n = self.ok().filter(|answered| self.is_within(answered)).count() as f64;
        if seconds > 0.0 { n / seconds } else { 0.0 }
    }

    /// Latencies of those that got a verdict, and of those that waited for one in vain.
    pub(super) fn latencies(&self) -> Samples {
        Samples::of(self.ok().map(|answered| answered.latency_us).chain(self.in_vain_us.iter().copied()))
    }

    /// The same from when each was sent: what a generator without the correction would report.
    pub(super) fn service_times(&self) -> Samples {
        Samples::of(self.ok().map(|answered| answered.service_us))
    }

    /// How long refusals took, from when each was sent.
    pub(super) fn refusals(&self) -> Samples {
        Samples::of(self.refused().map(|answered| answered.service_us))
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

/// Whole microseconds, as they are kept: up to 71 minutes.
fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
