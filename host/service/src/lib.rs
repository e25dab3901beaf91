//! Tollgate: real-time transaction monitoring with sandboxed rules.
//!
//! The command line, and the assembly of the service from its crates:
//!
//! ```text
//!  telemetry ◀── rules ◀──┐
//!      ▲                  ├── api ◀── service
//!      └────── pipeline ◀─┘
//! ```

pub mod cli;
pub mod service;
