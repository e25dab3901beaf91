//! The wait before the next attempt: random, up to a ceiling that doubles, so that clients of one peer do not reconnect
//! together. Not the crate `backon`: it adds its jitter to the wait, which could then take twice the configured
//! maximum.

use std::time::Duration;

/// The backoff state: the attempts since the last stable connection.
#[derive(Debug)]
pub(super) struct Backoff {
    min: Duration,
    max: Duration,
    n_attempts: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    /// Number of the attempt that follows, starting at 1.
    pub(super) n_attempts: u32,
    /// Upper bound of the wait.
    pub(super) ceiling: Duration,
    pub(super) time: Duration,
}

impl Backoff {
    pub(super) const fn new(min: Duration, max: Duration) -> Self {
        Self { min, max, n_attempts: 0 }
    }

    pub(super) fn next(&mut self) -> Wait {
        let factor = 1_u32.checked_shl(self.n_attempts).unwrap_or(u32::MAX);
        let ceiling = self.min.saturating_mul(factor).min(self.max);
        self.n_attempts = self.n_attempts.saturating_add(1);
        Wait { n_attempts: self.n_attempts, ceiling, time: ceiling.mul_f64(fastrand::f64()) }
    }

    pub(super) const fn reset(&mut self) {
        self.n_attempts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn ceilings_double_up_to_the_highest_and_begin_again() {
        let mut backoff = Backoff::new(500 * MS, 60_000 * MS);
        let ceilings: Vec<u128> = (0..40).map(|_| backoff.next().ceiling.as_millis()).collect();
        assert_eq!(ceilings[..8], [500, 1000, 2000, 4000, 8000, 16000, 32000, 60000]);
        assert!(ceilings[8..].iter().all(|ceiling| *ceiling == 60_000));
        backoff.reset();
        assert_eq!((backoff.next().ceiling, backoff.n_attempts), (500 * MS, 1));
    }

    #[test]
    fn waits_lie_anywhere_below_the_ceiling() {
        let mut backoff = Backoff::new(1000 * MS, 1000 * MS);
        let mut tenths = [0; 10];
        for _ in 0..10_000 {
            let wait = backoff.next();
            assert!(wait.time < wait.ceiling);
            tenths[(wait.time.as_millis() / 100) as usize] += 1;
        }
        assert!(tenths.iter().all(|n| (700..1300).contains(n)), "{tenths:?}");
    }
}
