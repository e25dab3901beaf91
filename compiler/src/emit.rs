//! The last stage: turns checked rules into one WebAssembly module.
//!
//! ```text
//!  &[CheckedRule] ──condition──▶ steps + slots ──single, fused──▶ instructions, cost ──module──▶ bytes
//!                                     └────────────────────── manifest ────────────────────────────┘
//! ```
//!
//! A slice of 1 to 64 rules becomes one module with one function that returns one bit per rule. The module has no
//! memory, no table, no global and no start function. It keeps no state, so its instances can be reused. It imports
//! only the rows of the import table that it calls. Single-rule modules are stored, hashed and read back. On the hot
//! path several rules are fused into one module, which makes each cacheable host call at most once.
//!
//! Inside the function a test is an `i32` of 0 or 1, and a number is an `f64`. NaN represents a missing value or a
//! non-number. NaN has no order, and `!=` is compiled as "less or greater", so a missing value fails every test without
//! extra code.

mod body;
mod comparison;
mod condition;
mod fused;
#[cfg(test)]
mod golden;
mod membership;
mod module;
mod operand;
mod selection;
mod single_rule;
mod slots;

use std::fmt;

use tollgate_guest_abi::limits::MODULE_BYTES_MAX;
use tollgate_guest_abi::{ABI_VERSION, Manifest, RULES_PER_MODULE_MAX, Semantics};

use crate::CheckedRule;
use crate::emit::body::{FunctionCode, Unsupported};
pub use selection::{NumberRange, Selection};

/// A module and its manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct EmittedModule {
    /// WebAssembly, at most [`MODULE_BYTES_MAX`] bytes, including the manifest.
    pub bytes: Vec<u8>,
    /// The decoded form of the same manifest.
    pub manifest: Manifest,
}

/// An error in emitting a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmitError {
    /// The slice is empty.
    NoRules,
    /// More rules than `evaluate` has bits.
    TooManyRules {
        /// Number of rules given.
        n_rules: usize,
    },
    /// The module would exceed the size that the host admits. A slice of several rules can be split.
    TooLarge {
        /// Size it would have.
        bytes: usize,
    },
    /// The fused function would be slow to compile. The slice can be split; a single rule is never refused for this.
    TooComplex {
        /// The limited quantity.
        what: &'static str,
        /// The amount there would be.
        n: usize,
        /// The limit.
        n_max: usize,
    },
    /// A rule has a form that no script can produce.
    Unsupported {
        /// Name of the rule.
        rule: String,
        /// Description of the form.
        form: &'static str,
    },
}

/// Emits one module for a slice of rules; rule `n` reports through bit `n`.
///
/// Equal needs share a slot across the slice, and a fused module makes each cacheable host call at most once. The
/// output is deterministic.
///
/// # Errors
/// Returns an error for an empty slice, for more than [`RULES_PER_MODULE_MAX`] rules, and for a rule that no script can
/// express. Also fails when the module exceeds [`MODULE_BYTES_MAX`] or the limits of a function.
pub fn emit(rules: &[CheckedRule]) -> Result<EmittedModule, EmitError> {
    if rules.is_empty() {
        return Err(EmitError::NoRules);
    }
    if rules.len() > RULES_PER_MODULE_MAX {
        return Err(EmitError::TooManyRules { n_rules: rules.len() });
    }
    let code = code(rules)?;
    let manifest = Manifest {
        abi_version: ABI_VERSION,
        semantics: Semantics::CURRENT,
        rules: rules.iter().map(|rule| rule.entry.clone()).collect(),
        needs: code.needs.clone(),
        cost: code.cost,
    };
    let bytes = module::encode(&code, &manifest);
    if bytes.len() > MODULE_BYTES_MAX {
        return Err(EmitError::TooLarge { bytes: bytes.len() });
    }
    Ok(EmittedModule { bytes, manifest })
}

/// Returns how often a rule's own module contains its most frequent history lookup; 0 when it has none. The single-rule
/// module makes and pays for each occurrence, a fused module only for one.
///
/// # Errors
/// [`EmitError::Unsupported`], as [`emit`].
pub fn repetitions(rule: &CheckedRule) -> Result<u32, EmitError> {
    single_rule::repetitions(&rule.when).map_err(|form| EmitError::unsupported(rule, &form))
}

fn code(rules: &[CheckedRule]) -> Result<FunctionCode, EmitError> {
    match rules {
        [rule] => single_rule::code(&rule.when).map_err(|form| EmitError::unsupported(rule, &form)),
        rules => fused::code(rules),
    }
}

impl EmitError {
    fn unsupported(rule: &CheckedRule, form: &Unsupported) -> Self {
        EmitError::Unsupported { rule: rule.entry.name.clone(), form: form.0 }
    }
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmitError::NoRules => f.write_str("a module needs at least one rule"),
            EmitError::TooManyRules { n_rules } => {
                write!(f, "{n_rules} rules for one module, at most {RULES_PER_MODULE_MAX} are allowed")
            }
            EmitError::TooLarge { bytes } => {
                write!(f, "the module would have {bytes} bytes, at most {MODULE_BYTES_MAX} are allowed")
            }
            EmitError::TooComplex { what, n, n_max } => {
                write!(f, "the function of these rules would have {n} {what}, at most {n_max} are allowed")
            }
            EmitError::Unsupported { rule, form } => {
                write!(f, "rule `{rule}` cannot be compiled to a module: it contains {form}")
            }
        }
    }
}

impl std::error::Error for EmitError {}
