//! The range of event times from which a series has discarded transactions.

/// A range of event times from which transactions may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HistoryForgotten {
    /// End of the range, in microseconds since 1970 UTC.
    pub(super) through: i64,
    /// Longest query window at the time of the discard, in microseconds; the shortest of these after several discards.
    pub(super) longest_window: i64,
}

impl HistoryForgotten {
    pub(super) fn and(self, other: Option<Self>) -> Self {
        other.map_or(self, |other| Self {
            through: self.through.max(other.through),
            longest_window: self.longest_window.min(other.longest_window),
        })
    }
}

const DAY_MICROS: i64 = 86_400_000_000;

/// Returns the day of a time; times out of range map to the first or the last day.
pub(super) fn day_of(micros: i64) -> u16 {
    u16::try_from(micros.div_euclid(DAY_MICROS).max(0)).unwrap_or(u16::MAX)
}

/// Returns the last microsecond of a day; `i64::MAX` for the last day.
pub(super) fn last_micros_of(day: u16) -> i64 {
    if day == u16::MAX { i64::MAX } else { (i64::from(day) + 1) * DAY_MICROS - 1 }
}
