//! New instructions that wait while the history gathers their data.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tollgate_model::instruction::{Instruction, InstructionId};

use crate::telemetry::metrics::Metrics;

/// Waiting instructions, by id.
#[derive(Debug, Default)]
pub(super) struct Activating {
    waiting: Mutex<BTreeMap<InstructionId, Arc<Instruction>>>,
}

/// Shows an instruction as waiting, until dropped.
#[derive(Debug)]
pub(super) struct ActivationGuard {
    among: Arc<Activating>,
    metrics: Arc<Metrics>,
    id: InstructionId,
}

impl Activating {
    pub(super) fn show(
        self: &Arc<Self>,
        instruction: &Arc<Instruction>,
        metrics: &Arc<Metrics>,
    ) -> ActivationGuard {
        let id = instruction.record.id;
        let mut waiting = self.waiting.lock();
        waiting.insert(id, Arc::clone(instruction));
        metrics.rules_activating(waiting.len());
        drop(waiting);
        ActivationGuard { among: Arc::clone(self), metrics: Arc::clone(metrics), id }
    }

    pub(super) fn all(&self) -> Vec<Arc<Instruction>> {
        self.waiting.lock().values().map(Arc::clone).collect()
    }
}

impl Drop for ActivationGuard {
    fn drop(&mut self) {
        let mut waiting = self.among.waiting.lock();
        waiting.remove(&self.id);
        self.metrics.rules_activating(waiting.len());
    }
}
