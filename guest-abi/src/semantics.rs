//! Numbered versions of the language semantics.

use serde::{Deserialize, Serialize};

/// The version of the language semantics that a module or a rule set follows.
///
/// Every change of meaning gets the next number, so that stored verdicts can be reproduced. `docs/versions.md` defines
/// each version. Serialized as an integer; a manifest without one uses [`Semantics::V1`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub enum Semantics {
    /// Numbers compare as their nearest doubles.
    #[default]
    V1,
    /// Numbers compare exactly, dates are whole days, and a rule fails while a list that it names is not set.
    V2,
    /// As `V2`, and a `status` compares in lower-case ASCII letters.
    V3,
    /// As `V3`, and a rule pays for the time of everything that the host does for it.
    V4,
    /// As `V4`, a `currency` compares in lower-case ASCII letters, without blanks at its ends, there is the field
    /// `stage`, `distinct` counts a text and a number that it equals once, and an assessment names at most 16 rules.
    V5,
}

/// A number that identifies no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownSemantics(pub u32);

impl Semantics {
    /// The version used for newly compiled rules.
    pub const CURRENT: Self = Self::V5;

    /// Returns whether numbers compare exactly.
    #[must_use]
    pub const fn is_exact(self) -> bool {
        !self.is_first()
    }

    /// Returns whether a `status` compares without regard to ASCII case.
    #[must_use]
    pub const fn is_caseless_in_status(self) -> bool {
        matches!(self, Self::V3 | Self::V4 | Self::V5)
    }

    /// Returns whether a `currency` compares without regard to ASCII case and to blanks at its ends.
    #[must_use]
    pub const fn is_caseless_in_currency(self) -> bool {
        matches!(self, Self::V5)
    }

    /// Returns whether transactions have the field `stage`.
    #[must_use]
    pub const fn has_stage(self) -> bool {
        matches!(self, Self::V5)
    }

    /// Returns whether `distinct` counts a text and a number that it equals once.
    #[must_use]
    pub const fn merges_in_distinct(self) -> bool {
        matches!(self, Self::V5)
    }

    /// Returns whether an assessment names a bounded number of rules, with their reasons. This depends on the version of
    /// the rule set, not of the module.
    #[must_use]
    pub const fn bounds_reasons(self) -> bool {
        matches!(self, Self::V5)
    }

    /// Returns whether a module pays for its instance and its memory. This depends on the version of the rule set, not of the
    /// module.
    #[must_use]
    pub const fn prices_instances(self) -> bool {
        matches!(self, Self::V5)
    }

    /// Returns whether calls to the host cost what [`prices`](crate::prices) says. Before, a script paid for past
    /// transactions alone. This depends on the version of the rule set, not of the module.
    #[must_use]
    pub const fn has_prices(self) -> bool {
        matches!(self, Self::V4 | Self::V5)
    }

    /// Returns the first version under which values, comparisons and filters have the same meaning.
    #[must_use]
    pub const fn of_values(self) -> Self {
        match self {
            Self::V1 | Self::V2 | Self::V3 | Self::V5 => self,
            Self::V4 => Self::V3,
        }
    }

    /// Returns whether this is the first version, which is the default.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        matches!(self, Self::V1)
    }

    /// Returns the version number.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
            Self::V3 => 3,
            Self::V4 => 4,
            Self::V5 => 5,
        }
    }
}

impl From<Semantics> for u32 {
    fn from(semantics: Semantics) -> Self {
        semantics.number()
    }
}

impl TryFrom<u32> for Semantics {
    type Error = UnknownSemantics;

    fn try_from(number: u32) -> Result<Self, UnknownSemantics> {
        match number {
            1 => Ok(Self::V1),
            2 => Ok(Self::V2),
            3 => Ok(Self::V3),
            4 => Ok(Self::V4),
            5 => Ok(Self::V5),
            _ => Err(UnknownSemantics(number)),
        }
    }
}

impl core::fmt::Display for UnknownSemantics {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self(number) = self;
        write!(f, "unknown semantics {number}; this program supports 1 to {}", Semantics::CURRENT.number())
    }
}

impl core::error::Error for UnknownSemantics {}
