//! Points in time as transactions carry them.

use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};

/// A date-time with the text it was given as. Order is by the instant, in microseconds; finer digits are kept in the
/// text only.
#[derive(Debug, Clone)]
pub struct EventTime {
    micros: i64,
    text: Arc<str>,
    is_given: bool,
}

impl EventTime {
    /// Reads RFC 3339; `None` for any other text and for dates that are none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(Self { micros: Self::micros_of(text)?, text: text.into(), is_given: true })
    }

    /// The instant an RFC 3339 text names, in microseconds since 1970 UTC.
    #[must_use]
    pub fn micros_of(text: &str) -> Option<i64> {
        DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_micros())
    }

    /// The time of our clock, to the microsecond, in UTC, for want of a given one.
    #[must_use]
    pub fn of(clock: DateTime<Utc>) -> Self {
        let text = clock.to_rfc3339_opts(SecondsFormat::Micros, true);
        Self { micros: clock.timestamp_micros(), text: text.into(), is_given: false }
    }

    /// As it was, of what the other functions told of it.
    pub(crate) fn kept(micros: i64, text: &str, is_given: bool) -> Self {
        Self { micros, text: text.into(), is_given }
    }

    /// Whether somebody gave it, rather than our clock.
    #[must_use]
    pub const fn is_given(&self) -> bool {
        self.is_given
    }

    /// Microseconds since 1970 UTC.
    #[must_use]
    pub const fn micros(&self) -> i64 {
        self.micros
    }

    /// As it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for EventTime {
    fn eq(&self, other: &Self) -> bool {
        self.micros == other.micros
    }
}

impl Eq for EventTime {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rfc_3339_is_a_time() {
        for text in
            ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456789+02:00", "2024-02-29T00:00:00-11:30"]
        {
            assert_eq!(EventTime::parse(text).unwrap().as_str(), text);
        }
        for text in
            ["", "2026-01-02", "2026-02-30T00:00:00Z", "2026-01-02T25:00:00Z", "2026-01-02T03:04:05", "now"]
        {
            assert!(EventTime::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn one_instant_in_two_zones_is_one_time() {
        assert_eq!(EventTime::parse("2026-01-02T03:00:00+02:00"), EventTime::parse("2026-01-02T01:00:00Z"));
    }
}
