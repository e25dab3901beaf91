//! Estimates what a new rule costs, before it has an id.

use std::sync::Arc;

use tollgate_guest_abi::Manifest;
use tollgate_history::{History, QueryEstimate};
use tollgate_model::instruction::InstructionSource;
use tollgate_model::named_list::NamedLists;

use crate::intake::draft::of_history;
use crate::intake::{Draft, IntakeError, RulePipeline, granting, off_the_executor};

impl RulePipeline {
    /// Adds an estimate to a draft that asks the history. Takes no lock of the pipeline, because it reads the store.
    ///
    /// # Errors
    /// [`IntakeError::TooExpensive`] if the estimate exceeds the grant, [`IntakeError::NoRoom`] if the history has no
    /// room for it, and the errors of [`Draft::bind`].
    pub(super) async fn estimated(
        self: &Arc<Self>,
        draft: Draft,
        source: InstructionSource,
    ) -> Result<Draft, IntakeError> {
        if !draft.asks_the_history() {
            return Ok(draft);
        }
        let pipeline = Arc::clone(self);
        off_the_executor(move || {
            let deps = &pipeline.deps;
            granting::check(deps, &source, draft.manifest())?;
            let estimate = of_manifest(draft.manifest(), &deps.history, &deps.registry.current().lists)?;
            deps.policy.of(&source)?.check_estimate(estimate)?;
            if !deps.history.fits(&estimate) {
                return Err(IntakeError::NoRoom(Some(estimate)));
            }
            Ok(draft.costing(estimate))
        })
        .await
    }
}

/// Estimates the cost of what a module asks the history.
///
/// # Errors
/// Those of [`Draft::bind`].
pub(super) fn of_manifest(
    manifest: &Manifest,
    history: &History,
    lists: &dyn NamedLists,
) -> Result<QueryEstimate, IntakeError> {
    let Manifest { needs, semantics, .. } = manifest;
    history.estimate(&needs.aggregates, &needs.previous, *semantics, lists).map_err(of_history)
}
