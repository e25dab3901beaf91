//! Rules of people who are not trusted, run on a transaction.
//!
//! ```text
//!  module ──sandbox: admit──▶ artifacts ──registry: bind──▶ rule set ──fusion──▶ evaluation ──▶ outcomes
//! ```
//!
//! It promises that a rule reads nothing but its transaction and the answers of the history, costs a bounded amount, and disturbs no
//! other rule. It is the only crate that names wasmtime.
//!
//! It knows no store, no HTTP and no Git; of processes only how its module compiler is started.

pub mod artifacts;
pub mod evaluation;
pub mod fusion;
pub mod policy;
pub mod registry;
pub mod sandbox;
