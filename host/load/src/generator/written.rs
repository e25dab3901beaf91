//! A load result as JSON, with raw samples, so that readers can recompute each percentile.

use serde_json::{Value as Json, json};

use super::{LoadResult, RequestSample};

/// Upper bound of samples written per result; larger sets are thinned evenly.
const SAMPLES_MAX: usize = 200_000;

impl LoadResult {
    pub(crate) fn json(&self) -> Json {
        let by_status = self.by_status().into_iter().map(|(status, n)| (status.to_string(), Json::from(n)));
        json!({
            "lasted_us": u64::try_from(self.lasted.as_micros()).unwrap_or(u64::MAX),
            "connections": self.n_connections,
            "due": self.n_due,
            "answered": by_status.collect::<serde_json::Map<_, _>>(),
            "unsent": self.n_unsent,
            "unanswered": self.n_unanswered,
            "broken": self.n_broken,
            "refused_without_retry_after": self.n_without_retry_after,
            "matched": self.n_matched,
            "ok_per_second": self.ok_per_second(),
            "latency": self.latencies().json(),
            "service_time": self.service_times().json(),
            "refusal": self.refusals().json(),
            "in_vain_us": self.in_vain_us.iter().take(SAMPLES_MAX).collect::<Vec<_>>(),
            "samples": samples(self.n_ok(), || self.ok()),
            "refusal_samples": samples(self.refused().count(), || self.refused()),
        })
    }
}

/// Writes the samples in the order of their answers, thinned to at most [`SAMPLES_MAX`].
fn samples<'a, I: Iterator<Item = &'a RequestSample>>(n: usize, all: impl Fn() -> I) -> Json {
    let every = n.div_ceil(SAMPLES_MAX).max(1);
    let column = |value: fn(&RequestSample) -> u32| all().step_by(every).map(value).collect::<Vec<_>>();
    json!({
        "due_us": column(|answered| answered.due_us),
        "latency_us": column(|answered| answered.latency_us),
        "service_us": column(|answered| answered.service_us),
        "one_of": every,
    })
}
