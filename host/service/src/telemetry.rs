//! Logs and metrics for operators.
//!
//! This module makes no decisions. The metrics are created at assembly and handed to the modules that report, so
//! several services in one process keep separate metrics.

pub mod logs;
pub mod metrics;
