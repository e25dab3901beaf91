//! The epoch ticker: one epoch per millisecond, so that no guest runs forever.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wasmtime::EngineWeak;

pub(super) const EPOCH: Duration = Duration::from_millis(1);

/// Advances the epoch until dropped.
#[derive(Debug)]
pub(super) struct EpochTicker {
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl EpochTicker {
    pub(super) fn start(engine: EngineWeak) -> io::Result<Self> {
        let stopped = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stopped);
        let tick = move || {
            while !seen.load(Ordering::Relaxed) {
                thread::sleep(EPOCH);
                match engine.upgrade() {
                    Some(engine) => engine.increment_epoch(),
                    None => break,
                }
            }
        };
        let thread = thread::Builder::new().name("epoch".to_owned()).spawn(tick)?;
        Ok(Self { stopped, thread: Some(thread) })
    }
}

impl Drop for EpochTicker {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread has no result to report.
            drop(thread.join());
        }
    }
}
