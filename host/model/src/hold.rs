//! Reasons to hold every new transaction for review, whatever its rules say. They are part of a version of the rule set,
//! so that a verdict can be derived again.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A reason to hold every new transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum HoldReason {
    /// The readiness check `rules` is failing.
    Rules = 1,
    /// The readiness check `lists` is failing.
    Lists = 2,
    /// The readiness check `rules_directory` is failing.
    RulesDirectory = 4,
    /// The readiness check `git` is failing.
    Git = 8,
    /// The clock was set back further than the service waits for it.
    Clock = 16,
}

/// A set of reasons.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<HoldReason>", into = "Vec<HoldReason>")]
pub struct HoldReasons(u8);

/// The reasons of one version of the rule set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holds {
    /// The reasons.
    pub reasons: HoldReasons,
    /// The arrival time at which the clock was followed back; `None` unless [`HoldReason::Clock`] is among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_fell: Option<DateTime<Utc>>,
}

impl HoldReason {
    /// All reasons, in the order in which they are named.
    pub const ALL: [Self; 5] = [Self::Rules, Self::Lists, Self::RulesDirectory, Self::Git, Self::Clock];

    /// Returns the name of the readiness check that states the reason.
    #[must_use]
    pub const fn check(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Lists => "lists",
            Self::RulesDirectory => "rules_directory",
            Self::Git => "git",
            Self::Clock => "clock",
        }
    }

    /// Returns the reason that holds while this readiness check is failing; `None` for a check that holds nothing.
    #[must_use]
    pub fn of_failing_check(name: &str) -> Option<Self> {
        let not_ready = Self::ALL.into_iter().filter(|reason| *reason != Self::Clock);
        not_ready.into_iter().find(|reason| reason.check() == name)
    }
}

impl HoldReasons {
    /// No reason.
    pub const NONE: Self = Self(0);

    /// Returns whether there is no reason.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether this reason is among them.
    #[must_use]
    pub const fn has(self, reason: HoldReason) -> bool {
        self.0 & reason as u8 != 0
    }

    /// Returns whether all of them are among the others.
    #[must_use]
    pub const fn is_within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    /// Returns the reasons with this one.
    #[must_use]
    pub const fn with(self, reason: HoldReason) -> Self {
        Self(self.0 | reason as u8)
    }

    /// Returns the reasons without this one.
    #[must_use]
    pub const fn without(self, reason: HoldReason) -> Self {
        Self(self.0 & !(reason as u8))
    }

    /// The reasons, in a fixed order.
    pub fn iter(self) -> impl Iterator<Item = HoldReason> {
        HoldReason::ALL.into_iter().filter(move |reason| self.has(*reason))
    }
}

impl From<Vec<HoldReason>> for HoldReasons {
    fn from(reasons: Vec<HoldReason>) -> Self {
        reasons.into_iter().fold(Self::NONE, |all, reason| all.with(reason))
    }
}

impl From<HoldReasons> for Vec<HoldReason> {
    fn from(reasons: HoldReasons) -> Self {
        reasons.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_stored_by_name() {
        let reasons = HoldReasons::NONE.with(HoldReason::Git).with(HoldReason::RulesDirectory);
        let holds = Holds { reasons, clock_fell: None };
        let text = serde_json::to_string(&holds).unwrap();
        assert_eq!(text, r#"{"reasons":["rules_directory","git"]}"#);
        assert_eq!(serde_json::from_str::<Holds>(&text).unwrap(), holds);
        assert!(reasons.has(HoldReason::Git) && !reasons.has(HoldReason::Rules));
        assert!(HoldReasons::NONE.is_within(reasons) && !reasons.is_within(HoldReasons::NONE));
        assert_eq!(reasons.without(HoldReason::Git).without(HoldReason::RulesDirectory), HoldReasons::NONE);
    }

    #[test]
    fn a_failing_check_is_a_reason_if_verdicts_depend_on_it() {
        assert_eq!(HoldReason::of_failing_check("lists"), Some(HoldReason::Lists));
        for other in ["memory", "disk", "clock", "commits"] {
            assert_eq!(HoldReason::of_failing_check(other), None, "{other}");
        }
    }
}
