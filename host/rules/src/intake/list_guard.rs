//! Readiness of named lists that are missing or held back.
//!
//! A missing, broken or suddenly empty list never counts as an empty list: that would let through what it stopped.

use std::collections::BTreeSet;

use tollgate_engine::registry::RuleSet;

use crate::intake::FailedScript;
use tollgate_telemetry::config::ListsShrink;
use tollgate_telemetry::readiness::{ReadinessCheck, ReadinessChecks};

const NAMES_SHOWN: usize = 5;

/// Part of a change that is held back because of a refused list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HoldBack {
    /// The whole commit: entries may have moved from one list to another.
    #[default]
    Commit,
    /// Only the refused list.
    List,
    /// Only a list that cannot be read. A list may lose entries, because the operator approved the change.
    Nothing,
}

/// Reports to the check `lists`, and holds the operator's setting for shrinking lists.
#[derive(Debug)]
pub struct ListGuard {
    shrink: ListsShrink,
    missing: ReadinessCheck,
    commit: ReadinessCheck,
}

impl ListGuard {
    /// Creates the guard; no list is missing or held back yet.
    #[must_use]
    pub fn new(checks: &ReadinessChecks, shrink: ListsShrink) -> Self {
        let [missing, commit] = ["lists"; 2].map(|name| checks.add(name));
        Self { shrink, missing, commit }
    }

    /// Returns the setting for a list file that loses more than half of its entries.
    pub(super) const fn shrink(&self) -> ListsShrink {
        self.shrink
    }

    /// Reports the missing lists that rules of a new rule set name.
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
        let why = format!(
            "these lists are not set: {}{more}; {n_rules} rules that name them fail",
            shown.join(", ")
        );
        self.missing.degraded(why);
    }

    pub(super) fn commit_is_taken(&self) {
        self.commit.ok();
    }

    pub(super) fn commit_is_held_back(&self, commit: &str, failed: &[FailedScript]) {
        let first =
            failed.first().map(|first| format!("{}: {}", first.path, first.message)).unwrap_or_default();
        let short = commit.get(..12).unwrap_or(commit);
        self.commit.degraded(format!(
            "commit {short} of the repository is held back, because some of its lists are refused: {first}"
        ));
    }
}
