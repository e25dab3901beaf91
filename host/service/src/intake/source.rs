//! The rules directory as a source of rules: whether it was read, and what is in force otherwise.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tollgate_engine::registry::RuleSet;

use crate::intake::start::RulesDirectory;
use crate::intake::tree::TreeKind;
use crate::readiness::{ReadinessCheck, ReadinessChecks};

/// Reports in the check `rules_directory` whether the directory can be read.
#[derive(Debug)]
pub(super) struct DirectorySource {
    check: ReadinessCheck,
    /// Since the start of the service.
    was_read: AtomicBool,
    is_optional: bool,
}

impl DirectorySource {
    pub(super) fn new(checks: &ReadinessChecks, directory: &RulesDirectory) -> Self {
        let check = checks.add("rules_directory");
        Self { check, was_read: AtomicBool::new(false), is_optional: directory.is_optional }
    }

    pub(super) fn mark_read(&self) {
        self.was_read.store(true, Ordering::Relaxed);
        self.check.ok();
    }

    /// Reports an error; `has_rules` says whether rules or lists of the directory are in force from an earlier read or
    /// run.
    pub(super) fn cannot_be_read(&self, directory: &Path, error: &io::Error, has_rules: bool) {
        let what = format!("the rules directory `{}` cannot be read: {error}", directory.display());
        if has_rules || self.was_read.load(Ordering::Relaxed) {
            self.check.degraded(format!("{what}; its last good rules and lists stay in force"));
        } else if self.is_optional && error.kind() == io::ErrorKind::NotFound {
            self.check
                .degraded(format!("{what}; SERVICE_SOURCES_OPTIONAL lets the service be ready without it"));
        } else {
            self.check.failing(format!(
                "{what}; set WATCH_SCRIPT_DIR to a readable directory, or SERVICE_SOURCES_OPTIONAL if it may be missing"
            ));
        }
    }
}

/// Returns whether rules or lists from this source are in force.
pub(super) fn is_in_force(place: TreeKind, rule_set: &RuleSet) -> bool {
    let mut of_rules = rule_set.rules.iter().map(|in_force| &in_force.rule.instruction.record.source);
    let mut of_lists = rule_set.lists.iter().map(|(_, list)| &list.source);
    of_rules.any(|source| TreeKind::of(source) == Some(place))
        || of_lists.any(|source| TreeKind::of(source) == Some(place))
}
