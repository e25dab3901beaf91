//! An end in the middle: what was started is stopped, and what was written for it removed, on the ordinary way out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::error::BenchError;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Listens to SIGINT and SIGTERM from now on. Where it cannot, these end the process as they always do.
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

/// Whoever waits looks here from time to time.
///
/// # Errors
/// When somebody asked for an end.
pub(super) fn check() -> Result<(), BenchError> {
    if ASKED.load(Ordering::Relaxed) { Err(BenchError::Interrupted) } else { Ok(()) }
}
