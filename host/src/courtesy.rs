//! Long work on cores that transactions are judged on.
//!
//! A scheduler looks at who waits for a core every few milliseconds alone (Linux at 250 Hz: 4), and does not always move them
//! to one that is idle. Whoever works on for so long makes payments wait for so long.

use std::thread;
use std::time::{Duration, Instant};

/// Longest time at a stretch; a look at the clock takes less than a thousandth of it.
const STRETCH: Duration = Duration::from_micros(100);

/// The same items; between two of them whoever waits for this core goes first, as often as that is due.
pub fn considerately<I: IntoIterator>(items: I) -> impl Iterator<Item = I::Item> {
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
        assert!(considerately(slow).eq(0..20));
        assert_eq!(considerately([0; 0]).next(), None);
    }
}
