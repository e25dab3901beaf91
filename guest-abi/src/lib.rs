//! The contract between a rule module and its host.
//!
//! ```text
//!  compiler ──emit──▶ module { imports, `evaluate`, manifest section } ──admit──▶ host
//!                         ▲                                     ▲
//!                         └────────── this crate says ──────────┘
//! ```
//!
//! One table of imports ([`imports`]) has three readers: the compiler writes the import section from it, the host links
//! from it, and admission refuses by it. What a module asks for at run time are small integers, the *slots* of its
//! [`Manifest`]; the manifest says what stands behind each slot, so what a rule may see is known before it runs.
//!
//! This crate knows nobody: no IO, no clock, no allocation but `alloc`. In prose: `docs/abi.md`.
#![no_std]

extern crate alloc;

mod aggregate;
mod condition;
mod cost;
mod field;
pub mod imports;
pub mod limits;
mod manifest;
mod number;
mod previous;
mod semantics;
mod time;
mod verdict;
mod window;

pub use aggregate::{AggregateFunction, AggregateSpec};
pub use condition::{ArithmeticOperator, Comparison, Condition, Item, ListSource, Operand};
pub use cost::Cost;
pub use field::{FieldPath, FieldType, split_path};
pub use manifest::{Manifest, ManifestError, Needs, RuleEntry};
pub use number::{Number, comparable_double};
pub use previous::{MatchPair, PreviousSpec};
pub use semantics::{Semantics, UnknownSemantics};
pub use time::{TimeFunction, TimeSpec};
pub use verdict::{Verdict, VerdictSeverity};
pub use window::Window;

/// The version of this contract. A module names it in its manifest; the host refuses versions it does not know.
pub const ABI_VERSION: u32 = 1;

/// Name of the custom section that carries the [`Manifest`] as JSON.
pub const MANIFEST_SECTION: &str = "tollgate.manifest";

/// Name of the one export: `evaluate: () -> i64`, bit `n` set when rule `n` of the manifest matched.
pub const EVALUATE_EXPORT: &str = "evaluate";

/// Most rules one module may answer for: one bit of an `i64` each.
pub const RULES_PER_MODULE_MAX: usize = 64;
