//! Points in time in transactions.

use std::borrow::Cow;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};

/// Separates the text from the instant in storage, if the instant differs from the text.
const LATER: char = '@';

/// A date-time with its original text. Compared by the instant in microseconds; only the text keeps finer digits.
#[derive(Debug, Clone)]
pub struct EventTime {
    micros: i64,
    text: Arc<str>,
    is_given: bool,
    /// Whether the instant differs from that of the text.
    is_moved: bool,
    /// Whether the instant is set when the transaction is accepted.
    follows_arrival: bool,
}

impl EventTime {
    /// Parses RFC 3339. Returns `None` for any other text and for invalid dates.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(Self {
            micros: Self::micros_of(text)?,
            text: text.into(),
            is_given: true,
            is_moved: false,
            follows_arrival: false,
        })
    }

    /// Returns the instant of an RFC 3339 text, in microseconds since 1970 UTC.
    #[must_use]
    pub fn micros_of(text: &str) -> Option<i64> {
        DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_micros())
    }

    /// Creates a time from our clock, for a sender that gave none. Its text is in UTC, to the microsecond.
    #[must_use]
    pub fn from_clock(clock: DateTime<Utc>) -> Self {
        let text = clock.to_rfc3339_opts(SecondsFormat::Micros, true);
        Self {
            micros: clock.timestamp_micros(),
            text: text.into(),
            is_given: false,
            is_moved: false,
            follows_arrival: false,
        }
    }

    /// Keeps the text but takes the instant of another time. A scheduled payment is reported with the time of its
    /// request.
    #[must_use]
    pub(crate) fn happening_at(self, other: &EventTime) -> Self {
        Self { micros: other.micros, is_moved: true, ..self }
    }

    /// Keeps the text, but takes the instant at which the transaction is accepted.
    #[must_use]
    pub(crate) fn following_arrival(self) -> Self {
        Self { follows_arrival: self.is_given, ..self }
    }

    /// Returns whether the instant is set when the transaction is accepted, whether or not the sender gave a time.
    #[must_use]
    pub const fn is_set_on_arrival(&self) -> bool {
        !self.is_given || self.follows_arrival
    }

    /// Returns the time of a transaction that is accepted now: unchanged if the sender's time counts.
    #[must_use]
    pub fn accepted_at(self, arrival: DateTime<Utc>) -> Self {
        match (self.is_given, self.follows_arrival) {
            (false, _) => Self::from_clock(arrival),
            (true, false) => self,
            (true, true) => Self { follows_arrival: false, ..self.happening_at(&Self::from_clock(arrival)) },
        }
    }

    /// Returns the time with its instant at most `tolerance_micros` from the clock, and whether it had to be moved.
    #[must_use]
    pub(crate) fn clamped(self, clock: DateTime<Utc>, tolerance_micros: i64) -> (Self, bool) {
        let clock = clock.timestamp_micros();
        let (first, last) = (clock.saturating_sub(tolerance_micros), clock.saturating_add(tolerance_micros));
        let nearest = self.micros.clamp(first, last);
        if nearest == self.micros {
            return (self, false);
        }
        (Self { micros: nearest, is_moved: true, ..self }, true)
    }

    /// Returns the stored form: the text, followed by the instant if it differs.
    pub(super) fn to_stored(&self) -> Cow<'_, str> {
        if !self.is_moved {
            return Cow::Borrowed(&self.text);
        }
        let instant = DateTime::from_timestamp_micros(self.micros).unwrap_or_default();
        Cow::Owned(format!("{}{LATER}{}", self.text, instant.to_rfc3339_opts(SecondsFormat::Micros, true)))
    }

    /// Parses the form that [`EventTime::to_stored`] writes for a differing instant. Returns `None` for any other text.
    pub(super) fn from_stored(text: &str) -> Option<Self> {
        let (text, instant) = text.split_once(LATER)?;
        Some(Self::parse(text)?.happening_at(&Self::parse(instant)?))
    }

    /// Restores a time from the values of its accessors.
    pub fn kept(micros: i64, text: &str, is_given: bool) -> Self {
        Self { micros, text: text.into(), is_given, is_moved: false, follows_arrival: false }
    }

    /// Returns whether the sender gave the time, as opposed to our clock.
    #[must_use]
    pub const fn is_given(&self) -> bool {
        self.is_given
    }

    /// Returns the instant in microseconds since 1970 UTC.
    #[must_use]
    pub const fn micros(&self) -> i64 {
        self.micros
    }

    /// Returns the original text.
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
    fn a_time_that_happened_later_than_it_says_is_kept_with_its_instant() {
        let parsed = EventTime::parse("2026-01-02T03:00:00+02:00").unwrap();
        assert_eq!(parsed.to_stored(), "2026-01-02T03:00:00+02:00");
        assert_eq!(EventTime::from_stored(&parsed.to_stored()), None);
        let later = parsed.happening_at(&EventTime::parse("2026-01-05T00:00:00.5Z").unwrap());
        let read = EventTime::from_stored(&later.to_stored()).unwrap();
        assert_eq!((read.micros(), read.as_str()), (later.micros(), "2026-01-02T03:00:00+02:00"));
    }

    #[test]
    fn one_instant_in_two_zones_is_one_time() {
        assert_eq!(EventTime::parse("2026-01-02T03:00:00+02:00"), EventTime::parse("2026-01-02T01:00:00Z"));
    }
}
