//! The end of threads that run beside a test.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets a flag when it is dropped. Threads of a scope that run until the flag is set end even if the test fails before; the scope
/// would wait for them for ever.
#[derive(Debug)]
#[must_use]
pub struct SetOnDrop<'f>(pub &'f AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
