//! Runs rules of untrusted authors on a transaction.
//!
//! ```text
//!  module ──sandbox: admit──▶ artifacts ──registry: bind──▶ rule set ──fusion──▶ evaluation ──▶ outcomes
//! ```
//!
//! INVARIANT: a rule reads only its transaction and answers of the history, has a bounded cost, and does not affect
//! other rules. This is the only crate that depends on wasmtime.
//!
//! The crate has no dependency on the store, HTTP or Git; it starts no process except the module compiler.

pub mod artifacts;
pub mod evaluation;
pub mod fusion;
pub mod policy;
pub mod registry;
pub mod sandbox;
