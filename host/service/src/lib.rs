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

mod config;
mod holding;
mod readiness;
mod telemetry;

// flows
mod activity;
mod alerting;
mod audit;
mod git_sync;
pub mod intake;
mod ledger_sync;
mod monitor;
mod payments;

// interfaces
mod api;
pub mod cli;

// assembly
pub mod service;
