//! What a series has let go of, because no question could reach it.

/// Of a time that is over, something is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forgotten {
    /// Up to here, in microseconds since 1970 UTC.
    pub(super) through: i64,
    /// Whenever something went, the longest window asked about was at least this, in microseconds.
    pub(super) longest_window: i64,
}

impl Forgotten {
    /// This and another.
    pub(super) fn and(self, other: Option<Self>) -> Self {
        other.map_or(self, |other| Self {
            through: self.through.max(other.through),
            longest_window: self.longest_window.min(other.longest_window),
        })
    }
}
