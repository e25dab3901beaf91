//! Settings, readiness, logs, metrics and traces for operators.
//!
//! This crate judges no payment and changes no rule. The metrics and the readiness checks are created at assembly and
//! handed to the modules that report, so several services in one process keep separate ones.

pub mod config;
pub mod holding;
pub mod latency;
pub mod logs;
pub mod metrics;
pub mod readiness;
pub mod request_ids;
pub mod traces;
