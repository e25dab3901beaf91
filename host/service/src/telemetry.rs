//! What the service tells its operators: log lines and numbers.
//!
//! Nothing in here decides anything. Both are values made at assembly and handed to the rooms that report; several
//! services in one process do not mix their numbers.

pub mod logs;
pub mod metrics;
