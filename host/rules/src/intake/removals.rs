//! Rules of the repository that were removed over the API under a policy.
//!
//! Each stays out of force, also over restarts, until its removal is pushed, it is released, or its file changes at the
//! remote. The check `git` names it meanwhile. Without a policy a removal lasts until the next start.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tollgate_model::instruction::{
    ContentDigest, Instruction, InstructionId, InstructionRecord, InstructionSource, RuleContent,
};
use tollgate_store::{Store, StoreError, UnpushedRemoval};

use crate::intake::tree::{RemovedFiles, TreeKind};
use crate::intake::{HoldBack, Intake, IntakeError, RulePipeline, RuleTree, TreeReport, run_detached};
use tollgate_telemetry::logs::ErrorChain;
use tollgate_telemetry::readiness::{ReadinessCheck, ReadinessChecks};

/// Removed rules that the check names.
const NAMED_MAX: usize = 3;

/// The removed rules, by path.
#[derive(Debug)]
pub(super) struct UnpushedRemovals {
    checks: ReadinessChecks,
    /// Added with the first removal, so that it is absent without a repository.
    check: OnceLock<ReadinessCheck>,
    all: Mutex<BTreeMap<String, UnpushedRemoval>>,
}

impl UnpushedRemovals {
    pub(super) fn new(checks: &ReadinessChecks) -> Self {
        Self { checks: checks.clone(), check: OnceLock::new(), all: Mutex::default() }
    }

    /// Notes a removal that is stored and in force.
    pub(super) fn add(&self, removal: UnpushedRemoval) {
        self.all.lock().insert(removal.path.clone(), removal);
        self.report();
    }

    /// Forgets the removals of all other files.
    pub(super) async fn keep_only(&self, store: &Store, set_aside: &RemovedFiles) {
        let ended: Vec<UnpushedRemoval> = self
            .all
            .lock()
            .extract_if(.., |path, _| !set_aside.contains_key(path))
            .map(|(_, one)| one)
            .collect();
        for removal in &ended {
            tracing::info!(
                path = removal.path,
                rule.name = removal.name,
                "the removal of a rule is pushed, or has ended"
            );
            delete_unpushed_removal(store, &removal.path).await;
        }
        if !ended.is_empty() {
            self.report();
        }
    }

    fn report(&self) {
        let all = self.all.lock();
        let check = self.check.get_or_init(|| self.checks.add("git"));
        if all.is_empty() {
            return check.ok();
        }
        let named: Vec<String> = all
            .values()
            .take(NAMED_MAX)
            .map(|one| format!("`{}` (instruction {}, `{}`)", one.name, one.id, one.path))
            .collect();
        let more = match all.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        check.degraded(format!(
            "removed over the API, but not from the remote: {}{more}; push the removal, or release the rule",
            named.join(", ")
        ));
    }
}

/// Forgets a stored removal. The next start forgets it otherwise.
async fn delete_unpushed_removal(store: &Store, path: &str) {
    if let Err(error) = store.forget_unpushed_removal(path).await {
        tracing::error!(path, error = %ErrorChain(&error), "the removal of a rule has ended, and is still stored");
    }
}

impl Intake {
    /// Returns the rules of the repository that were removed over the API and whose file the remote still has.
    pub(crate) fn unpushed_removals(&self) -> Vec<UnpushedRemoval> {
        self.pipeline.removals.all.lock().values().cloned().collect()
    }

    /// Returns a removed rule of the repository that may be brought back.
    ///
    /// # Errors
    /// [`IntakeError::NotFound`], [`IntakeError::NotGranted`], and [`IntakeError::NameTaken`] if another rule has its name.
    pub(crate) fn removal_to_release(&self, id: InstructionId) -> Result<UnpushedRemoval, IntakeError> {
        let removal = self.unpushed_removals().into_iter().find(|removal| removal.id == id);
        let removal = removal.ok_or(IntakeError::NotFound(id))?;
        self.pipeline.deps.policy.check_change_of_repository()?;
        let current = self.pipeline.deps.registry.current();
        let mut records = current.rules.iter().map(|in_force| &in_force.rule.instruction.record);
        match records.find(|record| record.name == removal.name) {
            None => Ok(removal),
            Some(holder) => Err(IntakeError::NameTaken {
                name: removal.name,
                holder: holder.id,
                source_of_holder: holder.source.clone(),
            }),
        }
    }

    /// Takes the tree of a commit with the removed rule at this path, and returns its instruction, which has a new id.
    ///
    /// # Errors
    /// See [`Intake::take_tree`], and [`IntakeError::StillRefused`] if the file is refused.
    pub(crate) async fn take_tree_releasing(
        &self,
        tree: RuleTree,
        path: String,
    ) -> Result<(TreeReport, Arc<Instruction>), IntakeError> {
        let (pipeline, released) = (Arc::clone(&self.pipeline), path.clone());
        let taking = async move { pipeline.take_tree(tree, HoldBack::default(), Some(released)).await };
        let report = run_detached(taking).await?;
        let current = self.pipeline.deps.registry.current();
        let mut instructions = current.rules.iter().map(|in_force| &in_force.rule.instruction);
        match instructions.find(|instruction| is_of_repository(&instruction.record, &path)) {
            Some(instruction) => Ok((report, Arc::clone(instruction))),
            None => {
                let failed = report.failed.into_iter().find(|failed| failed.path == path);
                let why = failed.map(|failed| failed.message).unwrap_or_default();
                Err(IntakeError::StillRefused { path, why })
            }
        }
    }
}

impl RulePipeline {
    /// Stores the removal of a rule if it is to last, before it takes effect.
    ///
    /// # Errors
    /// [`IntakeError::Unavailable`].
    pub(super) async fn note_removal(
        &self,
        record: &InstructionRecord,
    ) -> Result<Option<UnpushedRemoval>, IntakeError> {
        let InstructionSource::Git { path, .. } = &record.source else { return Ok(None) };
        if !self.deps.policy.is_set() || record.is_refused_file() {
            return Ok(None);
        }
        let content = match &record.script {
            Some(script) => RuleContent::Script(script.clone()),
            None => RuleContent::Module(record.module.clone()),
        };
        let (id, name) = (record.id, record.name.clone());
        let removal = UnpushedRemoval { path: path.clone(), id, name, content };
        self.deps.store.note_unpushed_removal(&removal).await.map_err(|error| {
            tracing::error!(error = %ErrorChain(&error), "the removal of a rule could not be stored");
            IntakeError::Unavailable
        })?;
        Ok(Some(removal))
    }

    /// Forgets a stored removal that did not take effect.
    pub(super) async fn take_removal_back(&self, removal: Option<&UnpushedRemoval>) {
        if let Some(removal) = removal {
            delete_unpushed_removal(&self.deps.store, &removal.path).await;
        }
    }

    /// Resumes the removals of earlier runs. One that the policy grants no longer has ended, and so has one whose rule is in
    /// force.
    pub(super) async fn resume_removals(&self) -> Result<(), StoreError> {
        let current = self.deps.registry.current();
        let is_granted = self.deps.policy.check_change_of_repository().is_ok();
        let mut set_aside = RemovedFiles::default();
        for removal in self.deps.store.unpushed_removals().await? {
            let mut records = current.rules.iter().map(|in_force| &in_force.rule.instruction.record);
            if !is_granted || records.any(|record| is_of_repository(record, &removal.path)) {
                tracing::warn!(
                    path = removal.path,
                    rule.name = removal.name,
                    "the removal of a rule has ended"
                );
                delete_unpushed_removal(&self.deps.store, &removal.path).await;
                continue;
            }
            set_aside.insert(removal.path.clone(), ContentDigest::of_bytes(removal.content.bytes()));
            self.removals.add(removal);
        }
        self.state.lock().await.set_aside.insert(TreeKind::Git, set_aside);
        Ok(())
    }
}

/// Returns whether an instruction comes from the file at a path of the repository.
fn is_of_repository(record: &InstructionRecord, path: &str) -> bool {
    matches!(&record.source, InstructionSource::Git { path: own, .. } if own == path)
}
