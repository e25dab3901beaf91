//! Named lists that are missing, as readiness shows them.
//!
//! A list that is missing is never taken for an empty list: it would let through what it stopped.

use std::collections::BTreeSet;

use crate::readiness::{Check, Checks};
use crate::registry::RuleSet;

/// Most names that a check shows.
const NAMES_SHOWN: usize = 5;

/// Reports to the check `lists`.
#[derive(Debug)]
pub struct ListGuard {
    missing: Check,
}

impl ListGuard {
    /// With all lists in force.
    #[must_use]
    pub fn new(checks: &Checks) -> Self {
        Self { missing: checks.add("lists") }
    }

    /// A rule set came into force: its rules may name lists that nobody set.
    pub(super) fn came_into_force(&self, rule_set: &RuleSet) {
        let names: BTreeSet<&str> =
            rule_set.rules.iter().flat_map(|rule| &rule.missing_lists).map(String::as_str).collect();
        if names.is_empty() {
            return self.missing.ok();
        }
        let shown: Vec<String> = names.iter().take(NAMES_SHOWN).map(|name| format!("`${name}`")).collect();
        let more = match names.len().saturating_sub(NAMES_SHOWN) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let n_rules = rule_set.lacking.len();
        let why = format!("nobody set {}{more}; {n_rules} rules that name them fail", shown.join(", "));
        self.missing.degraded(why);
    }
}
