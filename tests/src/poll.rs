//! Waits for what nothing announces, by looking again and again.

use std::thread;
use std::time::{Duration, Instant};

/// The first pause between two looks and the longest one. A look is a request or a program, so a test that waits long looks rarely.
const FIRST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(50);

/// Time within which what a test waits for happens, also on a machine that is busy with other things. Not for what the service
/// promises.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Pauses between looks, each half as long again as the one before.
#[derive(Debug)]
pub struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Pauses {
    /// Sleeps until the next look.
    pub fn pause(&mut self) {
        thread::sleep(self.next);
        self.next = (self.next * 3 / 2).min(LONGEST);
    }
}

/// Waits until a condition holds. Returns how long it took.
///
/// # Panics
/// Panics if it does not hold in time.
#[track_caller]
pub fn until(what: &str, patience: Duration, mut holds: impl FnMut() -> bool) -> Duration {
    let (start, mut pauses) = (Instant::now(), Pauses::default());
    while !holds() {
        assert!(start.elapsed() < patience, "waited {patience:?} in vain until {what}");
        pauses.pause();
    }
    start.elapsed()
}
