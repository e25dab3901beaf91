//! Long work on cores that transactions are judged on.
//!
//! A scheduler looks at who waits for a core every few milliseconds alone (Linux at 250 Hz: 4), and does not always move them
//! to one that is idle. Whoever works on for so long makes payments wait for so long.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// How far a thread in the background stands back: where every core is wanted, it gets a tenth of one.
const NICENESS: i32 = 10;

/// Runs long work on a thread of its own that stands back behind those that judge: a payment that arrives interrupts it. Work that is
/// begun is carried to its end.
///
/// # Errors
/// When the system gives no thread, or the work panics.
pub async fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let (answer, answered) = oneshot::channel();
    let runtime = Handle::current();
    thread::Builder::new().name("background".to_owned()).spawn(move || {
        // Elsewhere the whole process would stand back. Whoever may not works all the same.
        #[cfg(target_os = "linux")]
        rustix::process::nice(NICENESS).ok();
        let _runtime = runtime.enter();
        answer.send(work()).ok();
    })?;
    answered.await.map_err(|_| io::Error::other("a thread in the background ended early"))
}

/// Longest time at a stretch; a look at the clock takes less than a thousandth of it.
const STRETCH: Duration = Duration::from_micros(100);

/// The same items; between two of them whoever waits for this core goes first, as often as that is due.
pub fn yielding<I: IntoIterator>(items: I) -> impl Iterator<Item = I::Item> {
    let mut since = Instant::now();
    items.into_iter().inspect(move |_| {
        if since.elapsed() >= STRETCH {
            thread::yield_now();
            since = Instant::now();
        }
    })
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
