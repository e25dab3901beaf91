//! Estimates what a new rule costs, before it has an id.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tollgate_guest_abi::Manifest;
use tollgate_history::{History, QueryEstimate};
use tollgate_model::instruction::InstructionSource;
use tollgate_model::named_list::NamedLists;
use tollgate_model::sequence::Sequence;

use crate::intake::draft::of_history;
use crate::intake::{Draft, IntakeDeps, IntakeError, RulePipeline, granting, off_the_executor};

/// Time that a save waits for the history at a start.
const RESTORE_PATIENCE: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(10);

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
        self.check_restored().await?;
        let pipeline = Arc::clone(self);
        off_the_executor(move || {
            let deps = &pipeline.deps;
            granting::check(deps, &source, draft.manifest())?;
            let estimate = of_manifest(draft.manifest(), &deps.history, &deps.registry.current().lists)?;
            deps.policy.grant_for(&source)?.check_estimate(estimate)?;
            if !deps.history.fits(&estimate) {
                return Err(IntakeError::NoRoom(Some(estimate)));
            }
            Ok(draft.costing(estimate))
        })
        .await
    }

    /// Waits a little until the history knows what is stored, and fails if it does not.
    async fn check_restored(&self) -> Result<(), IntakeError> {
        let is_empty = self.deps.store.last_sequence().await.is_ok_and(|last| last == Sequence::default());
        let until = Instant::now() + RESTORE_PATIENCE;
        while !is_empty && !self.deps.history.knows_stored() {
            if Instant::now() >= until {
                return Err(IntakeError::Unavailable);
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    }
}

/// Checks whether the history has room for what a module asks and it does not know yet, by estimate.
///
/// # Errors
/// [`IntakeError::NoRoom`], and those of [`Draft::bind`].
pub(super) fn check_room(
    deps: &IntakeDeps,
    lists: &dyn NamedLists,
    manifest: &Manifest,
) -> Result<(), IntakeError> {
    if !needs_a_fill(manifest, &deps.history) {
        return Ok(());
    }
    let estimate = of_manifest(manifest, &deps.history, lists)?;
    if deps.history.fits(&estimate) { Ok(()) } else { Err(IntakeError::NoRoom(Some(estimate))) }
}

/// Returns whether the history lacks something that a module asks.
pub(super) fn needs_a_fill(manifest: &Manifest, history: &History) -> bool {
    let Manifest { needs, semantics, .. } = manifest;
    !needs.aggregates.iter().all(|spec| history.knows_aggregate(spec, *semantics))
        || !needs.previous.iter().all(|spec| history.knows_previous(spec, *semantics))
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
