//! Times of requests, counted in classes that are fine enough for quantiles.
//!
//! A class is a quarter of a power of two of microseconds, so a quantile is at most a quarter too high.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Classes up to 67 s; longer times are in the last one.
pub const N_CLASSES: usize = 104;

/// Counts of times by class.
#[derive(Debug)]
pub struct LatencyCounts([AtomicU64; N_CLASSES]);

impl Default for LatencyCounts {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; N_CLASSES])
    }
}

impl LatencyCounts {
    /// Counts a time.
    pub fn note(&self, time: Duration) {
        if let Some(count) = self.0.get(class_of(time)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn read(&self) -> [u64; N_CLASSES] {
        let mut counts = self.0.iter();
        [(); N_CLASSES].map(|()| counts.next().map_or(0, |count| count.load(Ordering::Relaxed)))
    }
}

fn class_of(time: Duration) -> usize {
    let micros = usize::try_from(time.as_micros()).unwrap_or(usize::MAX);
    if micros < 4 {
        return micros;
    }
    let power = micros.ilog2() as usize;
    ((power - 1) * 4 + ((micros >> (power - 2)) & 3)).min(N_CLASSES - 1)
}

/// Returns the least time, in microseconds, that is above all of a class.
fn end_of(class: usize) -> u64 {
    if class < 4 {
        return class as u64 + 1;
    }
    let (power, quarter) = (class / 4 + 1, class as u64 % 4);
    (4 + quarter + 1) << (power - 2)
}

/// Returns an upper bound of the quantile `per_mille` of some times, in microseconds; `None` without any.
pub fn quantile(counts: impl Iterator<Item = (usize, u64)> + Clone, per_mille: u64) -> Option<u64> {
    let n_times: u64 = counts.clone().map(|(_, count)| count).sum();
    let rank = (n_times * per_mille).div_ceil(1_000).max(1);
    let mut n_passed = 0;
    for (class, count) in counts {
        n_passed += count;
        if n_passed >= rank {
            return Some(end_of(class));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_at_most_a_quarter_above_the_time() {
        for micros in [0, 1, 3, 4, 5, 7, 8, 99, 1_000, 12_345, 999_999, 60_000_000] {
            let counts = LatencyCounts::default();
            counts.note(Duration::from_micros(micros));
            let bound = quantile(counts.read().into_iter().enumerate(), 500).unwrap();
            assert!(micros < bound && bound <= micros + micros / 4 + 1, "{micros}: {bound}");
        }
    }

    #[test]
    fn quantiles_are_those_of_all_times() {
        let counts = LatencyCounts::default();
        (1..=1_000).for_each(|micros| counts.note(Duration::from_micros(micros)));
        let of = |per_mille| quantile(counts.read().into_iter().enumerate(), per_mille).unwrap();
        assert_eq!((of(500), of(990)), (512, 1_024));
        assert_eq!(quantile([].into_iter(), 500), None);
        counts.note(Duration::from_secs(1_000));
        assert_eq!(counts.read().last(), Some(&1));
    }
}
