//! Rules are held against the operator's policy before they come into force.

use tollgate_guest_abi::Manifest;

use crate::instruction::{InstructionRecord, InstructionSource, Quarantine, QuarantineCause};
use crate::intake::{IntakeError, Means};
use crate::policy::Denial;
use crate::sandbox::Grant;

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

/// The quarantine of a rule that was in force before: one that the policy does not grant any more is in the way of nobody, and
/// nothing slips through in its place.
pub(super) fn quarantine(
    means: &Means,
    record: &InstructionRecord,
    manifest: &Manifest,
    has_memory: bool,
) -> Option<Quarantine> {
    let by_policy = record.quarantine.as_ref().filter(|known| known.cause == QuarantineCause::Policy);
    let memory = if has_memory { Ok(()) } else { Err(IntakeError::NotGranted(Denial::of_memory())) };
    match check(means, &record.source, manifest).and(memory) {
        Ok(()) if by_policy.is_some() => {
            tracing::info!(rule.name = record.name, "the rule policy grants a rule what it needs again");
            None
        }
        Ok(()) => record.quarantine.clone(),
        // Whoever releases it hears of the policy then.
        Err(_) if record.quarantine.is_some() && by_policy.is_none() => record.quarantine.clone(),
        Err(error) => {
            let reason = error.to_string();
            if by_policy.is_none_or(|known| known.reason != reason) {
                tracing::error!(
                    rule.name = record.name,
                    reason,
                    "a rule is in quarantine; transactions are held for review in its place"
                );
            }
            let since = by_policy.map_or_else(|| means.clock.now(), |known| known.since);
            Some(Quarantine { since, cause: QuarantineCause::Policy, reason })
        }
    }
}
