//! Brings new instructions of the API into force. An instruction reserves its id and name first. Then the history
//! gathers what it asks, while other changes go on, and in the end it joins the rule set.

use std::sync::Arc;

use tokio::sync::MutexGuard;
use tollgate_engine::registry::{RULES_MAX, RuleSet};
use tollgate_model::instruction::{Instruction, InstructionId, InstructionSource, InstructionStatus};

use crate::intake::activating::{Activating, ActivationGuard};
use crate::intake::change::{self, VersionContents};
use crate::intake::{
    Draft, Identity, IntakeError, IntakeState, ListedInstruction, NamedDraft, RulePipeline, granting,
    off_the_executor,
};

/// Rules for which the history is filled at a time. A rule whose lookups are known already does not wait for them.
pub(super) const FILLS_MAX: usize = 2;

/// An instruction that has its id and name, and is not in force yet.
#[derive(Debug)]
pub(super) struct ReservedInstruction {
    pub(super) instruction: Arc<Instruction>,
    draft: NamedDraft,
    /// Until the instruction is in force or refused.
    shown: ActivationGuard,
}

impl RulePipeline {
    /// Checks a new instruction, and reserves its id and name.
    pub(super) fn reserve(
        &self,
        mut state: MutexGuard<'_, IntakeState>,
        draft: Draft,
        source: InstructionSource,
    ) -> Result<ReservedInstruction, IntakeError> {
        granting::check(&self.deps, &source, draft.manifest())?;
        let current = self.deps.registry.current();
        check_name(&current, draft.name(), &self.activating)?;
        let waiting = self.activating.all();
        if current.rules.len() + self.activating.n_waiting() >= RULES_MAX {
            return Err(IntakeError::TooMany);
        }
        let others = current.rules.iter().map(|in_force| &in_force.rule.instruction.record.source);
        let others = others.chain(waiting.iter().map(|instruction| &instruction.record.source));
        self.deps.policy.check_count(&source, others)?;
        let id = InstructionId(state.last_id.0 + 1);
        let draft = draft.under(Identity::new(id, source, self.deps.clock.now()));
        state.last_id = id;
        let instruction = Arc::clone(&draft.instruction);
        tracing::info!(instruction.id = id.0, rule.name = draft.name(), "instruction activating");
        let shown = self.activating.reserve(&instruction, &self.deps.metrics);
        Ok(ReservedInstruction { instruction, draft, shown })
    }

    /// Brings a reserved instruction into force in a task of its own.
    pub(super) fn activate_later(self: &Arc<Self>, reserved: ReservedInstruction) -> ListedInstruction {
        let listed = ListedInstruction {
            instruction: Arc::clone(&reserved.instruction),
            status: InstructionStatus::Activating,
            refused_change: None,
            mismatches: Vec::new(),
        };
        let (pipeline, id) = (Arc::clone(self), reserved.instruction.record.id);
        tokio::spawn(async move {
            if let Err(error) = pipeline.activate(reserved).await {
                tracing::error!(instruction.id = id.0, error = %error, "an instruction did not come into force");
            }
        });
        listed
    }

    /// Brings a reserved instruction into force once the history has what it asks.
    pub(super) async fn activate(
        self: Arc<Self>,
        reserved: ReservedInstruction,
    ) -> Result<Arc<Instruction>, IntakeError> {
        let ReservedInstruction { instruction, draft, shown } = reserved;
        let id = instruction.record.id;
        // Never closed.
        let _fills =
            if draft.needs_a_fill(&self.deps.history) { self.fills.acquire().await.ok() } else { None };
        if shown.is_cancelled() {
            return Err(IntakeError::Removed(id));
        }
        let pipeline = Arc::clone(&self);
        let rule = off_the_executor(move || draft.bind(&pipeline.deps.history).map(Arc::new)).await?;
        let _state = self.state.lock().await;
        if !shown.commit() {
            return Err(IntakeError::Removed(id));
        }
        let current = self.deps.registry.current();
        // A file may have taken the name meanwhile.
        check_name_in_force(&current, &instruction.entry.name)?;
        if current.rules.len() >= RULES_MAX {
            return Err(IntakeError::TooMany);
        }
        let mut contents = VersionContents::of(&current);
        contents.rules.push(rule);
        change::bring_into_force(&self.deps, current.version, contents).await?;
        tracing::info!(instruction.id = id.0, rule.name = instruction.entry.name, "instruction saved");
        if let Some(sink) = &self.deps.sink {
            sink.saved(&instruction.record);
        }
        Ok(instruction)
    }
}

/// Refuses a name that an instruction in force, or one that is activating, has.
pub(super) fn check_name(current: &RuleSet, name: &str, activating: &Activating) -> Result<(), IntakeError> {
    check_name_in_force(current, name)?;
    match activating.all().iter().find(|instruction| instruction.record.name == name) {
        Some(instruction) => Err(name_taken(instruction)),
        None => Ok(()),
    }
}

fn check_name_in_force(current: &RuleSet, name: &str) -> Result<(), IntakeError> {
    let mut instructions = current.rules.iter().map(|in_force| &in_force.rule.instruction);
    match instructions.find(|instruction| instruction.record.name == name) {
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
