//! Admission of modules from other compilers.

use tollgate_engine::artifacts::{AdmitError, Artifacts};
use tollgate_engine::sandbox::{
    AdmissionFinding, AdmissionRefusal, AdmittedModule, manifest_of, with_manifest,
};
use tollgate_guest_abi::{Manifest, RuleEntry};
use tollgate_model::calendar::{ZoneData, unknown_zone};
use tollgate_model::instruction::Grant;

use crate::intake::IntakeError;

/// Name of the admission check for manifests.
pub const MANIFEST_CHECK: &str = "manifest";

/// Checks and compiles a module with this grant.
///
/// # Errors
/// [`IntakeError::ModuleRefused`], and [`IntakeError::CompilerUnavailable`] if admission is temporarily unavailable.
pub(super) fn admit(
    artifacts: &Artifacts,
    bytes: &[u8],
    grant: Grant,
) -> Result<AdmittedModule, IntakeError> {
    artifacts.admit(bytes, grant).map_err(|error| match error {
        AdmitError::Refused(refusal) => IntakeError::ModuleRefused(refusal),
        AdmitError::Unavailable(why) => {
            tracing::error!(error = why, "a module cannot be compiled");
            IntakeError::CompilerUnavailable(why)
        }
    })
}

/// Refuses a module that names a time zone missing from `zones`.
///
/// # Errors
/// [`IntakeError::ModuleRefused`].
pub(super) fn check_zones(module: &[u8], zones: &ZoneData) -> Result<(), IntakeError> {
    // Admission reports errors of the manifest.
    let Ok(Some(manifest)) = manifest_of(module) else { return Ok(()) };
    unknown_zone(&manifest.needs, zones).map_or(Ok(()), |unknown| Err(refused(&unknown.to_string())))
}

pub(super) fn only_rule(manifest: &Manifest) -> Result<RuleEntry, IntakeError> {
    manifest
        .rules
        .first()
        .cloned()
        .ok_or_else(|| refused("a rule module must have exactly one rule, this one has none"))
}

/// Returns the module for storage: with its own manifest, or with a separately sent one.
pub(super) fn complete(module: Vec<u8>, manifest: Option<&Manifest>) -> Result<Vec<u8>, IntakeError> {
    let Some(manifest) = manifest else { return Ok(module) };
    match manifest_of(&module).map_err(IntakeError::ModuleRefused)? {
        None => Ok(with_manifest(&module, manifest)),
        Some(_) => Err(refused("the module already has a manifest, so no separate parameters are allowed")),
    }
}

fn refused(message: &str) -> IntakeError {
    let finding = AdmissionFinding { check: MANIFEST_CHECK, offset: None, message: message.to_owned() };
    IntakeError::ModuleRefused(AdmissionRefusal { findings: vec![finding] })
}
