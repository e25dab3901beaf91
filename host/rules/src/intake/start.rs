//! First rule set of a run: combines the rules stored by the last run with the files in the rules directory.
//!
//! Unreadable files never count as removed: a rule lost by mistake would let through what it stopped.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tollgate_engine::registry::{RuleInForce, RuleSet, SERVICE_VERSION};
use tollgate_model::instruction::{
    ContentDigest, InstructionId, InstructionRecord, InstructionSource, RuleContent,
};
use tollgate_store::{ListRecord, RuleSetIdentity, StoreError};

use crate::intake::change::{self, RuleChange};
use crate::intake::new_sources::RefusedFiles;
use crate::intake::required::n_in_force;
use crate::intake::rule_files::{GoodContents, survey_settled};
use crate::intake::source::{RulesDirectory, is_file};
use crate::intake::tree::{
    CompileThreads, CurrentRules, KnownInstruction, TreeChange, TreeKind, TreeOrigin, assemble,
};
use crate::intake::{
    HoldBack, Intake, IntakeDeps, IntakeError, RemovedFiles, RuleFileCounts, RulePipeline, RuleTree, Survey,
    list_texts, off_the_executor,
};

/// Reason why the service cannot start with its rules.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The intake could not bring the rule set into force.
    #[error(transparent)]
    Intake(#[from] IntakeError),
}

struct StoredRules {
    instructions: Vec<InstructionRecord>,
    lists: Vec<ListRecord>,
    last_id: i64,
    last_set: Option<RuleSetIdentity>,
}

impl Intake {
    /// Brings every stored instruction and every rule file into force. A file that does not compile keeps its last good
    /// version, if any. It is reported and does not stop the others.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(deps: IntakeDeps, rules: &RulesDirectory) -> Result<Self, StartError> {
        let stored = StoredRules {
            instructions: deps.store.instructions().await?,
            lists: deps.store.lists().await?,
            last_id: deps.store.last_instruction_id().await?,
            last_set: deps.store.last_rule_set().await?,
        };
        deps.sources.read(&deps.store).await?;
        if let Some(last) = &stored.last_set {
            deps.holds.resume(&last.holds);
        }
        let directory = rules.clone();
        let pipeline = Arc::new(RulePipeline::new(deps, rules));
        let assembling = Arc::clone(&pipeline);
        let assembled = tokio::task::spawn_blocking(move || {
            let tree = assembling.read_directory(&directory, &stored);
            let base = Arc::new(stored.base());
            let taken = assembling.assemble_first(&stored, &base, &tree)?;
            Ok::<_, StartError>((taken, base, stored, tree))
        });
        let (taken, base, stored, tree) = assembled.await.map_err(|_| IntakeError::Unavailable)??;
        let TreeChange { change, last_id, failures, shown, .. } = taken;
        put_first_set_in_force(&pipeline.deps, change, base, &stored).await?;
        drop(shown);
        let in_force = pipeline.deps.registry.current();
        let of_rules = in_force.rules.iter().map(|rule| rule.rule.instruction.digest);
        let of_bodies = in_force.bodies.iter().map(|body| body.body.bound.module.digest);
        let digests: Vec<_> = of_rules.chain(of_bodies).collect();
        pipeline.deps.artifacts.retain(&digests);
        if stored.is_of_first_semantics() {
            list_texts::warn_of_other_readings(&in_force.lists);
        }
        pipeline.state.lock().await.last_id = last_id;
        pipeline.resume_removals().await?;
        pipeline.remember(&TreeOrigin::Directory, &failures);
        pipeline.ignored.note(&tree);
        Ok(Self { pipeline })
    }
}

fn current_rules(stored: &StoredRules, base: &Arc<RuleSet>) -> CurrentRules {
    CurrentRules {
        base: Arc::clone(base),
        rules: stored.instructions.iter().cloned().map(Arc::new).map(KnownInstruction::Stored).collect(),
        last_id: InstructionId(stored.last_id),
        pace: CompileThreads::AllCores,
        hold_back: HoldBack::default(),
        refused: RefusedFiles::Keep,
    }
}

impl StoredRules {
    /// Returns the last version without its rules, which are yet to be bound.
    fn base(&self) -> RuleSet {
        let lists = list_texts::stored_lists(&self.lists, self.is_of_first_semantics());
        let version = self.last_set.as_ref().map_or(0, |set| set.version);
        let commit = self.last_set.as_ref().and_then(|set| set.commit.clone());
        RuleSet::new(version, Vec::new(), lists).at_commit(commit)
    }

    /// Returns whether the last run interpreted lists by the first semantics.
    fn is_of_first_semantics(&self) -> bool {
        self.last_set.as_ref().is_some_and(|set| set.semantics.is_first())
    }
}

impl RulePipeline {
    /// Assembles the first rule set. If the directory would leave fewer rules than before and than required, its
    /// changes are ignored.
    fn assemble_first(
        &self,
        stored: &StoredRules,
        base: &Arc<RuleSet>,
        tree: &RuleTree,
    ) -> Result<TreeChange, IntakeError> {
        let assemble = |tree| {
            let refused = self.deps.sources.refused_files(TreeKind::Directory);
            let current_rules = CurrentRules { refused, ..current_rules(stored, base) };
            assemble(&self.deps, &self.activating, current_rules, tree, &RemovedFiles::default())
        };
        let taken = assemble(tree)?;
        let n_before = stored.instructions.iter().filter(|record| !record.is_refused_file()).count();
        match self.deps.required.judge(TreeKind::Directory, n_before, n_in_force(&taken.change.add)) {
            Ok(()) => Ok(taken),
            Err(_) => assemble(&RuleTree::unknown(TreeOrigin::Directory)),
        }
    }

    /// Reads the directory; if that fails, its content counts as unknown.
    fn read_directory(&self, directory: &RulesDirectory, stored: &StoredRules) -> RuleTree {
        let has_files = stored.has_files();
        let path = directory.path.as_path();
        let surveyed = survey_settled(path, &mut self.directory.settling.lock(), stored);
        match surveyed {
            Ok((Survey { directory, tree, counts }, pending)) => {
                let RuleFileCounts { n_scripts, n_modules, n_lists, n_links, n_refused } = counts;
                tracing::info!(
                    directory = %directory.display(),
                    scripts = n_scripts,
                    modules = n_modules,
                    lists = n_lists,
                    links = n_links,
                    refused = n_refused,
                    "rule files found"
                );
                self.directory.note_read(&pending, stored);
                tree
            }
            Err(error) if is_dispensable(&error, directory) && !has_files => {
                tracing::warn!(directory = %path.display(), "there is no rules directory; rules come only from other sources");
                RuleTree::unknown(TreeOrigin::Directory)
            }
            Err(error) => {
                self.directory.cannot_be_read(path, &error, has_files);
                RuleTree::unknown(TreeOrigin::Directory)
            }
        }
    }
}

impl StoredRules {
    /// Returns whether rules or lists of the rules directory were in force.
    fn has_files(&self) -> bool {
        let is_file = |source: &InstructionSource| TreeKind::of_source(source) == Some(TreeKind::Directory);
        self.instructions.iter().any(|record| is_file(&record.source))
            || self.lists.iter().any(|record| is_file(&record.source))
    }
}

impl GoodContents for StoredRules {
    fn has_rule(&self, path: &str, content: &RuleContent) -> bool {
        let mut records = self.instructions.iter();
        records.any(|record| is_file(&record.source, path) && record.is_written_as(content))
    }

    fn has_list(&self, path: &str, text: &str) -> bool {
        self.lists.iter().any(|record| is_file(&record.source, path) && &*record.entries == text)
    }

    fn has_path(&self, path: &str) -> bool {
        self.instructions.iter().any(|record| is_file(&record.source, path))
            || self.lists.iter().any(|record| is_file(&record.source, path))
    }
}

fn is_dispensable(error: &io::Error, directory: &RulesDirectory) -> bool {
    let is_there = |path: &Path| path.exists();
    error.kind() == io::ErrorKind::NotFound && directory.may_be_missing && !is_there(&directory.path)
}

/// Brings the first rule set into force. It keeps the version number if everything recorded with it is unchanged.
async fn put_first_set_in_force(
    deps: &Arc<IntakeDeps>,
    change: RuleChange,
    base: Arc<RuleSet>,
    stored: &StoredRules,
) -> Result<(), IntakeError> {
    let made_by = Arc::clone(deps);
    let last_version = base.version;
    let next = off_the_executor(move || Ok(change.next_version(&made_by, &base))).await?;
    if is_as_stored(&next, stored) {
        change::swap(deps, RuleSet { version: last_version, ..next });
    } else {
        change::install(deps, next).await?;
    }
    let in_force = deps.registry.current();
    tracing::info!(version = in_force.version, rules = in_force.rules.len(), "rule set in force");
    Ok(())
}

/// Returns whether a rule set differs from the stored one by its number only.
fn is_as_stored(next: &RuleSet, stored: &StoredRules) -> bool {
    let records = next.rules.iter().map(|in_force| in_force.rule.instruction.record.as_ref());
    let lists = next.lists.iter().map(|(name, list)| change::list_record(name, list));
    let is_last =
        |last: &RuleSetIdentity| *last == RuleSetIdentity { version: last.version, ..identity_of(next) };
    stored.last_set.as_ref().is_some_and(is_last)
        && records.eq(&stored.instructions)
        && lists.eq(stored.lists.iter().cloned())
}

fn identity_of(rule_set: &RuleSet) -> RuleSetIdentity {
    let member = |in_force: &RuleInForce| {
        let instruction = &in_force.rule.instruction;
        (instruction.record.id, instruction.digest)
    };
    RuleSetIdentity {
        version: rule_set.version,
        members: rule_set.rules.iter().map(member).collect(),
        lists: rule_set.lists.iter().map(|(name, list)| (name.to_owned(), list.digest)).collect(),
        commit: rule_set.commit.clone(),
        service: Some(SERVICE_VERSION.into()),
        semantics: rule_set.semantics,
        zones: rule_set.zones.kept().map(|(digest, _)| ContentDigest(*digest)),
        status_words: Some(ContentDigest(*rule_set.status_words.digest())),
        holds: rule_set.holds,
    }
}
