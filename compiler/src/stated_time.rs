//! Times written as text in metadata, scripts and lists.
//!
//! | text | meaning |
//! |---|---|
//! | RFC 3339, such as `2026-01-31T10:15:00+01:00` | a point in time |
//! | the same without an offset, or without seconds | a point in time, in UTC where there is no offset |
//! | `2026-01-31` | that whole day in UTC |
//!
//! Under the first semantics only RFC 3339 is a time.

use std::cmp::Ordering;

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use tollgate_guest_abi::Semantics;

/// The last microsecond of a day, relative to its first.
const DAY_END_MICROS: i64 = 86_400_000_000 - 1;

/// A point in time or a whole day, as the first and last microsecond since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StatedTime {
    first: i64,
    last: i64,
}

impl StatedTime {
    /// Parses a text; returns `None` when it is not a time.
    #[must_use]
    pub fn read(text: &str, semantics: Semantics) -> Option<Self> {
        if !begins_with_a_date(text) {
            return None;
        }
        if let Some(micros) = rfc_3339_micros(text) {
            return Some(Self::at(micros));
        }
        if semantics.is_first() {
            return None;
        }
        match text.as_bytes().get(10) {
            None => Self::of_day(NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?),
            Some(b'T' | b't' | b' ') if text.as_bytes().get(13) == Some(&b':') => {
                lenient_micros(text).map(Self::at)
            }
            Some(_) => None,
        }
    }

    /// Creates a point in time, in microseconds since 1970 UTC.
    #[must_use]
    pub const fn at(micros: i64) -> Self {
        Self { first: micros, last: micros }
    }

    fn of_day(day: NaiveDate) -> Option<Self> {
        let first = day.and_hms_opt(0, 0, 0)?.and_utc().timestamp_micros();
        Some(Self { first, last: first + DAY_END_MICROS })
    }

    /// Returns the point in time, or the start of the day, in microseconds since 1970 UTC.
    #[must_use]
    pub const fn start(self) -> i64 {
        self.first
    }

    /// Returns whether this is a whole day.
    #[must_use]
    pub const fn is_day(self) -> bool {
        self.last > self.first
    }

    /// Orders by time: less when this ends before `other` starts, and equal when the two overlap.
    #[must_use]
    pub fn order(self, other: Self) -> Ordering {
        if self.last < other.first {
            Ordering::Less
        } else if self.first > other.last {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }
}

fn rfc_3339_micros(text: &str) -> Option<i64> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_micros())
}

/// Quickly rejects most texts that are not times.
fn begins_with_a_date(text: &str) -> bool {
    matches!(text.as_bytes(), [b'0'..=b'9', _, _, _, b'-', _, _, b'-', _, _, ..])
}

/// Parses a time without offset or without seconds; strict in everything else.
fn lenient_micros(text: &str) -> Option<i64> {
    let (date, time) = text.split_at_checked(10)?;
    let time = time.get(1..)?;
    let (time, offset) = match time.find(['Z', 'z', '+', '-']) {
        Some(offset) => time.split_at_checked(offset)?,
        None => (time, ""),
    };
    let seconds = match time.len() {
        0..5 => return None,
        5 => ":00",
        _ => "",
    };
    let whole = format!("{date}T{time}{seconds}{}", if offset.is_empty() { "Z" } else { offset });
    // RFC 3339 parsing validates the completed text.
    let point = DateTime::parse_from_rfc3339(&whole).ok()?;
    NaiveDateTime::parse_from_str(&format!("{date}T{time}{seconds}"), "%Y-%m-%dT%H:%M:%S%.f").ok()?;
    Some(point.timestamp_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<StatedTime> {
        StatedTime::read(text, Semantics::V2)
    }

    #[track_caller]
    fn check(text: &str, same_as: &str) {
        assert_eq!(read(text).map(StatedTime::start), rfc_3339_micros(same_as), "{text}");
        let is_strict = rfc_3339_micros(text).is_some();
        assert_eq!(StatedTime::read(text, Semantics::V1).is_some(), is_strict, "{text}");
    }

    #[test]
    fn a_time_gets_defaults_for_its_missing_parts() {
        check("2020-01-31T10:15:00Z", "2020-01-31T10:15:00Z");
        check("2020-01-31T10:15:00", "2020-01-31T10:15:00Z");
        check("2020-01-31 10:15:00.5", "2020-01-31T10:15:00.5Z");
        check("2020-01-31T10:15", "2020-01-31T10:15:00Z");
        check("2020-01-31T10:15Z", "2020-01-31T10:15:00Z");
        check("2020-01-31T10:15+01:00", "2020-01-31T09:15:00Z");
        check("2020-01-31 10:15:00-05:00", "2020-01-31T15:15:00Z");
        check("2020-01-31", "2020-01-31T00:00:00Z");
        check("2024-02-29", "2024-02-29T00:00:00Z");
    }

    #[test]
    fn other_texts_state_no_time() {
        for text in [
            "",
            "2020",
            "2020-1-31",
            "2020-02-30",
            "31.01.2020",
            "2020-01-31T",
            "2020-01-31T1:15",
            "2020-01-31T10",
            "2020-01-31T25:00",
            "2020-01-31x10:15:00",
            "2020-01-31T10:15:00 Z",
            "20200131",
            "2020-01-31T10:15:00+1",
            "2020-01-31T10:15,5",
            "１２３４-01-31",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_day_is_before_what_comes_when_it_is_over() {
        let day = read("2020-01-31").unwrap();
        for (text, order) in [
            ("2020-01-30T23:59:59.999999Z", Ordering::Greater),
            ("2020-01-31T00:00:00Z", Ordering::Equal),
            ("2020-01-31T23:59:59.999999Z", Ordering::Equal),
            ("2020-02-01T00:00:00Z", Ordering::Less),
            ("2020-02-01", Ordering::Less),
            ("2020-01-31", Ordering::Equal),
        ] {
            let other = read(text).unwrap();
            assert_eq!((day.order(other), other.order(day)), (order, order.reverse()), "{text}");
        }
    }
}
