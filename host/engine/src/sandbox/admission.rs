//! Admission checks, run when a module arrives and not when it is first called.
//!
//! ```text
//!  bytes ──size──▶ structure: sections, imports, exports, bodies ──▶ format, features ──▶ manifest ──▶ CheckedModule
//!                       every failed check is a finding, with its offset
//! ```
//!
//! The structure is checked first. Only its limits bound the cost of the other checks and of compiling; the size of a
//! module does not.

mod body;
mod call_sites;
mod finding;
mod manifest;
mod structure;

use tollgate_guest_abi::limits::MODULE_BYTES_MAX;
use tollgate_guest_abi::{Manifest, RULES_PER_MODULE_MAX};
use wasmparser::{Validator, WasmFeatures};

pub use call_sites::CallSites;
pub use finding::{AdmissionFinding, AdmissionRefusal};
pub(super) use structure::MEMORY_EXPORT;

use crate::sandbox::CheckedModule;
use crate::sandbox::profile::FEATURES;
use finding::{AdmissionCheck, AdmissionFindings};
use structure::Structure;
use tollgate_model::instruction::{ContentDigest, Grant, Origin};

/// Runs every check.
pub(super) fn check(bytes: &[u8], origin: Origin) -> Result<CheckedModule, AdmissionRefusal> {
    let mut findings = AdmissionFindings::default();
    if bytes.len() > MODULE_BYTES_MAX {
        let n_bytes = bytes.len();
        findings.add(AdmissionCheck::Size, None, || {
            format!("the module has {n_bytes} bytes, at most {MODULE_BYTES_MAX} are allowed")
        });
        return Err(findings.into_refusal());
    }
    let structure = Structure::read(bytes, origin, &mut findings);
    // The compiler's own modules are validated where they are compiled.
    if structure.is_whole && origin != Origin::Compiler {
        validate(bytes, &mut findings);
    }
    let manifest = manifest::read(&structure.manifests, &mut findings);
    if let Some(manifest) = &manifest {
        check_rules(manifest, origin, &mut findings);
        if origin != Origin::Compiler {
            manifest::check(manifest, &mut findings);
        }
    }
    match manifest {
        Some(manifest) if findings.is_empty() => {
            let digest = ContentDigest::of_bytes(bytes);
            let (remembers, calls) = (structure.remembers, structure.calls);
            Ok(CheckedModule { manifest, digest, origin, remembers, calls })
        }
        _ => Err(findings.into_refusal()),
    }
}

/// Returns the manifest of any module with a readable one.
pub(super) fn manifest_of(bytes: &[u8]) -> Result<Option<Manifest>, AdmissionRefusal> {
    let mut findings = AdmissionFindings::default();
    if bytes.len() > MODULE_BYTES_MAX {
        return check(bytes, Origin::Compiler).map(|passed| Some(passed.manifest));
    }
    let structure =
        Structure::read(bytes, Origin::Untrusted(Grant::default()), &mut AdmissionFindings::default());
    if structure.manifests.is_empty() {
        return Ok(None);
    }
    manifest::read(&structure.manifests, &mut findings).map(Some).ok_or_else(|| findings.into_refusal())
}

fn check_rules(manifest: &Manifest, origin: Origin, findings: &mut AdmissionFindings) {
    let n_rules = manifest.rules.len();
    match origin {
        Origin::Compiler if !(1..=RULES_PER_MODULE_MAX).contains(&n_rules) => {
            findings.add(AdmissionCheck::Manifest, None, || {
                format!("a module must have 1 to {RULES_PER_MODULE_MAX} rules, this one has {n_rules}")
            });
        }
        Origin::Untrusted(_) if n_rules != 1 => findings.add(AdmissionCheck::Manifest, None, || {
            format!("a rule module must have exactly one rule, this one has {n_rules}")
        }),
        _ => {}
    }
}

/// Checks that the bytes are valid WebAssembly with only the enabled features.
fn validate(bytes: &[u8], findings: &mut AdmissionFindings) {
    let Err(error) = Validator::new_with_features(FEATURES).validate_all(bytes) else { return };
    let is_newer = Validator::new_with_features(WasmFeatures::all()).validate_all(bytes).is_ok();
    let (check, what) = if is_newer {
        (AdmissionCheck::Features, "a WebAssembly proposal that is not enabled")
    } else {
        (AdmissionCheck::Format, "not a valid module")
    };
    findings.add(check, Some(error.offset()), || format!("{what}: {}", error.message()));
}
