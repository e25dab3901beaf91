//! Arrival times of transactions, and the latest event time.
//!
//! ```text
//!  the clock goes on               the stamp is the clock's time
//!  it is behind the last stamp     the stamp goes on from the last one by the monotonic clock: the clock is waited for
//!  it is behind by more than 26 h  the clock is followed, once new transactions are held for review
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;
use tollgate_model::clock::Clock;
use tollgate_model::transaction::Transaction;
use tollgate_store::LastTimes;

/// Largest fall of the clock for which it is waited: no two time zones are further apart.
pub(super) const FALL_WAITED_FOR_MAX: TimeDelta = TimeDelta::hours(26);

/// Assigns arrival times in the order of acceptance.
///
/// INVARIANT: unless the clock is followed back, a transaction accepted later never gets an earlier time, so each of
/// several parallel ones sees those before it. The clock alone does not guarantee that: it may fall back, even between
/// two runs.
#[derive(Debug)]
pub struct AcceptanceOrder {
    clock: Arc<dyn Clock>,
    last: Mutex<LastStamp>,
    /// The last stamp, in microseconds since 1970 UTC.
    last_micros: AtomicI64,
    /// In microseconds since 1970 UTC; `i64::MIN` before the first arrival.
    latest_event: AtomicI64,
}

#[derive(Debug, Clone, Copy)]
struct LastStamp {
    time: DateTime<Utc>,
    /// When it was given.
    given: Instant,
}

impl LastStamp {
    /// Returns the stamp of this moment, at which the clock shows `now`.
    fn next(self, now: DateTime<Utc>, moment: Instant) -> DateTime<Utc> {
        if now >= self.time {
            return now;
        }
        let elapsed = moment.saturating_duration_since(self.given);
        let elapsed = TimeDelta::from_std(elapsed).unwrap_or_default();
        self.time.checked_add_signed(elapsed).unwrap_or(self.time)
    }
}

impl AcceptanceOrder {
    /// Continues after the last transactions of an earlier run.
    pub fn after(stored: Option<LastTimes>, clock: Arc<dyn Clock>) -> Self {
        let accepted = stored.and_then(|stored| DateTime::from_timestamp_micros(stored.accepted_micros));
        let last = accepted.unwrap_or(DateTime::UNIX_EPOCH);
        // Stored times may be by a clock that was ahead.
        let now = clock.now().timestamp_micros();
        let latest_event = stored.map_or(i64::MIN, |stored| stored.event_micros.min(now));
        Self {
            clock,
            last: Mutex::new(LastStamp { time: last, given: Instant::now() }),
            last_micros: AtomicI64::new(last.timestamp_micros()),
            latest_event: AtomicI64::new(latest_event),
        }
    }

    /// Returns the arrival time of a transaction; it becomes the event time if the transaction has none that counts. Must be called
    /// under the lock that assigns sequence numbers.
    pub(super) fn stamp(&self, transaction: &mut Transaction) -> DateTime<Utc> {
        let arrival = self.next(self.clock.now(), Instant::now());
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
    pub fn latest_event(&self) -> Option<i64> {
        Some(self.latest_event.load(Ordering::Relaxed)).filter(|latest| *latest > i64::MIN)
    }

    /// Returns by how much the clock is behind the last stamp; zero if it is not.
    pub(super) fn lag(&self) -> TimeDelta {
        let micros =
            self.last_micros.load(Ordering::Relaxed).saturating_sub(self.clock.now().timestamp_micros());
        TimeDelta::microseconds(micros.max(0))
    }

    /// Follows a clock that was set back further than it is waited for.
    pub(super) fn follow(&self) {
        let now = self.clock.now();
        let mut last = self.last.lock();
        if last.time - now <= FALL_WAITED_FOR_MAX {
            return;
        }
        tracing::warn!(from = %last.time, to = %now, "the clock was set back far; arrival times follow it");
        *last = LastStamp { time: now, given: Instant::now() };
        self.last_micros.store(now.timestamp_micros(), Ordering::Relaxed);
        // Event times by the wrong clock are no longer valid.
        self.latest_event.store(i64::MIN, Ordering::Relaxed);
    }

    fn next(&self, now: DateTime<Utc>, moment: Instant) -> DateTime<Utc> {
        let mut last = self.last.lock();
        *last = LastStamp { time: last.next(now, moment), given: moment };
        self.last_micros.store(last.time.timestamp_micros(), Ordering::Relaxed);
        last.time
    }
}

/// The time that the next transaction would be stamped with.
impl Clock for AcceptanceOrder {
    fn now(&self) -> DateTime<Utc> {
        let now = self.clock.now();
        self.last.lock().next(now, Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tollgate_model::transaction::EventTime;

    use super::*;

    #[derive(Debug)]
    struct FixedClock(&'static str);

    impl Clock for FixedClock {
        fn now(&self) -> DateTime<Utc> {
            self.0.parse().unwrap()
        }
    }

    fn after(stored: LastTimes) -> AcceptanceOrder {
        AcceptanceOrder::after(Some(stored), Arc::new(FixedClock("2026-06-01T00:00:00Z")))
    }

    fn order(last: DateTime<Utc>) -> AcceptanceOrder {
        after(LastTimes { accepted_micros: last.timestamp_micros(), event_micros: i64::MIN })
    }

    #[test]
    fn a_stored_event_by_a_clock_that_was_ahead_counts_as_no_later_than_the_clock() {
        for (stored, latest) in [
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
            ("2027-01-01T00:00:00Z", "2026-06-01T00:00:00Z"),
        ] {
            let event_micros = EventTime::micros_of(stored).unwrap();
            let arrivals = after(LastTimes { accepted_micros: event_micros, event_micros });
            assert_eq!(arrivals.latest_event(), EventTime::micros_of(latest), "{stored}");
        }
    }

    #[test]
    fn the_traffic_is_as_far_as_its_latest_event_and_never_ahead_of_the_clock() {
        let arrivals = order(DateTime::UNIX_EPOCH);
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
            arrivals.stamp(&mut transaction);
            assert_eq!(arrivals.latest_event(), EventTime::micros_of(latest), "{created_at}");
        }
    }

    /// Each step is the seconds since the first, the time of the clock, and the stamp.
    #[track_caller]
    fn check(steps: &[(u64, &str, &str)]) {
        let (arrivals, begin) = (order(DateTime::UNIX_EPOCH), Instant::now());
        for (seconds, now, stamp) in steps {
            let found = arrivals.next(now.parse().unwrap(), begin + Duration::from_secs(*seconds));
            assert_eq!(found, stamp.parse::<DateTime<Utc>>().unwrap(), "after {seconds} s");
        }
    }

    #[test]
    fn the_stamp_goes_on_by_the_monotonic_clock_while_the_clock_is_behind() {
        check(&[
            (0, "2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z"),
            (1, "2026-01-01T11:00:01Z", "2026-01-01T12:00:01Z"),
            (4, "2026-01-01T11:00:04Z", "2026-01-01T12:00:04Z"),
            // The clock is set right.
            (5, "2026-01-01T12:00:05Z", "2026-01-01T12:00:05Z"),
        ]);
        // The clock is behind by ten seconds, and nothing arrives for a minute.
        check(&[
            (0, "2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z"),
            (1, "2026-01-01T11:59:51Z", "2026-01-01T12:00:01Z"),
            (60, "2026-01-01T12:00:50Z", "2026-01-01T12:00:50Z"),
        ]);
    }

    #[test]
    fn a_clock_that_fell_far_is_followed_when_that_is_asked_for() {
        for (last, stamp) in [
            ("2026-06-02T02:00:00Z", "2026-06-02T02:00:00Z"),
            ("2026-06-02T02:00:01Z", "2026-06-01T00:00:00Z"),
        ] {
            let arrivals = order(last.parse().unwrap());
            arrivals.follow();
            assert_eq!(arrivals.last.lock().time, stamp.parse::<DateTime<Utc>>().unwrap());
        }
    }
}
