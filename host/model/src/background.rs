//! Long-running work on cores that also evaluate transactions.
//!
//! A scheduler preempts a running thread only every few milliseconds (Linux at 250 Hz: 4 ms). It does not always move
//! the waiting threads to an idle core. Work that does not yield delays payments by that time.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The nice value of a background thread. On a busy machine it gets about a tenth of a core.
const NICENESS: i32 = 10;

/// Runs long work on a separate thread of low priority, which an arriving payment preempts. Work that has begun runs to
/// completion.
///
/// # Errors
/// If the system cannot start a thread, or the work panics.
pub async fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let (answer, answered) = oneshot::channel();
    let runtime = Handle::current();
    start(move || {
        let _runtime = runtime.enter();
        answer.send(work()).ok();
    })?;
    answered.await.map_err(|_| io::Error::other("a background thread ended unexpectedly"))
}

/// Drops a value on a separate thread of low priority, for one whose memory takes long to free.
pub fn drop_in_background<T: Send + 'static>(value: T) {
    // Without a thread it is dropped with the closure, on this one.
    start(move || drop(value)).ok();
}

fn start(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("background".to_owned()).spawn(move || {
        // On other systems `nice` affects the whole process. A failure is ignored: the work runs anyway.
        #[cfg(target_os = "linux")]
        rustix::process::nice(NICENESS).ok();
        work();
    })?;
    Ok(())
}

/// Maximum time between two yields. Reading the clock takes less than a thousandth of it.
const STRETCH: Duration = Duration::from_micros(100);

/// Returns the same items. Between items it yields the core whenever 100 µs have passed since the last yield.
pub fn yielding<I: IntoIterator>(items: I) -> impl Iterator<Item = I::Item> {
    let mut pace = Pace::default();
    items.into_iter().inspect(move |_| pace.step())
}

/// The pace of work that consists of short steps.
#[derive(Debug)]
pub struct Pace {
    since: Instant,
}

impl Default for Pace {
    fn default() -> Self {
        Self { since: Instant::now() }
    }
}

impl Pace {
    /// Yields the core if 100 µs have passed since the last yield. Called between steps.
    pub fn step(&mut self) {
        if self.since.elapsed() >= STRETCH {
            thread::yield_now();
            self.since = Instant::now();
        }
    }
}

/// Returns the time of a processor that this thread has taken so far.
#[must_use]
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_on_the_way() {
        let slow = (0..20).inspect(|_| thread::sleep(STRETCH / 2));
        assert!(yielding(slow).eq(0..20));
        assert_eq!(yielding([0; 0]).next(), None);
    }
}
