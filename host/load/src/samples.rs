//! Percentiles of latencies.

use serde_json::{Value as Json, json};

/// Latencies in microseconds, sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Samples(Vec<u32>);

impl Samples {
    pub(super) fn new(latencies_us: impl IntoIterator<Item = u32>) -> Self {
        let mut sorted: Vec<u32> = latencies_us.into_iter().collect();
        sorted.sort_unstable();
        Self(sorted)
    }

    /// The number of samples.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Merges the samples of several loads.
    #[must_use]
    pub fn merged<'a>(loads: impl IntoIterator<Item = &'a Self>) -> Self {
        Self::new(loads.into_iter().flat_map(|samples| &samples.0).copied())
    }

    /// As [`Self::permille_ms`], in microseconds; `None` without samples.
    pub(super) fn permille(&self, share: usize) -> Option<u32> {
        let rank = (self.0.len() * share).div_ceil(1_000);
        self.0.get(rank.saturating_sub(1)).copied()
    }

    /// The smallest latency in milliseconds that at least `share` in a thousand samples do not exceed; NaN without samples.
    #[must_use]
    pub fn permille_ms(&self, share: usize) -> f64 {
        self.permille(share).map_or(f64::NAN, |latency_us| f64::from(latency_us) / 1e3)
    }

    /// The longest latency in milliseconds; NaN without samples.
    #[must_use]
    pub fn longest_ms(&self) -> f64 {
        self.permille_ms(1_000)
    }

    /// The number of samples above this many microseconds.
    #[must_use]
    pub fn n_over(&self, latency_us: u32) -> usize {
        self.0.len() - self.0.partition_point(|sample| *sample <= latency_us)
    }

    pub(super) fn json(&self) -> Json {
        json!({
            "count": self.count(),
            "p50_us": self.permille(500),
            "p90_us": self.permille(900),
            "p99_us": self.permille(990),
            "p999_us": self.permille(999),
            "longest_us": self.permille(1_000),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_kept_by_at_least_so_many() {
        let samples = Samples::new((1..=200).rev());
        let at = |share| samples.permille(share).unwrap();
        assert_eq!([at(0), at(500), at(990), at(999), at(1_000)], [1, 100, 198, 200, 200]);
        assert_eq!((samples.n_over(198), samples.n_over(0), samples.n_over(200)), (2, 200, 0));
        let merged = Samples::merged(&[Samples::new([9, 3]), Samples::new([5])]);
        assert_eq!(merged, Samples::new([3, 5, 9]));
        assert_eq!(Samples::new([]).permille(990), None);
        assert_eq!(Samples::new([7]).permille(500), Some(7));
    }
}
