//! Rules are held against the operator's policy before they come into force.

use tollgate_engine::policy::Denial;
use tollgate_engine::sandbox::{AdmittedModule, Grant};
use tollgate_guest_abi::Manifest;
use tollgate_model::instruction::{InstructionRecord, InstructionSource, Quarantine, QuarantineCause};

use crate::intake::{IntakeError, Means};

/// What a module from this source may use that the compiler did not make.
pub(super) fn budget(means: &Means, source: &InstructionSource) -> Result<Grant, IntakeError> {
    Ok(means.policy.of(source)?.budget())
}

/// Whether a rule from this source may be in force.
pub(super) fn check(
    means: &Means,
    source: &InstructionSource,
    manifest: &Manifest,
) -> Result<(), IntakeError> {
    Ok(means.policy.of(source)?.check(manifest)?)
}

/// Whether a rule may run again as it was admitted.
pub(super) fn check_again(
    means: &Means,
    source: &InstructionSource,
    module: &AdmittedModule,
) -> Result<(), IntakeError> {
    check(means, source, &module.manifest)?;
    let granted = budget(means, source)?;
    match module.grant() {
        Some(grant) if grant.memory_bytes > granted.memory_bytes => Err(Denial::of_memory().into()),
        _ => Ok(()),
    }
}

/// Why a rule that was in force before cannot be run any more.
#[derive(Debug)]
pub(super) struct Obstacle {
    /// One that is found anew each time.
    pub(super) cause: QuarantineCause,
    pub(super) reason: String,
}

impl Obstacle {
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
    means: &Means,
    record: &InstructionRecord,
    manifest: &Manifest,
    obstacle: Option<Obstacle>,
) -> Option<Quarantine> {
    let known = record.quarantine.as_ref();
    // Whoever releases it hears of all else then.
    if let Some(lasting) = known.filter(|known| !known.cause.is_found_anew()) {
        return Some(lasting.clone());
    }
    let checked = || check(means, &record.source, manifest);
    let Some(Obstacle { cause, reason }) =
        obstacle.or_else(|| checked().err().as_ref().map(Obstacle::of_policy))
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
    let since = before.map_or_else(|| means.clock.now(), |before| before.since);
    Some(Quarantine { since, cause, reason })
}
