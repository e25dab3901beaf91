//! New instructions that wait while the history gathers their data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tollgate_guest_abi::Manifest;
use tollgate_history::History;
use tollgate_model::instruction::{Instruction, InstructionId};

use tollgate_telemetry::metrics::Metrics;

/// Waiting instructions, by id.
#[derive(Debug, Default)]
pub(super) struct Activating {
    waiting: Mutex<BTreeMap<InstructionId, WaitingInstruction>>,
}

#[derive(Debug)]
struct WaitingInstruction {
    instruction: Arc<Instruction>,
    manifest: Manifest,
    stage: ActivationStage,
}

/// How far an instruction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ActivationStage {
    /// The history gathers its data. It can be removed.
    Waiting,
    /// It comes from a file, whose rules change together.
    OfFile,
    /// It was removed.
    Cancelled,
    /// It is becoming part of a version.
    Committing,
}

/// Shows an instruction as waiting, until dropped.
#[derive(Debug)]
pub(super) struct ActivationGuard {
    among: Arc<Activating>,
    metrics: Arc<Metrics>,
    pub(super) instruction: Arc<Instruction>,
}

impl Activating {
    /// Shows an instruction of the API, which can be removed while it waits.
    pub(super) fn reserve(
        self: &Arc<Self>,
        instruction: Arc<Instruction>,
        manifest: &Manifest,
        metrics: &Arc<Metrics>,
    ) -> ActivationGuard {
        self.add(instruction, manifest, metrics, ActivationStage::Waiting)
    }

    /// Shows an instruction of a file.
    pub(super) fn show(
        self: &Arc<Self>,
        instruction: Arc<Instruction>,
        manifest: &Manifest,
        metrics: &Arc<Metrics>,
    ) -> ActivationGuard {
        self.add(instruction, manifest, metrics, ActivationStage::OfFile)
    }

    fn add(
        self: &Arc<Self>,
        instruction: Arc<Instruction>,
        manifest: &Manifest,
        metrics: &Arc<Metrics>,
        stage: ActivationStage,
    ) -> ActivationGuard {
        let (shown, manifest) = (Arc::clone(&instruction), manifest.clone());
        let mut waiting = self.waiting.lock();
        waiting.insert(shown.record.id, WaitingInstruction { instruction: shown, manifest, stage });
        metrics.rules_activating(waiting.len());
        drop(waiting);
        ActivationGuard { among: Arc::clone(self), metrics: Arc::clone(metrics), instruction }
    }

    /// Returns whether an instruction with this id waits, or content for it.
    pub(super) fn has(&self, id: InstructionId) -> bool {
        self.waiting.lock().contains_key(&id)
    }

    /// Returns the number of instructions that wait besides those in force, with those that were removed and have not
    /// ended.
    pub(super) fn n_waiting_besides(&self, in_force: &BTreeSet<InstructionId>) -> usize {
        self.waiting.lock().keys().filter(|id| !in_force.contains(id)).count()
    }

    /// Returns the instructions that wait and were not removed.
    pub(super) fn all(&self) -> Vec<Arc<Instruction>> {
        let waiting = self.waiting.lock();
        let stays = waiting.values().filter(|one| one.stage != ActivationStage::Cancelled);
        stays.map(|one| Arc::clone(&one.instruction)).collect()
    }

    /// Returns the share of what a waiting instruction asks that the history has gathered, from 0 to 1.
    pub(super) fn progress_of(&self, id: InstructionId, history: &History) -> Option<f64> {
        let manifest = self.waiting.lock().get(&id).map(|one| one.manifest.clone())?;
        let Manifest { needs, semantics, .. } = &manifest;
        Some(history.gathered_share(&needs.aggregates, &needs.previous, *semantics))
    }

    /// Removes an instruction that is not in force and is not becoming part of a version. Returns it.
    pub(super) fn cancel(&self, id: InstructionId) -> Option<Arc<Instruction>> {
        let mut waiting = self.waiting.lock();
        let one = waiting.get_mut(&id).filter(|one| one.stage == ActivationStage::Waiting)?;
        one.stage = ActivationStage::Cancelled;
        Some(Arc::clone(&one.instruction))
    }
}

impl ActivationGuard {
    /// Returns whether the instruction was removed.
    pub(super) fn is_cancelled(&self) -> bool {
        self.stage() == Some(ActivationStage::Cancelled)
    }

    /// Marks that the instruction becomes part of a version. Returns `false` if it was removed.
    pub(super) fn commit(&self) -> bool {
        let mut waiting = self.among.waiting.lock();
        let one =
            waiting.get_mut(&self.instruction.record.id).filter(|one| one.stage == ActivationStage::Waiting);
        one.map(|one| one.stage = ActivationStage::Committing).is_some()
    }

    fn stage(&self) -> Option<ActivationStage> {
        self.among.waiting.lock().get(&self.instruction.record.id).map(|one| one.stage)
    }
}

impl Drop for ActivationGuard {
    fn drop(&mut self) {
        let mut waiting = self.among.waiting.lock();
        waiting.remove(&self.instruction.record.id);
        self.metrics.rules_activating(waiting.len());
    }
}
