//! Tollgate: real-time transaction monitoring with sandboxed rules.
//!
//! ```text
//!  script text ──intake──▶ module + manifest ──admission──▶ rule set (immutable, versioned)
//!                                                               │
//!  transaction ──monitor: parse, admit, evaluate, commit────────┴──▶ assessment ──▶ answer
//! ```
//!
//! Modules stand in layers; a module uses what stands above it, never what stands below: see `ARCHITECTURE.md`.

pub mod config;
pub mod readiness;
pub mod telemetry;

// flows
pub mod alerting;
pub mod audit;
pub mod git_sync;
pub mod intake;
pub mod ledger_sync;
pub mod monitor;
pub mod payments;

// doors
pub mod api;
pub mod cli;

// assembly
pub mod service;
