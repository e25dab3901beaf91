//! Handles interrupts: the run stops its processes and removes its files on the ordinary exit path.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::error::BenchError;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Starts to catch SIGINT and SIGTERM. If that fails, the signals end the process as usual.
pub(super) fn listen() {
    thread::spawn(|| {
        let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let (interrupt, terminate) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
            if let (Ok(mut interrupt), Ok(mut terminate)) = (interrupt, terminate) {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                ASKED.store(true, Ordering::Relaxed);
            }
        });
    });
}

/// Checks for an interrupt; waiting loops call it regularly.
///
/// # Errors
/// When the user interrupted the run.
pub(super) fn check() -> Result<(), BenchError> {
    if ASKED.load(Ordering::Relaxed) { Err(BenchError::Interrupted) } else { Ok(()) }
}
