//! The numbered meanings of the rule language.

use serde::{Deserialize, Serialize};

/// Which meaning of the language a module, and a version of a rule set, follows.
///
/// A change of meaning takes the next number, so that a stored verdict can be derived again as it was given. What each number
/// means is said in `docs/semantics.md`. Written as an integer; a manifest without one has [`Semantics::V1`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub enum Semantics {
    /// Numbers compare as the doubles nearest to them.
    #[default]
    V1,
    /// Numbers compare exactly.
    V2,
    /// A `status` compares in small ASCII letters.
    V3,
}

/// A number that no meaning has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownSemantics(pub u32);

impl Semantics {
    /// The meaning of rules that are compiled now.
    pub const CURRENT: Self = Self::V3;

    /// Whether numbers compare exactly.
    #[must_use]
    pub const fn is_exact(self) -> bool {
        !self.is_first()
    }

    /// Whether a `status` equals every text that differs from it in the case of ASCII letters alone.
    #[must_use]
    pub const fn is_caseless_in_status(self) -> bool {
        matches!(self, Self::V3)
    }

    /// Whether it is the first one, which is what a missing number means.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        matches!(self, Self::V1)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
            Self::V3 => 3,
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
            _ => Err(UnknownSemantics(number)),
        }
    }
}

impl core::fmt::Display for UnknownSemantics {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self(number) = self;
        write!(f, "semantics {number} is not known; this program knows 1 to {}", Semantics::CURRENT.number())
    }
}

impl core::error::Error for UnknownSemantics {}
