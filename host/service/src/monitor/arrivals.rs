//! The times of transactions that brought none, and how far the traffic has come.

use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;

use tollgate_model::transaction::{EventTime, Transaction};

/// How far the clock may fall back before it is believed.
const FALL_BACK_MAX: TimeDelta = TimeDelta::minutes(5);

/// Stamps transactions in the order in which they are accepted.
///
/// INVARIANT: a transaction accepted later is not stamped earlier, so of several in parallel each sees those before it.
/// The clock alone does not give that: it may fall back, also between two runs.
#[derive(Debug)]
pub(super) struct AcceptanceOrder {
    last: Mutex<DateTime<Utc>>,
    /// In microseconds since 1970 UTC; the smallest number before the first arrival.
    latest_event: AtomicI64,
}

impl AcceptanceOrder {
    /// Goes on after the last arrival of an earlier run.
    pub(super) const fn after(last: DateTime<Utc>) -> Self {
        Self { last: Mutex::new(last), latest_event: AtomicI64::new(i64::MIN) }
    }

    /// The arrival of a transaction, which is its own time when it brought none. Called under the lock that gives the
    /// numbers.
    pub(super) fn stamp(&self, transaction: &mut Transaction, now: DateTime<Utc>) -> DateTime<Utc> {
        let arrival = self.next(now);
        if !transaction.timestamp.is_given() {
            transaction.timestamp = EventTime::of(arrival);
        }
        // What claims to come from the future says nothing about the rest.
        let event = transaction.timestamp.micros().min(arrival.timestamp_micros());
        self.latest_event.fetch_max(event, Ordering::Relaxed);
        arrival
    }

    /// The latest event time of all arrivals, in microseconds since 1970 UTC, none taken for later than its arrival;
    /// `None` before the first.
    pub(super) fn latest_event(&self) -> Option<i64> {
        Some(self.latest_event.load(Ordering::Relaxed)).filter(|latest| *latest > i64::MIN)
    }

    fn next(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        let mut last = self.last.lock();
        // A clock that falls back a little is slewed or stepped; one that falls back far was wrong before.
        if *last - now <= FALL_BACK_MAX {
            *last = now.max(*last);
        } else {
            tracing::warn!(from = %*last, to = %now, "the clock fell back far; arrivals follow it");
            *last = now;
            // What it said before says nothing about how far the traffic is.
            self.latest_event.store(i64::MIN, Ordering::Relaxed);
        }
        *last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traffic_is_as_far_as_its_latest_event_and_never_ahead_of_the_clock() {
        let arrivals = AcceptanceOrder::after(DateTime::UNIX_EPOCH);
        assert_eq!(arrivals.latest_event(), None);
        for (created_at, latest) in [
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
            ("2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
            ("2999-01-01T00:00:00Z", "2026-06-01T00:00:00Z"),
        ] {
            let body = format!(
                r#"{{"amount": 1, "currency": "EUR", "reference": "r", "created_at": "{created_at}"}}"#
            );
            let (mut transaction, _) = Transaction::parse(body.as_bytes(), DateTime::UNIX_EPOCH).unwrap();
            arrivals.stamp(&mut transaction, "2026-06-01T00:00:00Z".parse().unwrap());
            assert_eq!(arrivals.latest_event(), EventTime::micros_of(latest), "{created_at}");
        }
    }

    #[track_caller]
    fn check(clock: &[&str], stamps: &[&str]) {
        let arrivals = AcceptanceOrder::after(DateTime::UNIX_EPOCH);
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
