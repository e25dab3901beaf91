//! The contract between a rule module and its host.
//!
//! ```text
//!  compiler ──emit──▶ module { imports, `evaluate`, manifest section } ──admit──▶ host
//!                         ▲                                     ▲
//!                         └──────────── this crate ─────────────┘
//! ```
//!
//! The compiler writes the import section from the import table ([`imports`]), the host links from it, and admission
//! checks against it. At run time a module refers to data by small integers, the *slots* of its [`Manifest`]. The
//! manifest defines each slot, so the data a rule can read is known before it runs.
//!
//! This crate has no IO, no clock and no dependency on the rest of the service. It is `no_std` with `alloc`, except with
//! the feature `openapi`. `docs/abi.md` describes the contract.
#![cfg_attr(not(feature = "openapi"), no_std)]

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
pub mod prices;
mod semantics;
mod time;
mod verdict;
mod window;

pub use aggregate::{AggregateFunction, AggregateSpec};
pub use condition::{ArithmeticOperator, Comparison, Condition, Item, ListSource, Operand};
pub use cost::Cost;
pub use field::{FieldPath, FieldType, STAGES, split_path};
pub use manifest::{Manifest, ManifestError, Needs, RuleEntry};
pub use number::{Number, comparable_double};
pub use previous::{MatchPair, PreviousSpec};
pub use semantics::{Semantics, UnknownSemantics};
pub use time::{TimeFunction, TimeSpec};
pub use verdict::{Verdict, VerdictSeverity};
pub use window::Window;

/// The version of this contract. A module states it in its manifest; the host refuses other versions.
pub const ABI_VERSION: u32 = 1;

/// Name of the custom section that carries the [`Manifest`] as JSON.
pub const MANIFEST_SECTION: &str = "tollgate.manifest";

/// Name of the required export: `evaluate: () -> i64`, with bit `n` set when rule `n` of the manifest matched.
pub const EVALUATE_EXPORT: &str = "evaluate";

/// Most rules of one module: one bit of an `i64` each.
pub const RULES_PER_MODULE_MAX: usize = 64;
