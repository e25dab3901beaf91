//! Brings new instructions of the API into force. An instruction reserves its id and name first. Then the history
//! gathers what it asks, while other changes go on, and in the end it joins the rule set.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, interval_at};
use tollgate_engine::registry::{RULES_MAX, RuleSet};
use tollgate_engine::sandbox::{AdmittedModule, manifest_of};
use tollgate_guest_abi::{Cost, Manifest};
use tollgate_model::instruction::{
    Instruction, InstructionId, InstructionSource, InstructionStatus, RuleContent,
};

use crate::intake::activating::{Activating, ActivationGuard};
use crate::intake::change::{self, RuleChange, rules_of};
use crate::intake::precondition::{Precondition, tags_of_instruction};
use crate::intake::{
    Draft, Identity, IntakeError, ListedInstruction, RulePipeline, admitting, draft, estimating, granting,
    off_the_executor,
};
use tollgate_telemetry::request_ids::RequestIds;

/// A change of the instructions in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstructionChange {
    /// An instruction is added.
    Add,
    /// The instruction with this id gets other content under a condition, and keeps its id.
    Replace(InstructionId, Precondition),
}

/// Interval at which the progress of a fill is logged.
const PROGRESS_PAUSE: Duration = Duration::from_secs(10);

/// Rules for which the history is filled at a time. A rule whose lookups are known already does not wait for them.
pub(super) const FILLS_MAX: usize = 2;

impl RulePipeline {
    /// Makes the draft of a new instruction or new content, and estimates its cost. The caller holds the owner's turn for
    /// saves, so an owner has one draft at a time.
    pub(super) async fn draft(
        self: &Arc<Self>,
        content: RuleContent,
        manifest: Option<Manifest>,
        source: &InstructionSource,
        change: &InstructionChange,
    ) -> Result<Draft, IntakeError> {
        let (pipeline, from, change) = (Arc::clone(self), source.clone(), change.clone());
        let draft = off_the_executor(move || {
            let content = match content {
                RuleContent::Script(script) => RuleContent::Script(script),
                RuleContent::Module(module) => {
                    RuleContent::Module(pipeline.prechecked(module, manifest.as_ref(), &change)?)
                }
            };
            Draft::from_content(&pipeline.deps, &pipeline.deps.registry.current().lists, &from, content)
        });
        self.estimated(draft.await?, source.clone()).await
    }

    /// Adds a separate manifest to a module, and checks it before it is compiled. All checks are repeated on the compiled
    /// module.
    fn prechecked(
        &self,
        module: Vec<u8>,
        manifest: Option<&Manifest>,
        change: &InstructionChange,
    ) -> Result<Vec<u8>, IntakeError> {
        granting::budget(&self.deps, &InstructionSource::Upload)?;
        let module = admitting::complete(module, manifest)?;
        self.precheck(&module, change)?;
        // A refusal is forgotten when the module is sent again, because another policy or engine may admit it.
        self.deps.artifacts.remove_refusal(&module);
        Ok(module)
    }

    fn precheck(&self, module: &[u8], change: &InstructionChange) -> Result<(), IntakeError> {
        let current = self.deps.registry.current();
        let replaced = match change {
            InstructionChange::Add => None,
            InstructionChange::Replace(id, condition) => {
                Some(self.replaceable(&current, *id, &InstructionSource::Upload, condition)?.record.id)
            }
        };
        let Ok(Some(mut manifest)) = manifest_of(module) else { return Ok(()) };
        let mut names = manifest.rules.iter().map(|rule| &rule.name);
        names.try_for_each(|name| check_name(&current, name, &self.activating, replaced))?;
        // The cost that a module claims does not count.
        manifest.cost = Cost::default();
        granting::check(&self.deps, &InstructionSource::Upload, &manifest)
    }

    /// Checks a new instruction or new content, and reserves its id and name. The instruction is reserved until the
    /// returned guard is dropped.
    pub(super) async fn reserve(
        &self,
        draft: Draft,
        source: InstructionSource,
        change: &InstructionChange,
    ) -> Result<(AdmittedModule, ActivationGuard), IntakeError> {
        let mut state = self.state.lock().await;
        granting::check(&self.deps, &source, draft.manifest())?;
        let current = self.deps.registry.current();
        let identity = match change {
            InstructionChange::Add => {
                check_name(&current, draft.name(), &self.activating, None)?;
                self.check_count(&current, &source)?;
                state.last_id = InstructionId(state.last_id.0 + 1);
                Identity::new(state.last_id, source, self.deps.clock.now())
            }
            InstructionChange::Replace(id, condition) => {
                let replaced = self.replaceable(&current, *id, &source, condition)?;
                check_name(&current, draft.name(), &self.activating, Some(*id))?;
                let created_at = replaced.record.created_at;
                Identity { created_at, ..Identity::new(*id, source, self.deps.clock.now()) }
            }
        };
        let (instruction, module) = draft.under(identity);
        tracing::info!(
            instruction.id = instruction.record.id.0,
            rule.name = instruction.entry.name,
            "instruction activating"
        );
        let shown = self.activating.reserve(instruction, &module.manifest, &self.deps.metrics);
        Ok((module, shown))
    }

    fn check_count(&self, current: &RuleSet, source: &InstructionSource) -> Result<(), IntakeError> {
        let in_force: BTreeSet<InstructionId> =
            rules_of(current).map(|rule| rule.instruction.record.id).collect();
        let mut waiting = self.activating.all();
        waiting.retain(|instruction| !in_force.contains(&instruction.record.id));
        if current.rules.len() + self.activating.n_waiting_besides(&in_force) >= RULES_MAX {
            return Err(IntakeError::TooMany);
        }
        let others = rules_of(current).map(|rule| &rule.instruction.record.source);
        let others = others.chain(waiting.iter().map(|instruction| &instruction.record.source));
        Ok(self.deps.policy.check_count(source, others)?)
    }

    /// Returns the instruction in force that gets other content from this source.
    pub(super) fn replaceable(
        &self,
        current: &RuleSet,
        id: InstructionId,
        source: &InstructionSource,
        condition: &Precondition,
    ) -> Result<Arc<Instruction>, IntakeError> {
        if self.activating.has(id) {
            return Err(IntakeError::Changing(id));
        }
        let known = &current.rule(id).ok_or(IntakeError::NotFound(id))?.instruction;
        if known.record.source != *source {
            self.deps.policy.check_change(&known.record.source)?;
        }
        check_source(id, &known.record.source, source)?;
        condition.check(Some(&tags_of_instruction(known)))?;
        Ok(Arc::clone(known))
    }

    /// Brings a reserved instruction into force in a task of its own.
    pub(super) fn activate_later(
        self: &Arc<Self>,
        module: AdmittedModule,
        change: InstructionChange,
        shown: ActivationGuard,
    ) -> ListedInstruction {
        let instruction = Arc::clone(&shown.instruction);
        let id = instruction.record.id;
        let listed = ListedInstruction {
            progress: self.activating.progress_of(id, &self.deps.history),
            ..ListedInstruction::with(instruction, InstructionStatus::Activating)
        };
        let pipeline = Arc::clone(self);
        tokio::spawn(RequestIds::propagate(async move {
            if let Err(error) = pipeline.activate(module, change, shown).await {
                tracing::error!(instruction.id = id.0, error = %error, "an instruction did not come into force");
            }
        }));
        listed
    }

    /// Brings a reserved instruction into force once the history has what it asks.
    pub(super) async fn activate(
        self: Arc<Self>,
        module: AdmittedModule,
        change: InstructionChange,
        shown: ActivationGuard,
    ) -> Result<ListedInstruction, IntakeError> {
        let instruction = Arc::clone(&shown.instruction);
        let id = instruction.record.id;
        let needs_a_fill = estimating::needs_a_fill(&module.manifest, &self.deps.history);
        let turns = self.turns.turn_of(&self.deps.policy.owner_of(&instruction.record.source).name);
        let turn = if needs_a_fill { Some(turns.fill.lock().await) } else { None };
        // Never closed.
        let fill = if needs_a_fill { self.fills.acquire().await.ok() } else { None };
        if shown.is_cancelled() {
            return Err(IntakeError::Removed(id));
        }
        let (pipeline, bound) = (Arc::clone(&self), Arc::clone(&instruction));
        let binding =
            off_the_executor(move || draft::bind(bound, module, &pipeline.deps.history).map(Arc::new));
        let rule = self.with_progress(&instruction, binding).await?;
        drop((fill, turn));
        let _state = self.state.lock().await;
        if !shown.commit() {
            return Err(IntakeError::Removed(id));
        }
        let current = self.deps.registry.current();
        // A file may have taken the name meanwhile.
        let (change, replaced) = match change {
            InstructionChange::Add => {
                check_name_in_force(&current, &instruction.entry.name, None)?;
                if current.rules.len() >= RULES_MAX {
                    return Err(IntakeError::TooMany);
                }
                (RuleChange { add: vec![rule], ..RuleChange::default() }, None)
            }
            InstructionChange::Replace(id, _) => {
                check_name_in_force(&current, &instruction.entry.name, Some(id))?;
                let known = current.rule(id).ok_or(IntakeError::Removed(id))?;
                // It may have become part of the repository meanwhile.
                check_source(id, &known.instruction.record.source, &rule.instruction.record.source)?;
                (RuleChange { replace: vec![rule], ..RuleChange::default() }, Some(known))
            }
        };
        change::bring_into_force(&self.deps, change).await?;
        tracing::info!(instruction.id = id.0, rule.name = instruction.entry.name, "instruction saved");
        if let Some(sink) = &self.deps.sink {
            if let Some(replaced) = replaced {
                sink.removed(&replaced.instruction.record);
            }
            sink.saved(&instruction.record);
        }
        Ok(ListedInstruction::with(instruction, InstructionStatus::Active))
    }
}

impl RulePipeline {
    /// Waits for the fill of an instruction, and logs its progress while that takes long.
    async fn with_progress<T>(&self, instruction: &Instruction, fill: impl Future<Output = T>) -> T {
        let mut pauses = interval_at(Instant::now() + PROGRESS_PAUSE, PROGRESS_PAUSE);
        let mut fill = pin!(fill);
        loop {
            tokio::select! {
                filled = &mut fill => return filled,
                _ = pauses.tick() => {
                    let id = instruction.record.id;
                    let gathered = self.activating.progress_of(id, &self.deps.history).unwrap_or_default();
                    tracing::info!(
                        instruction.id = id.0,
                        rule.name = instruction.entry.name,
                        percent = (gathered * 100.0).floor(),
                        "the history gathers what an instruction asks"
                    );
                }
            }
        }
    }
}

/// Refuses to replace an instruction from another source.
fn check_source(
    id: InstructionId,
    of_rule: &InstructionSource,
    wanted: &InstructionSource,
) -> Result<(), IntakeError> {
    if of_rule == wanted {
        return Ok(());
    }
    Err(IntakeError::NotReplaceable { id, source_of_rule: of_rule.clone() })
}

/// Refuses a name that an instruction in force, or one that is activating, has, other than the one to be replaced.
pub(super) fn check_name(
    current: &RuleSet,
    name: &str,
    activating: &Activating,
    replaced: Option<InstructionId>,
) -> Result<(), IntakeError> {
    check_name_in_force(current, name, replaced)?;
    match activating.all().iter().find(|instruction| instruction.record.name == name) {
        Some(instruction) => Err(name_taken(instruction)),
        None => Ok(()),
    }
}

fn check_name_in_force(
    current: &RuleSet,
    name: &str,
    replaced: Option<InstructionId>,
) -> Result<(), IntakeError> {
    let instructions = rules_of(current).map(|rule| &rule.instruction);
    let mut others = instructions.filter(|instruction| Some(instruction.record.id) != replaced);
    match others.find(|instruction| instruction.record.name == name) {
        Some(instruction) => Err(name_taken(instruction)),
        None => Ok(()),
    }
}

fn name_taken(instruction: &Instruction) -> IntakeError {
    let record = &instruction.record;
    IntakeError::NameTaken {
        name: record.name.clone(),
        holder: record.id,
        source_of_holder: record.source.clone(),
    }
}
