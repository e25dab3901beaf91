//! Checks rules against the operator's policy before they come into force.

use tollgate_engine::policy::Denial;
use tollgate_engine::sandbox::AdmittedModule;
use tollgate_guest_abi::Manifest;
use tollgate_model::instruction::Grant;
use tollgate_model::instruction::{InstructionRecord, InstructionSource, Quarantine, QuarantineCause};

use crate::intake::{Intake, IntakeDeps, IntakeError};

impl Intake {
    /// Checks whether a request to the API may decide which rules the repository brings.
    ///
    /// # Errors
    /// [`IntakeError::NotGranted`].
    pub(crate) fn check_change_of_repository(&self) -> Result<(), IntakeError> {
        Ok(self.pipeline.deps.policy.check_change_of_repository()?)
    }

    /// Checks whether a request to the API may push to the repository.
    ///
    /// # Errors
    /// [`IntakeError::NotGranted`].
    pub(crate) fn check_push(&self) -> Result<(), IntakeError> {
        Ok(self.pipeline.deps.policy.check_push()?)
    }
}

/// Returns the grant for modules of other compilers from this source.
pub(super) fn budget(deps: &IntakeDeps, source: &InstructionSource) -> Result<Grant, IntakeError> {
    Ok(deps.policy.grant_for(source)?.budget())
}

/// Checks whether a rule from this source may be in force.
pub(super) fn check(
    deps: &IntakeDeps,
    source: &InstructionSource,
    manifest: &Manifest,
) -> Result<(), IntakeError> {
    Ok(deps.policy.grant_for(source)?.check(manifest)?)
}

/// Checks whether a rule may run again with its original grant.
pub(super) fn check_again(
    deps: &IntakeDeps,
    source: &InstructionSource,
    module: &AdmittedModule,
) -> Result<(), IntakeError> {
    check(deps, source, &module.manifest)?;
    let granted = budget(deps, source)?;
    match module.origin().grant() {
        Some(grant) if grant.memory_bytes > granted.memory_bytes => Err(Denial::of_memory().into()),
        _ => Ok(()),
    }
}

/// Reason why a rule that was in force can no longer run.
#[derive(Debug)]
pub(super) struct GrantRefusal {
    /// A cause that is determined again at each start.
    pub(super) cause: QuarantineCause,
    pub(super) reason: String,
}

impl GrantRefusal {
    /// Creates the reason for a module whose initial memory exceeds its grant.
    pub(super) fn of_memory() -> Self {
        Self::of_policy(&Denial::of_memory().into())
    }

    fn of_policy(error: &IntakeError) -> Self {
        Self { cause: QuarantineCause::Policy, reason: error.to_string() }
    }
}

/// Returns the quarantine of a rule that was in force before, if it has an obstacle or is no longer granted.
/// Transactions are then held for review in its place, and other rules are unaffected.
pub(super) fn quarantine(
    deps: &IntakeDeps,
    record: &InstructionRecord,
    manifest: &Manifest,
    obstacle: Option<GrantRefusal>,
) -> Option<Quarantine> {
    let known = record.quarantine.as_ref();
    // A lasting quarantine takes precedence; other obstacles are reported on release.
    if let Some(lasting) = known.filter(|known| !known.cause.is_found_again()) {
        return Some(lasting.clone());
    }
    let checked = || check(deps, &record.source, manifest);
    let Some(GrantRefusal { cause, reason }) =
        obstacle.or_else(|| checked().err().as_ref().map(GrantRefusal::of_policy))
    else {
        if known.is_some() {
            tracing::info!(
                rule.name = record.name,
                "a rule is out of quarantine: nothing prevents it from running any more"
            );
        }
        return None;
    };
    let before = known.filter(|known| known.cause == cause);
    if before.is_none_or(|before| before.reason != reason) {
        tracing::error!(
            rule.name = record.name,
            reason,
            "a rule is in quarantine; transactions are held for review in its place"
        );
    }
    let since = before.map_or_else(|| deps.clock.now(), |before| before.since);
    Some(Quarantine { since, cause, reason })
}
