//! Removal of instructions over the API.

use std::sync::Arc;

use tollgate_model::instruction::{ContentDigest, InstructionId};

use crate::intake::change::{self, RuleChange};
use crate::intake::precondition::{Precondition, tags_of_instruction};
use crate::intake::required::n_in_force;
use crate::intake::tree::TreeKind;
use crate::intake::{Intake, IntakeError, RulePipeline, run_detached};

impl Intake {
    /// Removes an instruction. One from a file returns when the file's content changes, and at the next start if the
    /// file is there. Under a policy, one of the repository does not return at a start.
    ///
    /// # Errors
    /// [`IntakeError::NotGranted`] if the policy does not grant the change, [`IntakeError::TooFewRules`],
    /// [`IntakeError::NotFound`], [`IntakeError::PreconditionFailed`] and [`IntakeError::Unavailable`].
    pub async fn remove(&self, id: InstructionId, condition: Precondition) -> Result<(), IntakeError> {
        let pipeline = Arc::clone(&self.pipeline);
        run_detached(async move { pipeline.remove(id, &condition).await }).await
    }
}

impl RulePipeline {
    async fn remove(self: Arc<Self>, id: InstructionId, condition: &Precondition) -> Result<(), IntakeError> {
        if let Some(known) = self.deps.registry.current().rule(id) {
            self.deps.policy.check_change(&known.instruction.record.source)?;
            condition.check(Some(&tags_of_instruction(&known.instruction)))?;
        }
        if let Some(instruction) = self.activating.cancel(id) {
            tracing::info!(
                instruction.id = id.0,
                rule.name = instruction.entry.name,
                "instruction removed before it was in force"
            );
            if self.deps.registry.current().rule(id).is_none() {
                return Ok(());
            }
        }
        let mut state = self.state.lock().await;
        let current = self.deps.registry.current();
        let removed = current.rule(id).ok_or(IntakeError::NotFound(id))?;
        let record = &removed.instruction.record;
        self.deps.policy.check_change(&record.source)?;
        condition.check(Some(&tags_of_instruction(&removed.instruction)))?;
        let change = RuleChange { remove: vec![id], ..RuleChange::default() };
        self.deps.required.check(n_in_force(&change.rules_after(&current)))?;
        let removal = self.note_removal(record).await?;
        if let Err(error) = change::bring_into_force(&self.deps, change).await {
            self.take_removal_back(removal.as_ref()).await;
            return Err(error);
        }
        if let (Some(index), Some(path)) = (TreeKind::of_source(&record.source), record.source.path()) {
            let digest = ContentDigest::of_bytes(record.written());
            state.set_aside.entry(index).or_default().insert(path.to_owned(), digest);
        }
        removal.into_iter().for_each(|removal| self.removals.add(removal));
        tracing::info!(instruction.id = id.0, rule.name = record.name, "instruction removed");
        if let Some(sink) = &self.deps.sink {
            sink.removed(record);
        }
        Ok(())
    }
}
