//! Checked rules to one module: the last stage of the script river.
//!
//! ```text
//!  &[CheckedRule] ──condition──▶ steps + slots ──alone, fused──▶ instructions, cost ──module──▶ bytes
//!                                     └────────────────────── manifest ────────────────────────────┘
//! ```
//!
//! One slice of 1 to 64 rules becomes one module with one function that answers a bit per rule. The module has no
//! memory, no table, no global and no start: it cannot remember anything, so its instances may be reused. It calls
//! nothing but rows of the import table, and only those it needs. A rule alone is what is stored, digested and read back;
//! several rules are fused for the hot path, and ask together no more than each would ask alone.
//!
//! Inside the function a test is an `i32` of 0 or 1, and a number is an `f64` with NaN for "missing or no number": no
//! order holds of NaN, and `!=` is written as "less or greater", so a missing value fails every test by itself.

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

/// A module and what it says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct EmittedModule {
    /// WebAssembly, at most [`MODULE_BYTES_MAX`] bytes; the manifest is in it.
    pub bytes: Vec<u8>,
    /// The same manifest, read.
    pub manifest: Manifest,
}

/// Why no module could be made of these rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmitError {
    /// An empty slice.
    NoRules,
    /// More rules than `evaluate` has bits.
    TooManyRules {
        /// How many were given.
        n_rules: usize,
    },
    /// The module would be larger than the host admits. A slice of several rules can be split.
    TooLarge {
        /// How large it would be.
        bytes: usize,
    },
    /// The function of several rules would be slow to compile. The slice can be split; a rule alone is always taken.
    TooComplex {
        /// What there is too much of.
        what: &'static str,
        /// How much there would be.
        n: usize,
        /// How much there may be.
        n_max: usize,
    },
    /// A rule has a form that no script can have.
    Unsupported {
        /// The rule's name.
        rule: String,
        /// The form.
        form: &'static str,
    },
}

/// Makes one module of a slice of rules; rule `n` answers with bit `n`.
///
/// Equal needs share a slot across the rules of the slice, and several rules ask each question at most once between them.
/// The same slice always gives the same bytes.
///
/// # Errors
/// When there are no rules, more than [`RULES_PER_MODULE_MAX`], more than fit into [`MODULE_BYTES_MAX`] or one
/// function, or one that the language cannot say.
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

/// In how many places of a rule's own module one question to the history stands, at most: so often it is asked there, and paid
/// for, where a module of several rules asks once. 0 when the rule asks the history nothing.
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
                write!(f, "rule `{rule}` cannot be made into a module: {form}")
            }
        }
    }
}

impl std::error::Error for EmitError {}
