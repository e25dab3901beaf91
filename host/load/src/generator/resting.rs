//! Connections that pause after a refusal, as `Retry-After` says.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use fastrand::Rng;

/// Fixed, so every run is the same.
const SEED: u64 = 7;

/// Resting connections by index, ordered by the end of their pause.
#[derive(Debug)]
pub(super) struct RestingConnections {
    until: BinaryHeap<Reverse<(Instant, usize)>>,
    random: Rng,
}

impl RestingConnections {
    /// Creates an empty set for the generator thread with this number.
    pub(super) fn new(lane: usize) -> Self {
        Self { until: BinaryHeap::new(), random: Rng::with_seed(SEED + lane as u64) }
    }

    /// Adds a connection. Its pause lasts between one and two times `retry_after`, at random: otherwise all connections
    /// refused together would return together.
    pub(super) fn lay(&mut self, slot: usize, now: Instant, retry_after: Duration) {
        let until = now + retry_after.mul_f64(1.0 + self.random.f64());
        self.until.push(Reverse((until, slot)));
    }

    /// Removes a connection whose pause is over.
    pub(super) fn rested(&mut self, now: Instant) -> Option<usize> {
        self.next().filter(|next| *next <= now)?;
        self.until.pop().map(|Reverse((_, slot))| slot)
    }

    pub(super) fn remove(&mut self, slot: usize) {
        self.until.retain(|Reverse((_, resting))| *resting != slot);
    }

    /// The end of the next pause.
    pub(super) fn next(&self) -> Option<Instant> {
        self.until.peek().map(|Reverse((until, _))| *until)
    }

    pub(super) fn len(&self) -> usize {
        self.until.len()
    }
}
