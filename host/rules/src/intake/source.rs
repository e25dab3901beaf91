//! The rules directory as a source of rules: whether it was read, and what is in force otherwise.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, SecondsFormat, Utc};
use parking_lot::Mutex;
use tollgate_engine::registry::RuleSet;
use tollgate_model::instruction::{InstructionSource, RuleContent};

use crate::intake::rule_files::{GoodContents, PendingFile, Settling};
use crate::intake::tree::TreeKind;
use tollgate_telemetry::readiness::{ReadinessCheck, ReadinessChecks};

/// Location of the rule files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesDirectory {
    /// Path of the directory.
    pub path: PathBuf,
    /// Whether this is the default path, which may be missing without a warning.
    pub may_be_missing: bool,
    /// Whether the operator declared the directory optional.
    pub is_optional: bool,
    /// Whether to request file system notices; otherwise the directory is polled.
    pub asks_for_notices: bool,
}

impl RulesDirectory {
    /// Creates the default: the directory may be missing, and is followed once it exists.
    #[must_use]
    pub const fn by_default(path: PathBuf) -> Self {
        Self { path, may_be_missing: true, is_optional: false, asks_for_notices: true }
    }
}

/// Reports in the check `rules_directory` whether the directory can be read.
#[derive(Debug)]
pub(super) struct DirectorySource {
    check: ReadinessCheck,
    /// Since the start of the service.
    was_read: AtomicBool,
    is_optional: bool,
    /// The files that are not in force yet.
    pub(super) settling: Arc<Mutex<Settling>>,
}

/// Maximum number of files that are named.
const FILES_NAMED_MAX: usize = 3;

impl DirectorySource {
    pub(super) fn new(checks: &ReadinessChecks, directory: &RulesDirectory) -> Self {
        let check = checks.add("rules_directory");
        Self {
            check,
            was_read: AtomicBool::new(false),
            is_optional: directory.is_optional,
            settling: Arc::default(),
        }
    }

    /// Reports a look at the directory, of which some files are still being written.
    pub(super) fn note_read(&self, pending: &[PendingFile], good: &dyn GoodContents) {
        let late: Vec<&PendingFile> = pending.iter().filter(|file| file.is_late).collect();
        let new: Vec<&PendingFile> = pending.iter().filter(|file| !good.has_path(&file.path)).collect();
        // Without a good version there is nothing that could stay in force.
        if !self.was_read.load(Ordering::Relaxed) && !new.is_empty() {
            self.check.failing(format!("being written, and never read: {}", named(&new)));
        } else if let Some(first) = late.iter().map(|file| file.since).min() {
            self.was_read.store(true, Ordering::Relaxed);
            let since = DateTime::<Utc>::from(first).to_rfc3339_opts(SecondsFormat::Secs, true);
            self.check.degraded(format!(
                "being written since {since}: {}; the last good version stays in force; write to another name and rename the file",
                named(&late)
            ));
        } else {
            self.mark_read();
        }
    }

    fn mark_read(&self) {
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

fn named(files: &[&PendingFile]) -> String {
    let named: Vec<String> =
        files.iter().take(FILES_NAMED_MAX).map(|file| format!("`{}`", file.path)).collect();
    let more = match files.len().saturating_sub(FILES_NAMED_MAX) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{}{more}", named.join(", "))
}

impl GoodContents for RuleSet {
    fn has_rule(&self, path: &str, content: &RuleContent) -> bool {
        let mut records = self.rules.iter().map(|in_force| &in_force.rule.instruction.record);
        records.any(|record| is_file(&record.source, path) && record.is_written_as(content))
    }

    fn has_list(&self, path: &str, text: &str) -> bool {
        self.lists.iter().any(|(_, list)| is_file(&list.source, path) && &*list.text == text)
    }

    fn has_path(&self, path: &str) -> bool {
        let mut rules = self.rules.iter().map(|in_force| &in_force.rule.instruction.record.source);
        rules.any(|source| is_file(source, path))
            || self.lists.iter().any(|(_, list)| is_file(&list.source, path))
    }
}

/// Returns whether this is the file at a path of the rules directory.
pub(super) fn is_file(source: &InstructionSource, path: &str) -> bool {
    matches!(source, InstructionSource::File { path: own } if own == path)
}

/// Returns whether rules or lists from this source are in force.
pub(super) fn is_in_force(tree_kind: TreeKind, rule_set: &RuleSet) -> bool {
    let mut of_rules = rule_set.rules.iter().map(|in_force| &in_force.rule.instruction.record.source);
    let mut of_lists = rule_set.lists.iter().map(|(_, list)| &list.source);
    of_rules.any(|source| TreeKind::of_source(source) == Some(tree_kind))
        || of_lists.any(|source| TreeKind::of_source(source) == Some(tree_kind))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use tollgate_model::clock::SystemClock;

    use super::*;
    use tollgate_telemetry::metrics::Metrics;

    /// A directory of which every file, or none, was good before.
    struct Before(bool);

    impl GoodContents for Before {
        fn has_rule(&self, _: &str, _: &RuleContent) -> bool {
            self.0
        }

        fn has_list(&self, _: &str, _: &str) -> bool {
            self.0
        }

        fn has_path(&self, _: &str) -> bool {
            self.0
        }
    }

    #[test]
    fn a_new_file_that_is_being_written_keeps_the_service_from_being_ready() {
        let checks = ReadinessChecks::new(Arc::new(SystemClock), Arc::new(Metrics::new()));
        let source = DirectorySource::new(&checks, &RulesDirectory::by_default(PathBuf::from("rules")));
        let path = "lists/a.txt".to_owned();
        let young = PendingFile { path, since: SystemTime::UNIX_EPOCH, is_late: false };
        let late = PendingFile { is_late: true, ..young.clone() };
        let text = || checks.summaries().get("rules_directory").unwrap().text.clone();
        let check = |pending: &[&PendingFile], was_good: bool, start: &str| {
            let pending: Vec<PendingFile> = pending.iter().copied().cloned().collect();
            source.note_read(&pending, &Before(was_good));
            assert!(text().starts_with(start), "no `{start}` in `{}`", text());
        };
        check(&[&young], false, "failing: being written, and never read: `lists/a.txt`");
        check(&[&late], false, "failing: being written, and never read: `lists/a.txt`");
        check(&[], false, "ok");
        check(&[&young], false, "ok");
        check(
            &[&late],
            false,
            "degraded: being written since 1970-01-01T00:00:00Z: `lists/a.txt`; the last good version",
        );
        check(&[&young], true, "ok");
    }
}
