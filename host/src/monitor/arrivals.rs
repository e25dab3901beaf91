//! The times of transactions that brought none.

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;

use crate::transaction::{EventTime, Transaction};

/// How far the clock may fall back before it is believed.
const FALL_BACK_MAX: TimeDelta = TimeDelta::minutes(5);

/// Stamps transactions in the order in which they are accepted.
///
/// INVARIANT: a transaction accepted later is not stamped earlier, so of several in parallel each sees those before it.
/// The clock alone does not give that: it may fall back, also between two runs.
#[derive(Debug)]
pub(super) struct Arrivals {
    last: Mutex<DateTime<Utc>>,
}

impl Arrivals {
    /// Goes on after the last arrival of an earlier run.
    pub(super) const fn after(last: DateTime<Utc>) -> Self {
        Self { last: Mutex::new(last) }
    }

    /// The arrival of a transaction, which is its own time when it brought none. Called under the lock that gives the
    /// numbers.
    pub(super) fn stamp(&self, transaction: &mut Transaction, now: DateTime<Utc>) -> DateTime<Utc> {
        let arrival = self.next(now);
        if !transaction.timestamp.is_given() {
            transaction.timestamp = EventTime::of(arrival);
        }
        arrival
    }

    fn next(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        let mut last = self.last.lock();
        // A clock that falls back a little is slewed or stepped; one that falls back far was wrong before.
        if *last - now <= FALL_BACK_MAX {
            *last = now.max(*last);
        } else {
            tracing::warn!(from = %*last, to = %now, "the clock fell back far; arrivals follow it");
            *last = now;
        }
        *last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(clock: &[&str], stamps: &[&str]) {
        let arrivals = Arrivals::after(DateTime::UNIX_EPOCH);
        let stamped: Vec<_> = clock.iter().map(|now| arrivals.next(now.parse().unwrap())).collect();
        let expected: Vec<DateTime<Utc>> = stamps.iter().map(|stamp| stamp.parse().unwrap()).collect();
        assert_eq!(stamped, expected);
    }

    #[test]
    fn arrivals_do_not_go_backwards_when_the_clock_does() {
        check(
            &["2026-01-01T12:00:00Z", "2026-01-01T11:59:00Z", "2026-01-01T12:00:01Z"],
            &["2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z", "2026-01-01T12:00:01Z"],
        );
    }

    #[test]
    fn a_clock_that_was_far_ahead_does_not_hold_arrivals_there() {
        check(
            &["2027-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"],
            &["2027-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"],
        );
    }
}
