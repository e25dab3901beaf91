//! The order in which transactions were accepted.

use std::fmt;

/// A sequence number: 1 for the first accepted transaction, strictly increasing, possibly with gaps.
///
/// A transaction sees exactly the accepted transactions with a lower number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sequence(pub u64);

impl Sequence {
    /// Returns the next number.
    #[must_use]
    pub const fn next(self) -> Self {
        Sequence(self.0 + 1)
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
