//! Rules are held against the operator's policy before they come into force.

use tollgate_engine::policy::Denial;
use tollgate_engine::sandbox::AdmittedModule;
use tollgate_guest_abi::Manifest;
use tollgate_model::instruction::Grant;
use tollgate_model::instruction::{InstructionRecord, InstructionSource, Quarantine, QuarantineCause};

use crate::intake::{IntakeDeps, IntakeError};

/// What a module from this source may use that the compiler did not make.
pub(super) fn budget(deps: &IntakeDeps, source: &InstructionSource) -> Result<Grant, IntakeError> {
    Ok(deps.policy.of(source)?.budget())
}

/// Whether a rule from this source may be in force.
pub(super) fn check(
    deps: &IntakeDeps,
    source: &InstructionSource,
    manifest: &Manifest,
) -> Result<(), IntakeError> {
    Ok(deps.policy.of(source)?.check(manifest)?)
}

/// Whether a rule may run again as it was admitted.
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

/// Why a rule that was in force before cannot be run any more.
#[derive(Debug)]
pub(super) struct GrantRefusal {
    /// One that is found anew each time.
    pub(super) cause: QuarantineCause,
    pub(super) reason: String,
}

impl GrantRefusal {
    /// A module begins with more memory than it is granted.
    pub(super) fn of_memory() -> Self {
        Self::of_policy(&Denial::of_memory().into())
    }

    fn of_policy(error: &IntakeError) -> Self {
        Self { cause: QuarantineCause::Policy, reason: error.to_string() }
    }
}

/// The quarantine of a rule that was in force before: one that is not granted any more, or has an obstacle beyond that, is in
/// the way of nobody, and nothing slips through in its place.
pub(super) fn quarantine(
    deps: &IntakeDeps,
    record: &InstructionRecord,
    manifest: &Manifest,
    obstacle: Option<GrantRefusal>,
) -> Option<Quarantine> {
    let known = record.quarantine.as_ref();
    // Whoever releases it hears of all else then.
    if let Some(lasting) = known.filter(|known| !known.cause.is_found_anew()) {
        return Some(lasting.clone());
    }
    let checked = || check(deps, &record.source, manifest);
    let Some(GrantRefusal { cause, reason }) =
        obstacle.or_else(|| checked().err().as_ref().map(GrantRefusal::of_policy))
    else {
        if known.is_some() {
            tracing::info!(
                rule.name = record.name,
                "a rule is out of quarantine: nothing is in its way any more"
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
