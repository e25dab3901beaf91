//! Tollgate: real-time transaction monitoring with sandboxed rules.
//!
//! ```text
//!  script text ──intake──▶ module + manifest ──admission──▶ rule set (immutable, versioned)
//!                                                               │
//!  transaction ──monitor: parse, admit, evaluate, commit────────┴──▶ assessment ──▶ answer
//! ```
//!
//! Rooms stand in layers; a room uses what stands above it, never what stands below: see `ARCHITECTURE.md`.

// nouns
pub mod alert;
pub mod assessment;
pub mod calendar;
pub mod clock;
pub mod config;
pub mod courtesy;
pub mod decimal;
pub mod instruction;
pub mod ledger_kind;
pub mod named_list;
pub mod pattern;
pub mod sequence;
pub mod signature;
pub mod transaction;
pub mod value_set;

// engine
pub mod evaluation;
pub mod fusion;
pub mod history;
pub mod policy;
pub mod registry;
pub mod sandbox;

// edges
pub mod artifacts;
pub mod confinement;
pub mod git;
pub mod ledger;
pub mod outbound;
pub mod readiness;
pub mod store;
pub mod telemetry;
pub mod tls;

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
pub mod bench;
pub mod cli;

// assembly
pub mod service;
