//! Reports files that were meant as rules or lists, and that nothing reads because of their names.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tollgate_model::instruction::ignored::IgnoredFiles;

use crate::intake::RuleTree;
use crate::intake::tree::TreeKind;
use tollgate_telemetry::readiness::{ReadinessCheck, ReadinessChecks};

/// The ignored files of each source, shown by the check `ignored`.
#[derive(Debug)]
pub(super) struct IgnoredReport {
    check: ReadinessCheck,
    files: Mutex<BTreeMap<TreeKind, IgnoredFiles>>,
}

impl IgnoredReport {
    pub(super) fn new(checks: &ReadinessChecks) -> Self {
        Self { check: checks.add("ignored"), files: Mutex::default() }
    }

    /// Reports the ignored files of a source. Only a change is logged.
    pub(super) fn note(&self, tree: &RuleTree) {
        let (source, Some(now)) = (tree.origin.kind(), &tree.ignored) else { return };
        let mut files = self.files.lock();
        let before = files.insert(source, now.clone()).unwrap_or_default();
        if before == *now {
            return;
        }
        let words = files.iter().filter(|(_, files)| !files.is_empty());
        let words: Vec<String> = words.map(|(source, files)| format!("in {source}, {files}")).collect();
        self.check.ok_with(words.join("; "));
        drop(files);
        if now.n_files() > 0 {
            tracing::warn!(%source, files = now.n_files(), ignored = %now, "files that look like rules or lists are ignored");
        } else if before.n_files() > 0 {
            tracing::info!(%source, "no file that looks like a rule or list is ignored any more");
        }
    }
}
