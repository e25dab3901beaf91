//! Takes a tree: one swap for all its files.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use tollgate_engine::registry::{BoundRule, RuleSet};
use tollgate_model::instruction::{ContentDigest, InstructionId, RuleContent};

use crate::intake::change::{self, rules_of};
use crate::intake::new_sources::RefusedFiles;
use crate::intake::required::n_in_force;
use crate::intake::tree::{
    CompileThreads, CurrentRules, FileFailure, KnownInstruction, RemovedFiles, TreeChange, TreeKind,
    TreeOrigin, assemble,
};
use crate::intake::{
    FailedScript, HoldBack, IntakeDeps, IntakeError, RuleFileCounts, RulePipeline, RuleTree, TreeReport,
    gathering, granting, off_the_executor,
};

/// Refused files that `/readyz` names, and the length of each error there.
const FILES_NAMED_MAX: usize = 3;
const ERROR_BYTES_MAX: usize = 160;

impl RulePipeline {
    /// Takes a tree, and in it the file at the path `released` even if its instruction was removed.
    pub(super) async fn take_tree(
        self: Arc<Self>,
        tree: RuleTree,
        hold_back: HoldBack,
        released: Option<String>,
    ) -> Result<TreeReport, IntakeError> {
        self.ignored.note(&tree);
        let pipeline = Arc::clone(&self);
        let failed = self.failed.lock().get(&tree.origin.kind()).cloned().unwrap_or_default();
        let refused: HashSet<String> = failed.into_iter().map(|failed| failed.path).collect();
        let (tree, _gathered) = off_the_executor(move || {
            compile_ahead(&pipeline.deps, &tree);
            let gathered = gathering::gather(&pipeline.deps, &tree, &refused);
            Ok((tree, gathered))
        })
        .await?;
        let mut state = self.state.lock().await;
        let current = self.deps.registry.current();
        let mut set_aside = state.set_aside.get(&tree.origin.kind()).cloned().unwrap_or_default();
        set_aside.retain(|path, _| Some(path) != released.as_ref());
        let refused = self.deps.sources.refused_files(tree.origin.kind());
        let current_rules = CurrentRules { hold_back, refused, ..current_rules(&current, state.last_id) };
        let pipeline = Arc::clone(&self);
        let origin = tree.origin.clone();
        let base = Arc::clone(&current);
        let assembled = off_the_executor(move || {
            let taken = assemble(&pipeline.deps, &pipeline.activating, current_rules, &tree, &set_aside)?;
            let rules = taken.change.rules_after(&base);
            let set_aside = still_aside(set_aside, &tree, &rules);
            Ok((taken, tree, set_aside, n_in_force(&rules)))
        });
        let (taken, tree, set_aside, n_after) =
            assembled.await.inspect_err(|error| self.note_held_back(&origin, error))?;
        let TreeChange { change, last_id, mut report, failures, shown } = taken;
        self.deps.required.judge(tree.origin.kind(), n_in_force(rules_of(&current)), n_after)?;
        report.version = current.version;
        if report.is_change() {
            report.version = change::bring_into_force(&self.deps, change).await?;
            log(&tree, &report, failures.len());
        }
        drop(shown);
        state.last_id = last_id;
        if tree.origin.kind() == TreeKind::Git {
            self.removals.keep_only(&self.deps.store, &set_aside).await;
        }
        state.set_aside.insert(tree.origin.kind(), set_aside);
        self.remember(&tree.origin, &failures);
        if tree.origin.kind() == TreeKind::Git {
            self.deps.lists.commit_is_taken();
        }
        report.failed = failures.into_iter().map(|failure| failure.script).collect();
        Ok(report)
    }

    /// Reports a commit that is held back because of its refused lists.
    fn note_held_back(&self, origin: &TreeOrigin, error: &IntakeError) {
        if let (TreeOrigin::Git { commit }, IntakeError::ListsRefused(failed)) = (origin, error) {
            let failures: Vec<FileFailure> = failed.iter().cloned().map(FileFailure::of_list).collect();
            self.remember(origin, &failures);
            self.deps.lists.commit_is_held_back(commit, failed);
        }
    }

    /// Records the failures of a source, and logs new ones.
    pub(super) fn remember(&self, origin: &TreeOrigin, failures: &[FileFailure]) {
        let scripts = failures.iter().map(|failure| failure.script.clone()).collect();
        let mut failed = self.failed.lock();
        let before = failed.insert(origin.kind(), scripts).unwrap_or_default();
        let n_failed = failed.values().map(Vec::len).sum();
        let named = failed.values().flatten().take(FILES_NAMED_MAX).map(named_with_error);
        let named = named.collect::<Vec<_>>().join("; ");
        let current = self.deps.registry.current();
        let mut kinds = failed.iter().filter(|(_, files)| !files.is_empty()).map(|(kind, _)| *kind);
        let why = kinds.find_map(|kind| self.deps.sources.why_not_ready(kind, &current));
        drop(failed);
        self.deps.metrics.rule_files_refused(n_failed);
        let more = if n_failed > FILES_NAMED_MAX { "; …" } else { "" };
        let files = format!(
            "{n_failed} rule files or lists are not in force with their present content: {named}{more}"
        );
        match (n_failed, why) {
            (0, _) => self.refused_files.ok(),
            (_, Some(why)) => self.refused_files.failing(format!("{why}; {files}")),
            (_, None) => self.refused_files.degraded(files),
        }
        for failure in failures.iter().filter(|failure| !before.contains(&failure.script)) {
            failure.log();
        }
        for cured in before.iter().filter(|old| failures.iter().all(|new| new.script.path != old.path)) {
            tracing::info!(path = cured.path, "a rule file is no longer refused");
        }
    }
}

/// Compiles the modules of a tree before the lock is taken. The later admission finds the result in the cache.
fn compile_ahead(deps: &IntakeDeps, tree: &RuleTree) {
    let current = deps.registry.current();
    let in_force: HashSet<ContentDigest> = rules_of(&current).map(|rule| rule.instruction.digest).collect();
    for file in &tree.rules {
        let Ok(RuleContent::Module(module)) = &file.content else { continue };
        if !in_force.contains(&ContentDigest::of_bytes(module)) {
            let grant = granting::budget(deps, &tree.origin.source(&file.path)).unwrap_or_default();
            // Admission is repeated later and reports the result then.
            deps.artifacts.admit(module, grant).ok();
        }
    }
}

fn current_rules(current: &Arc<RuleSet>, last_id: InstructionId) -> CurrentRules {
    CurrentRules {
        base: Arc::clone(current),
        rules: rules_of(current).map(|rule| KnownInstruction::InForce(Arc::clone(rule))).collect(),
        last_id,
        hold_back: HoldBack::default(),
        refused: RefusedFiles::Keep,
        pace: CompileThreads::HalfOfThem,
    }
}

/// Returns the removed files that remain removed: they exist, their content is unchanged, and no rule has their path.
fn still_aside(set_aside: RemovedFiles, tree: &RuleTree, rules: &[Arc<BoundRule>]) -> RemovedFiles {
    if set_aside.is_empty() {
        return set_aside;
    }
    let digest_of = |content: &RuleContent| ContentDigest::of_bytes(content.bytes());
    let digests: BTreeMap<&str, Option<ContentDigest>> = tree
        .rules
        .iter()
        .map(|file| (file.path.as_str(), file.content.as_ref().ok().map(digest_of)))
        .collect();
    let has_rule = |path: &str| {
        let mut sources = rules.iter().map(|rule| &rule.instruction.record.source);
        sources.any(|source| {
            TreeKind::of_source(source) == Some(tree.origin.kind()) && source.path() == Some(path)
        })
    };
    let stays = |path: &String, digest: &ContentDigest| match digests.get(path.as_str()) {
        _ if has_rule(path) => false,
        // An unreadable file may be unchanged.
        Some(None) => true,
        None if tree.hides(path) => true,
        Some(Some(now)) => now == digest,
        None => false,
    };
    set_aside.into_iter().filter(|(path, digest)| stays(path, digest)).collect()
}

fn log(tree: &RuleTree, report: &TreeReport, n_failed: usize) {
    let RuleFileCounts { n_scripts, n_modules, n_lists, .. } = RuleFileCounts::of_tree(tree);
    let commit = match &tree.origin {
        TreeOrigin::Directory => None,
        TreeOrigin::Git { commit } => Some(commit.as_str()),
    };
    tracing::info!(
        version = report.version,
        commit,
        scripts = n_scripts,
        modules = n_modules,
        lists = n_lists,
        loaded = report.loaded.len(),
        changed = report.changed.len(),
        removed = report.removed.len(),
        unchanged = report.n_unchanged,
        failed = n_failed,
        "rule files taken"
    );
}

impl TreeReport {
    /// Returns whether the rules or lists in force changed.
    #[must_use]
    pub fn is_change(&self) -> bool {
        !(self.loaded.is_empty() && self.changed.is_empty() && self.removed.is_empty())
    }
}

/// Returns the path of a refused file, and the beginning of its error.
fn named_with_error(failed: &FailedScript) -> String {
    let FailedScript { path, line, message, .. } = failed;
    let line = line.map(|line| format!(" line {line}")).unwrap_or_default();
    let end = message.floor_char_boundary(ERROR_BYTES_MAX);
    format!("`{path}`{line}: {}", message.get(..end).unwrap_or_default())
}
