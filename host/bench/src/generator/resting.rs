//! Connections whose owners were refused, and come back when they were told to.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use fastrand::Rng;

/// The same run after run.
const SEED: u64 = 7;

/// Such connections by their places, the next to come back first.
#[derive(Debug)]
pub(super) struct RestingConnections {
    until: BinaryHeap<Reverse<(Instant, usize)>>,
    random: Rng,
}

impl RestingConnections {
    /// Of the generator's thread of this number.
    pub(super) fn of(lane: usize) -> Self {
        Self { until: BinaryHeap::new(), random: Rng::with_seed(SEED + lane as u64) }
    }

    /// One that is to come back after so long does so within as long again: else all that were refused at once would come back
    /// at once.
    pub(super) fn lay(&mut self, place: usize, now: Instant, retry_after: Duration) {
        let until = now + retry_after.mul_f64(1.0 + self.random.f64());
        self.until.push(Reverse((until, place)));
    }

    /// One that comes back now.
    pub(super) fn rested(&mut self, now: Instant) -> Option<usize> {
        self.next().filter(|next| *next <= now)?;
        self.until.pop().map(|Reverse((_, place))| place)
    }

    /// One that is not waited for any more.
    pub(super) fn forget(&mut self, place: usize) {
        self.until.retain(|Reverse((_, resting))| *resting != place);
    }

    /// When the next one comes back.
    pub(super) fn next(&self) -> Option<Instant> {
        self.until.peek().map(|Reverse((until, _))| *until)
    }

    pub(super) fn len(&self) -> usize {
        self.until.len()
    }
}
