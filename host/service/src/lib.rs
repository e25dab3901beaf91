//! Tollgate: real-time transaction monitoring with sandboxed rules.
//!
//! ```text
//!  script text ──intake──▶ module + manifest ──admission──▶ rule set (immutable, versioned)
//!                                                               │
//!  transaction ──monitor: parse, admit, evaluate, commit────────┴──▶ assessment ──▶ answer
//! ```
//!
//! The modules form layers: a module uses only modules of its own group and of the groups above it, without cycles. See
//! `ARCHITECTURE.md`.

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

// interfaces
pub mod api;
pub mod cli;

// assembly
pub mod service;
