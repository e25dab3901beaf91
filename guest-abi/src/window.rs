//! Windows: the time range that an aggregate or a lookup covers.

use alloc::string::String;
use core::fmt::{self, Write as _};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::limits::WINDOW_SECONDS_MAX;

/// An ISO 8601 duration of whole days, hours, minutes and seconds, from one second to [`WINDOW_SECONDS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Window {
    seconds: u32,
}

impl Window {
    /// Creates a window of `seconds`. Returns `None` when that is zero or over [`WINDOW_SECONDS_MAX`].
    #[must_use]
    pub const fn from_seconds(seconds: u64) -> Option<Self> {
        if seconds == 0 || seconds > WINDOW_SECONDS_MAX as u64 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most WINDOW_SECONDS_MAX")]
        Some(Self { seconds: seconds as u32 })
    }

    /// Parses `P[nD][T[nH][nM][nS]]`: at least one part, upper case, whole numbers, parts in order.
    ///
    /// Returns `None` for any other text and for a duration that [`Window::from_seconds`] refuses.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('P')?;
        let (date, time) = match rest.split_once('T') {
            Some((_, "")) => return None,
            Some((date, time)) => (date, time),
            None => (rest, ""),
        };
        let mut total: u64 = 0;
        let mut n_parts = 0;
        for (part, units) in [(date, &[('D', 86_400)][..]), (time, &[('H', 3_600), ('M', 60), ('S', 1)][..])]
        {
            let mut part = part;
            for &(unit, seconds) in units {
                let n_digits = part.bytes().take_while(u8::is_ascii_digit).count();
                let (digits, after) = part.split_at_checked(n_digits)?;
                if let Some(after) = after.strip_prefix(unit) {
                    let count: u64 = digits.parse().ok()?;
                    total = total.checked_add(count.checked_mul(seconds)?)?;
                    n_parts += 1;
                    part = after;
                }
            }
            if !part.is_empty() {
                return None;
            }
        }
        if n_parts == 0 { None } else { Self::from_seconds(total) }
    }

    /// Returns the length in seconds.
    #[must_use]
    pub const fn seconds(self) -> u32 {
        self.seconds
    }

    /// Returns the length in microseconds, the unit of event time.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.seconds as i64 * 1_000_000
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, rest) = (self.seconds / 86_400, self.seconds % 86_400);
        f.write_char('P')?;
        if days > 0 {
            write!(f, "{days}D")?;
        }
        if rest > 0 {
            f.write_char('T')?;
        }
        for (count, unit) in [(rest / 3_600, 'H'), (rest % 3_600 / 60, 'M'), (rest % 60, 'S')] {
            if count > 0 {
                write!(f, "{count}{unit}")?;
            }
        }
        Ok(())
    }
}

impl Serialize for Window {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Window::parse(&text).ok_or_else(|| de::Error::custom("not a window"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[track_caller]
    fn check(text: &str, seconds: Option<u32>) {
        assert_eq!(Window::parse(text).map(Window::seconds), seconds, "{text}");
    }

    #[test]
    fn days_hours_minutes_and_seconds_add_up() {
        check("PT15M", Some(900));
        check("PT1H", Some(3_600));
        check("PT24H", Some(86_400));
        check("P1D", Some(86_400));
        check("P30D", Some(2_592_000));
        check("PT1H30M", Some(5_400));
        check("P1DT12H", Some(129_600));
        check("PT90S", Some(90));
        check("P0DT1S", Some(1));
        check("P400D", Some(400 * 86_400));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "P",
            "PT",
            "P1DT",
            "PT0S",
            "P0D",
            "1D",
            "P1W",
            "P1M",
            "P1Y",
            "PT1.5H",
            "P-1D",
            "-P1D",
            "pt1h",
            "PT1h",
            "P1",
            "PT1",
            "PTH",
            "PT1M1H",
            "PT1H1H",
            "P401D",
            "P999999D",
            "P99999999999999999999D",
            " PT1H",
            "PT1H ",
            "P1H",
            "PT1D",
            "P١D",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_window_is_written_in_its_largest_units_and_read_back() {
        for (text, written) in
            [("PT24H", "P1D"), ("PT90M", "PT1H30M"), ("PT61S", "PT1M1S"), ("P1DT1S", "P1DT1S")]
        {
            let window = Window::parse(text).unwrap();
            assert_eq!(window.to_string(), written);
            assert_eq!(Window::parse(written), Some(window));
        }
    }
}
