//! The clock on the wall, behind a door, so that a test can set it.

use chrono::{DateTime, Utc};

/// Tells the time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Now. It may jump, also backwards: order comes from sequence numbers, never from here.
    fn now(&self) -> DateTime<Utc>;
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}
