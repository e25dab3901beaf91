//! Difference between a tree and the rules in force: unchanged rules are carried over, and the present holder of a name
//! keeps it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use tollgate_engine::registry::{BoundRule, Lists, RULES_MAX};
use tollgate_model::background::yielding;
use tollgate_model::instruction::{
    ContentDigest, InstructionId, InstructionRecord, InstructionSource, QuarantineCause, RuleContent,
};
use tollgate_model::named_list::format::ContentPointer;

use crate::intake::activating::{Activating, ActivationGuard};
use crate::intake::change::RuleChange;
use crate::intake::new_sources::RefusedFiles;
use crate::intake::tree::compiling::{CompileThreads, compile_all, in_parallel};
use crate::intake::tree::failure::{FileError, FileFailure};
use crate::intake::tree::known::{self, CurrentRules, KnownInstruction};
use crate::intake::tree::lists::{NextLists, next_lists};
use crate::intake::tree::placeholders;
use crate::intake::tree::{
    RuleFile, RuleTree, TreeKind, TreeOrigin, TreeReport, UnreadableFile, UnreadablePath,
};
use crate::intake::warnings::{recompute, speaks_of};
use crate::intake::{Draft, Identity, IntakeDeps, IntakeError, draft, estimating, granting};

/// The change that a tree makes, and the report about it.
#[derive(Debug)]
pub(in crate::intake) struct TreeChange {
    pub(in crate::intake) change: RuleChange,
    pub(in crate::intake) last_id: InstructionId,
    /// Report without version and failures.
    pub(in crate::intake) report: TreeReport,
    pub(in crate::intake) failures: Vec<FileFailure>,
    /// Kept until the change is in force.
    pub(in crate::intake) shown: Vec<ActivationGuard>,
}

/// Digests by path of files whose instructions were removed over the API. They stay removed until their content
/// changes.
pub(in crate::intake) type RemovedFiles = BTreeMap<String, ContentDigest>;

/// Compares a tree with the current rules.
///
/// # Errors
/// A temporary error of the store or of module admission. The result would otherwise lack rules for a reason that is
/// not in the tree.
pub(in crate::intake) fn assemble(
    deps: &IntakeDeps,
    activating: &Arc<Activating>,
    current_rules: CurrentRules,
    tree: &RuleTree,
    set_aside: &RemovedFiles,
) -> Result<TreeChange, IntakeError> {
    let mut report = TreeReport::default();
    let NextLists { lists, failures } = next_lists(&current_rules, deps.lists.shrink(), tree, &mut report)?;
    let base = &current_rules.base;
    let changed_lists = changed_names(&base.lists, &lists);
    let (own, others) = split(current_rules.rules, tree);
    let mut assembly = RuleSetAssembly {
        deps,
        pace: current_rules.pace,
        activating,
        origin: &tree.origin,
        now: deps.clock.now(),
        lists: &lists,
        by_name: own
            .values()
            .map(|known| (known.record().name.clone(), Arc::clone(known.record())))
            .collect(),
        rules: Vec::new(),
        names: HashMap::new(),
        last_id: current_rules.last_id,
        report,
        failures,
        refused: current_rules.refused,
        shown: Vec::new(),
    };
    assembly.keep_known(&others, &changed_lists)?;
    assembly.take(candidates(&assembly, own, tree, set_aside, &changed_lists)?, tree)?;
    assembly.report_unreadable(tree);
    assembly.add_placeholders(tree)?;
    let RuleSetAssembly { rules, last_id, report, failures, shown, .. } = assembly;
    let commit = match &tree.origin {
        TreeOrigin::Directory => None,
        TreeOrigin::Git { commit } => Some(commit.as_str().into()),
    };
    let change = RuleChange { commit, ..RuleChange::between(base, rules, lists) };
    Ok(TreeChange { change, last_id, report, failures, shown })
}

/// Splits the rules into those of the tree's source, by path, and all others.
fn split(
    rules: Vec<KnownInstruction>,
    tree: &RuleTree,
) -> (BTreeMap<String, KnownInstruction>, Vec<KnownInstruction>) {
    let mut own = BTreeMap::new();
    let mut others = Vec::new();
    for known in rules {
        let source = &known.record().source;
        match source.path().map(str::to_owned) {
            Some(path) if TreeKind::of_source(source) == Some(tree.origin.kind()) => {
                drop(own.insert(path, known))
            }
            _ => others.push(known),
        }
    }
    if tree.origin.kind() == TreeKind::Git {
        adopt(&mut own, &mut others, tree);
    }
    (own, others)
}

/// Moves instructions of the API whose content is also in the repository to the repository. This happens after a rule
/// is saved, pushed and fetched again.
fn adopt(own: &mut BTreeMap<String, KnownInstruction>, others: &mut Vec<KnownInstruction>, tree: &RuleTree) {
    for file in &tree.rules {
        let Ok(content) = &file.content else { continue };
        if own.contains_key(&file.path) {
            continue;
        }
        let is_twin = |known: &KnownInstruction| {
            let record = known.record();
            let is_same = match (&record.script, content) {
                (Some(script), RuleContent::Script(text)) => script.trim() == text.trim(),
                _ => record.is_written_as(content),
            };
            record.source.is_over_api() && is_same
        };
        if let Some(index) = others.iter().position(is_twin) {
            own.insert(file.path.clone(), others.swap_remove(index));
        }
    }
}

/// Returns the names of lists that exist in only one of the two.
fn changed_names(before: &Lists, after: &Lists) -> Vec<String> {
    let lacking = |one: &Lists, other: &Lists| -> Vec<String> {
        one.names().filter(|name| other.get(name).is_none()).map(str::to_owned).collect()
    };
    [lacking(before, after), lacking(after, before)].concat()
}

/// A file of the tree, and its state of processing.
struct Candidate<'t> {
    file: &'t RuleFile,
    known: Option<KnownInstruction>,
    made: CandidateResult,
}

enum CandidateResult {
    /// Unchanged.
    AsItWas(Arc<BoundRule>),
    Draft(Box<Draft>),
    Failed(FileError),
    /// Keeps its previous version without a report.
    BeingWritten,
}

/// Prepares every relevant file in order of path, and compiles where necessary. It also collects the rules whose files
/// are gone.
///
/// # Errors
/// Fails if module admission is temporarily unavailable.
fn candidates<'t>(
    assembly: &RuleSetAssembly<'_>,
    mut own: BTreeMap<String, KnownInstruction>,
    tree: &'t RuleTree,
    set_aside: &RemovedFiles,
    changed_lists: &[String],
) -> Result<Candidates<'t>, IntakeError> {
    let mut files: Vec<&RuleFile> = tree.rules.iter().collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files.dedup_by(|one, other| one.path == other.path);
    let mut candidates = Vec::new();
    let mut to_compile = Vec::new();
    for file in yielding(files) {
        let known = own.remove(&file.path);
        let made = match (&file.content, &known) {
            (Err(error), _) if error.is_worth_a_word() => CandidateResult::Failed(error.into()),
            (Err(UnreadableFile::AsTaken), Some(KnownInstruction::InForce(rule))) => {
                CandidateResult::AsItWas(recompute(assembly.deps, assembly.lists, rule, changed_lists))
            }
            (Err(_), _) => CandidateResult::BeingWritten,
            (Ok(content), _) if let Some(pointer) = ContentPointer::parse(content.bytes()) => {
                CandidateResult::Failed((&UnreadableFile::Pointer(pointer)).into())
            }
            (Ok(content), None)
                if set_aside.get(&file.path) == Some(&ContentDigest::of_bytes(content.bytes())) =>
            {
                continue;
            }
            (Ok(content), Some(KnownInstruction::InForce(rule)))
                if is_as_it_was(rule, content, tree)
                    && !content.script().is_some_and(|script| speaks_of(script, changed_lists)) =>
            {
                CandidateResult::AsItWas(Arc::clone(rule))
            }
            (Ok(content), _) => {
                // A placeholder, replaced below by the compiled draft.
                to_compile.push((candidates.len(), tree.origin.source(&file.path), content));
                CandidateResult::BeingWritten
            }
        };
        candidates.push(Candidate { file, known, made });
    }
    let (indices, contents): (Vec<_>, Vec<_>) =
        to_compile.into_iter().map(|(index, source, content)| (index, (source, content))).unzip();
    let drafts = compile_all(assembly.pace, assembly.deps, assembly.lists, &contents);
    for (index, draft) in indices.into_iter().zip(drafts) {
        if let Some(candidate) = candidates.get_mut(index) {
            candidate.made = match draft {
                Ok(draft) => CandidateResult::Draft(Box::new(draft)),
                Err(error) if error.passes() => return Err(error),
                Err(error) => CandidateResult::Failed(FileError::Refused(error)),
            };
        }
    }
    Ok(Candidates { files: candidates, gone: own.into_values().collect() })
}

fn is_as_it_was(rule: &BoundRule, content: &RuleContent, tree: &RuleTree) -> bool {
    let record = &rule.instruction.record;
    record.is_written_as(content) && TreeKind::of_source(&record.source) == Some(tree.origin.kind())
}

struct Candidates<'t> {
    files: Vec<Candidate<'t>>,
    gone: Vec<KnownInstruction>,
}

impl Candidate<'_> {
    /// Returns the name for the rule, if known.
    fn name(&self) -> Option<&str> {
        match &self.made {
            CandidateResult::AsItWas(rule) => Some(&rule.instruction.record.name),
            CandidateResult::Draft(draft) => Some(draft.name()),
            CandidateResult::Failed(_) | CandidateResult::BeingWritten => self.known_name(),
        }
    }

    fn known_name(&self) -> Option<&str> {
        self.known.as_ref().map(|known| known.record().name.as_str())
    }

    /// Returns whether the rule already has this name.
    fn is_holder(&self) -> bool {
        self.known.is_some() && self.name() == self.known_name()
    }
}

struct RuleSetAssembly<'a> {
    deps: &'a IntakeDeps,
    pace: CompileThreads,
    activating: &'a Arc<Activating>,
    origin: &'a TreeOrigin,
    now: DateTime<Utc>,
    lists: &'a Lists,
    /// Rules in force from the tree's source, by name.
    by_name: HashMap<String, Arc<InstructionRecord>>,
    rules: Vec<Arc<BoundRule>>,
    /// Source of the rule for each name taken.
    names: HashMap<String, InstructionSource>,
    last_id: InstructionId,
    report: TreeReport,
    failures: Vec<FileFailure>,
    refused: RefusedFiles,
    shown: Vec<ActivationGuard>,
}

impl RuleSetAssembly<'_> {
    /// Carries over the rules of other sources, with new warnings for those that refer to an added or removed list.
    fn keep_known(
        &mut self,
        others: &[KnownInstruction],
        changed_lists: &[String],
    ) -> Result<(), IntakeError> {
        let others: Vec<&KnownInstruction> = others.iter().filter(|known| !self.leaves_out(known)).collect();
        let stored = others.iter().filter_map(|known| match known {
            KnownInstruction::InForce(_) => None,
            KnownInstruction::Stored(record) => Some(Arc::clone(record)),
        });
        let stored: Vec<Arc<InstructionRecord>> = stored.collect();
        let drafts = in_parallel(self.pace, &stored, |record| known::draft(self.deps, self.lists, record));
        let mut drafts = drafts.into_iter();
        for known in others {
            let rule = match known {
                KnownInstruction::InForce(rule) => recompute(self.deps, self.lists, rule, changed_lists),
                // One by one, so that their series come in the order of the rules.
                KnownInstruction::Stored(record) => {
                    known::bound(self.deps, record, drafts.next().unwrap_or(Err(IntakeError::Unavailable)))?
                }
            };
            self.push(rule);
        }
        Ok(())
    }

    fn take(&mut self, candidates: Candidates<'_>, tree: &RuleTree) -> Result<(), IntakeError> {
        // Present holders of a name come first, so that a restart gives the same result as the running service.
        let (holders, others): (Vec<_>, Vec<_>) =
            candidates.files.into_iter().partition(Candidate::is_holder);
        for candidate in yielding(holders.into_iter().chain(others)) {
            self.settle(candidate)?;
        }
        for known in candidates.gone {
            let record = Arc::clone(known.record());
            // Its path is unknown, not gone, so the rule stays unless another rule has its name now.
            if record.source.path().is_some_and(|path| tree.hides(path)) {
                self.report.n_unchanged += usize::from(self.keep_last_good(Some(&known))?);
                continue;
            }
            // A renamed file is not gone.
            if !self.rules.iter().any(|rule| rule.instruction.record.id == record.id) {
                tracing::info!(path = record.source.path(), rule.name = record.name, "a rule file is gone");
                self.report.removed.extend(record.source.path().map(str::to_owned));
            }
        }
        Ok(())
    }

    /// Reports unknown paths like unreadable files.
    fn report_unreadable(&mut self, tree: &RuleTree) {
        for unreadable in &tree.unreadable {
            let UnreadablePath { path, why: Some(why) } = unreadable else { continue };
            let is_below = |source: &InstructionSource| {
                TreeKind::of_source(source) == Some(tree.origin.kind())
                    && source.path().is_some_and(|known| unreadable.covers(known))
            };
            let mut failure = FileFailure::new(path, "", &FileError::Unreadable(why.clone()));
            let mut records = self.rules.iter().map(|rule| &rule.instruction.record);
            failure.script.has_last_good = records
                .any(|record| is_below(&record.source) && !record.is_refused_file())
                || self.lists.iter().any(|(_, list)| is_below(&list.source));
            self.failures.push(failure);
        }
    }

    fn settle(&mut self, candidate: Candidate<'_>) -> Result<(), IntakeError> {
        let Candidate { file, known, made } = candidate;
        let error = match made {
            CandidateResult::AsItWas(rule) => {
                self.report.n_unchanged += 1;
                self.push(rule);
                return Ok(());
            }
            CandidateResult::Draft(draft) => match self.add(file, known.as_ref(), *draft) {
                Ok(()) => return Ok(()),
                // A temporary error is no property of the file. Recording it as a failure would lose a rule that moved
                // to another file, without a retry.
                Err(FileError::Refused(error)) if error.passes() => return Err(error),
                Err(error) => Some(error),
            },
            CandidateResult::Failed(error) => Some(error),
            CandidateResult::BeingWritten => None,
        };
        let has_last_good = self.keep_last_good(known.as_ref())?;
        if let Some(error) = error {
            let script = file.content.as_ref().ok().and_then(RuleContent::script).unwrap_or_default();
            let mut failure = FileFailure::new(&file.path, script, &error);
            failure.script.has_last_good = has_last_good;
            self.failures.push(failure);
        }
        Ok(())
    }

    fn add(
        &mut self,
        file: &RuleFile,
        known: Option<&KnownInstruction>,
        draft: Draft,
    ) -> Result<(), FileError> {
        if let Some(by) = self.names.get(draft.name()) {
            let (name, by) = (draft.name().to_owned(), by.clone());
            return Err(FileError::Taken { what: "an instruction", name, by });
        }
        if self.rules.len() >= RULES_MAX {
            return Err(FileError::Refused(IntakeError::TooMany));
        }
        let source = self.origin.source(&file.path);
        let counted = self.deps.policy.check_count(&source, self.names.values());
        granting::check(self.deps, &source, draft.manifest())
            .and(counted.map_err(IntakeError::from))
            .map_err(FileError::Refused)?;
        // The name identifies an instruction within its source, so it keeps its id when its file is renamed.
        let before = self.by_name.get(draft.name()).cloned();
        let (mut identity, is_changed) = self.identity(file, before.as_deref());
        // Module admission and policy were just checked, and rules of files are not suspended.
        let lasts = |cause: QuarantineCause| !cause.is_found_again() && cause != QuarantineCause::Memory;
        identity.quarantine = identity.quarantine.filter(|known| lasts(known.cause));
        let id = identity.id;
        estimating::check_room(self.deps, self.lists, draft.manifest()).map_err(FileError::Refused)?;
        let (instruction, module) = draft.under(identity);
        let shown = self.activating.show(Arc::clone(&instruction), &module.manifest, &self.deps.metrics);
        let rule = draft::bind(instruction, module, &self.deps.history).map_err(FileError::Refused)?;
        self.shown.push(shown);
        self.last_id = self.last_id.max(id);
        self.push(Arc::new(rule));
        match (before, known) {
            (None, None) => self.report.loaded.push(file.path.clone()),
            (Some(_), _) if !is_changed => self.report.n_unchanged += 1,
            _ => self.report.changed.push(file.path.clone()),
        }
        Ok(())
    }

    /// Returns the identity of a file's instruction, and whether it changed.
    fn identity(&self, file: &RuleFile, before: Option<&InstructionRecord>) -> (Identity, bool) {
        let source = self.origin.source(&file.path);
        let Some(before) = before else {
            return (Identity::new(InstructionId(self.last_id.0 + 1), source, self.now), true);
        };
        let is_same_content = file.content.as_ref().is_ok_and(|content| before.is_written_as(content));
        let is_same_source =
            TreeKind::of_source(&before.source).is_some() && before.source.path() == Some(file.path.as_str());
        if is_same_content && is_same_source {
            return (Identity::from_record(before), false);
        }
        let before = Identity::from_record(before);
        if is_same_content {
            return (Identity { source, ..before }, true);
        }
        // The new content has not failed yet, so it is not quarantined.
        (Identity { source, updated_at: self.now, quarantine: None, ..before }, true)
    }

    /// Keeps the last good version of a refused file, or the rule that stands for it, unless another rule has its name
    /// now. Returns whether there is a last good version.
    fn keep_last_good(&mut self, known: Option<&KnownInstruction>) -> Result<bool, IntakeError> {
        let Some(known) = known.filter(|known| !self.names.contains_key(&known.record().name)) else {
            return Ok(false);
        };
        if self.leaves_out(known) {
            self.report.removed.extend(known.record().source.path().map(str::to_owned));
            return Ok(false);
        }
        let rule = known.rule(self.deps, self.lists)?;
        self.push(rule);
        Ok(!known.record().is_refused_file())
    }

    /// Returns whether a rule that stands for a refused file is to be removed.
    fn leaves_out(&self, known: &KnownInstruction) -> bool {
        self.refused == RefusedFiles::LeaveOut && known.record().is_refused_file()
    }

    /// Adds a rule for each refused file of a new source, if another file of it is in force.
    fn add_placeholders(&mut self, tree: &RuleTree) -> Result<(), IntakeError> {
        let is_any = placeholders::is_any_in_force(&tree.origin, self.names.values(), self.lists);
        if self.refused != RefusedFiles::Placeholder || !is_any {
            return Ok(());
        }
        let numbers = (self.last_id, self.rules.len());
        for rule in placeholders::placeholders(self.deps, tree, &self.failures, numbers, self.now)? {
            self.last_id = self.last_id.max(rule.instruction.record.id);
            self.push(rule);
        }
        Ok(())
    }

    fn push(&mut self, rule: Arc<BoundRule>) {
        let record = &rule.instruction.record;
        self.names.insert(record.name.clone(), record.source.clone());
        self.rules.push(rule);
    }
}
