//! The treatment of entries that cannot be taken whole.

use tollgate_guest_abi::Verdict;

/// The treatment of a payment of which a part was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LeftOutTreatment {
    /// Its verdict is at least `review`.
    #[default]
    Review,
    /// It is judged as if nothing had been left out.
    Judge,
}

/// The verdict in the alert about an entry that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnreadableVerdict {
    /// `alert`
    Alert,
    /// `review`
    #[default]
    Review,
    /// `block`
    Block,
}

impl LeftOutTreatment {
    /// Returns the treatment of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "review" => Some(Self::Review),
            "judge" => Some(Self::Judge),
            _ => None,
        }
    }
}

impl UnreadableVerdict {
    /// Returns the verdict of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Alert, Self::Review, Self::Block].into_iter().find(|one| one.verdict().as_str() == name)
    }

    /// Returns the verdict.
    #[must_use]
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Alert => Verdict::Alert,
            Self::Review => Verdict::Review,
            Self::Block => Verdict::Block,
        }
    }
}
