//! Arrival times of transactions, and the latest event time.

use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;

use tollgate_model::transaction::Transaction;

/// Largest fall of the clock that arrival times ignore.
pub(super) const FALL_BACK_MAX: TimeDelta = TimeDelta::minutes(5);

/// Assigns arrival times in the order of acceptance.
///
/// INVARIANT: a transaction accepted later never gets an earlier time, so each of several parallel ones sees those
/// before it. The clock alone does not guarantee that: it may fall back, even between two runs.
#[derive(Debug)]
pub(super) struct AcceptanceOrder {
    last: Mutex<DateTime<Utc>>,
    /// In microseconds since 1970 UTC; `i64::MIN` before the first arrival.
    latest_event: AtomicI64,
}

impl AcceptanceOrder {
    /// Continues after the last arrival of an earlier run.
    pub(super) const fn after(last: DateTime<Utc>) -> Self {
        Self { last: Mutex::new(last), latest_event: AtomicI64::new(i64::MIN) }
    }

    /// Returns the arrival time of a transaction; it becomes the event time if the transaction has none that counts. Must be called
    /// under the lock that assigns sequence numbers.
    pub(super) fn stamp(&self, transaction: &mut Transaction, now: DateTime<Utc>) -> DateTime<Utc> {
        let arrival = self.next(now);
        if transaction.timestamp.is_set_on_arrival() {
            transaction.timestamp = transaction.timestamp.clone().accepted_at(arrival);
        }
        // A time in the future says nothing about other transactions.
        let event = transaction.timestamp.micros().min(arrival.timestamp_micros());
        self.latest_event.fetch_max(event, Ordering::Relaxed);
        arrival
    }

    /// Returns the latest event time, in microseconds since 1970 UTC. An event counts as no later than its arrival.
    /// Returns `None` before the first.
    pub(super) fn latest_event(&self) -> Option<i64> {
        Some(self.latest_event.load(Ordering::Relaxed)).filter(|latest| *latest > i64::MIN)
    }

    fn next(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        let mut last = self.last.lock();
        // A clock that falls back a little was slewed or stepped; one that falls back far was wrong before.
        if *last - now <= FALL_BACK_MAX {
            *last = now.max(*last);
        } else {
            tracing::warn!(from = %*last, to = %now, "the clock was set back far; arrival times follow it");
            *last = now;
            // Event times by the wrong clock are no longer valid.
            self.latest_event.store(i64::MIN, Ordering::Relaxed);
        }
        *last
    }
}

#[cfg(test)]
mod tests {
    use tollgate_model::transaction::EventTime;

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
