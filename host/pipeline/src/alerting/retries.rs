//! Retry delays: those of the settings, with random jitter.

use std::time::Duration;

/// Maximum deviation from the configured delay, as a fraction of it.
const JITTER: f64 = 0.2;

#[derive(Debug, Clone)]
pub(super) struct Retries {
    waits: Vec<Duration>,
}

impl Retries {
    pub(super) const fn new(waits: Vec<Duration>) -> Self {
        Self { waits }
    }

    /// Returns the delay after `n_attempts` attempts, or `None` after the last one.
    pub(super) fn after(&self, n_attempts: u32) -> Option<Duration> {
        let index = usize::try_from(n_attempts).unwrap_or(usize::MAX).checked_sub(1)?;
        let wait = self.waits.get(index)?;
        Some(wait.mul_f64(1.0 - JITTER + 2.0 * JITTER * fastrand::f64()))
    }

    /// Returns the longest possible delay for each number of attempts made, in microseconds. The first attempt has no
    /// delay.
    pub(super) fn longest_micros(&self) -> Vec<i64> {
        let longest = self.waits.iter().map(|wait| wait.mul_f64(1.0 + JITTER).as_micros());
        std::iter::once(0).chain(longest.map(|micros| i64::try_from(micros).unwrap_or(i64::MAX))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attempt_has_its_wait_and_the_last_has_none() {
        let retries = Retries::new(vec![Duration::from_secs(5), Duration::from_secs(300)]);
        for _ in 0..1000 {
            let [first, second] = [1, 2].map(|n| retries.after(n).unwrap().as_secs_f64());
            assert!((4.0..6.0).contains(&first) && (240.0..360.0).contains(&second), "{first} {second}");
        }
        assert_eq!((retries.after(0), retries.after(3), retries.after(u32::MAX)), (None, None, None));
        assert_eq!(retries.longest_micros(), [0, 6_000_000, 360_000_000]);
    }
}
