//! What a series has let go of, because no question could reach it.

/// Of a time that is over, something is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HistoryForgotten {
    /// Up to here, in microseconds since 1970 UTC.
    pub(super) through: i64,
    /// Whenever something went, the longest window asked about was at least this, in microseconds.
    pub(super) longest_window: i64,
}

impl HistoryForgotten {
    /// This and another.
    pub(super) fn and(self, other: Option<Self>) -> Self {
        other.map_or(self, |other| Self {
            through: self.through.max(other.through),
            longest_window: self.longest_window.min(other.longest_window),
        })
    }
}

const DAY_MICROS: i64 = 86_400_000_000;

/// The day of a time; the first and the last there is stand for all beyond.
pub(super) fn day_of(micros: i64) -> u16 {
    u16::try_from(micros.div_euclid(DAY_MICROS).max(0)).unwrap_or(u16::MAX)
}

/// The last microsecond of a day, and of all time for the last there is.
pub(super) fn last_micros_of(day: u16) -> i64 {
    if day == u16::MAX { i64::MAX } else { (i64::from(day) + 1) * DAY_MICROS - 1 }
}
