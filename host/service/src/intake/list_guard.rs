//! Named lists that are missing or held back, as readiness shows them.
//!
//! A list that is missing, broken or suddenly empty is never taken for an empty list: it would let through what it stopped.

use std::collections::BTreeSet;

use tollgate_engine::registry::RuleSet;

use crate::config::ListsShrink;
use crate::intake::FailedScript;
use crate::readiness::{ReadinessCheck, ReadinessChecks};

/// Most names that a check shows.
const NAMES_SHOWN: usize = 5;

/// How much of a change is held back for the sake of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HoldBack {
    /// All of it where a list is refused: entries may have moved from one list to another.
    #[default]
    Commit,
    /// The list alone.
    List,
    /// A list that is refused, and nothing else: somebody has looked at the change.
    Nothing,
}

/// Reports to the check `lists`, and knows what the operator decided.
#[derive(Debug)]
pub struct ListGuard {
    shrink: ListsShrink,
    missing: ReadinessCheck,
    commit: ReadinessCheck,
}

impl ListGuard {
    /// With all lists in force.
    #[must_use]
    pub fn new(checks: &ReadinessChecks, shrink: ListsShrink) -> Self {
        let [missing, commit] = ["lists"; 2].map(|name| checks.add(name));
        Self { shrink, missing, commit }
    }

    /// What becomes of a list file that loses more than half of its entries.
    pub(super) const fn shrink(&self) -> ListsShrink {
        self.shrink
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

    /// A commit was taken.
    pub(super) fn commit_is_taken(&self) {
        self.commit.ok();
    }

    /// A commit is held back whole.
    pub(super) fn commit_is_held_back(&self, commit: &str, failed: &[FailedScript]) {
        let first =
            failed.first().map(|first| format!("{}: {}", first.path, first.message)).unwrap_or_default();
        let short = commit.get(..12).unwrap_or(commit);
        self.commit.degraded(format!(
            "commit {short} of the repository is held back whole, since lists of it are refused: {first}"
        ));
    }
}
