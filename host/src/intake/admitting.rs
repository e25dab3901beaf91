//! Where modules that other compilers made are let in.

use std::fmt;

use tollgate_guest_abi::limits::{FUEL_PER_RUN, HOST_CALLS_MAX, NAME_BYTES_MAX};
use tollgate_guest_abi::{Cost, MANIFEST_SECTION, Manifest, Needs, RuleEntry};

use crate::intake::IntakeError;
use crate::sandbox::{AdmittedModule, Sandbox};

/// The check that manifests have to pass.
pub const MANIFEST_CHECK: &str = "manifest";

/// The check that compiling is.
const COMPILATION_CHECK: &str = "compilation";

/// Why a module is not let in: every check it does not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// At least one.
    pub findings: Vec<Finding>,
}

/// A check that a module does not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its name; stable.
    pub check: &'static str,
    /// The byte of the module, from 0; `None` where no single place is at fault.
    pub offset: Option<usize>,
    /// What is wrong, for people; one line.
    pub message: String,
}

/// What a module that would be let in says of itself, and what it costs.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedModule {
    /// Its one rule.
    pub rule: RuleEntry,
    /// What it asks about.
    pub needs: Needs,
    /// Worst case of one evaluation.
    pub cost: Cost,
}

/// Puts a module through admission without bringing it into force.
///
/// # Errors
/// Every check that it does not pass.
pub fn check_module(bytes: &[u8]) -> Result<CheckedModule, Refusal> {
    let sandbox = Sandbox::new().map_err(|error| refusal_of(COMPILATION_CHECK, error.to_string()))?;
    let refused = |error| match error {
        IntakeError::ModuleRefused(refusal) => refusal,
        error => refusal_of(COMPILATION_CHECK, error.to_string()),
    };
    let module = admit(&sandbox, bytes).map_err(refused)?;
    let rule = only_rule(&module.manifest).map_err(refused)?;
    let cost = cost_of(&module.manifest);
    Ok(CheckedModule { rule, needs: module.manifest.needs, cost })
}

/// Checks and compiles a module.
///
/// # Errors
/// [`IntakeError::ModuleRefused`], and [`IntakeError::CompilerUnavailable`] when nobody can say now.
pub(super) fn admit(sandbox: &Sandbox, bytes: &[u8]) -> Result<AdmittedModule, IntakeError> {
    sandbox
        .admit(bytes)
        .map_err(|refusal| IntakeError::ModuleRefused(refusal_of(COMPILATION_CHECK, refusal.to_string())))
}

/// A refusal by one check, at no single place.
#[must_use]
pub(super) fn refusal_of(check: &'static str, message: impl Into<String>) -> Refusal {
    Refusal { findings: vec![Finding { check, offset: None, message: message.into() }] }
}

/// The one rule that such a module answers for. Its name is what a script could call a rule, so that it can name a file.
pub(super) fn only_rule(manifest: &Manifest) -> Result<RuleEntry, IntakeError> {
    let refuse = |message: String| Err(IntakeError::ModuleRefused(refusal_of(MANIFEST_CHECK, message)));
    let [rule] = manifest.rules.as_slice() else {
        return refuse(format!("a module answers for one rule, this one for {}", manifest.rules.len()));
    };
    if !is_name(&rule.name) {
        return refuse(format!(
            "a rule's name is letters, digits and `_`, does not begin with a digit, and has at most {NAME_BYTES_MAX} bytes"
        ));
    }
    Ok(rule.clone())
}

fn is_name(name: &str) -> bool {
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word
        && name.len() <= NAME_BYTES_MAX
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// The worst case of one evaluation: what such a module is granted, whatever it says of itself.
pub(super) fn cost_of(manifest: &Manifest) -> Cost {
    let n_lookups = manifest.needs.aggregates.len() + manifest.needs.previous.len();
    Cost {
        instructions: u32::try_from(FUEL_PER_RUN).unwrap_or(u32::MAX),
        host_calls: HOST_CALLS_MAX,
        history_lookups: u32::try_from(n_lookups).unwrap_or(u32::MAX),
    }
}

/// The module as it is kept: with its own manifest, or with one that was sent beside it.
pub(super) fn complete(module: Vec<u8>, manifest: Option<&Manifest>) -> Result<Vec<u8>, IntakeError> {
    match manifest {
        None => Ok(module),
        Some(_) if has_manifest(&module) => {
            let message = "the module has a manifest already, so no parameters may stand beside it";
            Err(IntakeError::ModuleRefused(refusal_of(MANIFEST_CHECK, message)))
        }
        Some(manifest) => Ok(with_manifest(&module, manifest)),
    }
}

/// The module with this manifest as its last section.
#[must_use]
pub(super) fn with_manifest(module: &[u8], manifest: &Manifest) -> Vec<u8> {
    let mut section = Vec::new();
    write_length(&mut section, MANIFEST_SECTION.len());
    section.extend_from_slice(MANIFEST_SECTION.as_bytes());
    section.extend_from_slice(&manifest.to_bytes());
    let mut bytes = module.to_vec();
    bytes.push(CUSTOM_SECTION);
    write_length(&mut bytes, section.len());
    bytes.extend_from_slice(&section);
    bytes
}

/// Whether a module carries a manifest, as far as its sections can be told apart.
#[must_use]
pub(super) fn has_manifest(module: &[u8]) -> bool {
    let mut rest = module.get(HEADER_BYTES..).unwrap_or_default();
    while let Some((&id, behind)) = rest.split_first() {
        let Some((length, behind)) = read_length(behind) else { return false };
        let Some((section, behind)) = behind.split_at_checked(length) else { return false };
        rest = behind;
        let name = read_length(section).and_then(|(length, text)| text.get(..length));
        if id == CUSTOM_SECTION && name == Some(MANIFEST_SECTION.as_bytes()) {
            return true;
        }
    }
    false
}

const HEADER_BYTES: usize = 8;
const CUSTOM_SECTION: u8 = 0;

/// An unsigned number in LEB128.
fn write_length(bytes: &mut Vec<u8>, mut length: usize) {
    while length > 0x7f {
        bytes.push(u8::try_from(length & 0x7f).unwrap_or_default() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap_or_default());
}

fn read_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut length = 0_usize;
    for (place, byte) in bytes.iter().enumerate().take(5) {
        length |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((length, bytes.get(place + 1..)?));
        }
    }
    None
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, Finding { check, offset, message }) in self.findings.iter().enumerate() {
            let between = if place == 0 { "" } else { "; " };
            match offset {
                Some(offset) => write!(f, "{between}{check} at byte {offset}: {message}")?,
                None => write!(f, "{between}{check}: {message}")?,
            }
        }
        Ok(())
    }
}
