//! Logs, metrics and traces for operators.
//!
//! This module makes no decisions. The metrics are created at assembly and handed to the modules that report, so
//! several services in one process keep separate metrics.

pub(crate) mod latency;
pub(crate) mod logs;
pub(crate) mod metrics;
pub(crate) mod request_ids;
pub(crate) mod traces;
