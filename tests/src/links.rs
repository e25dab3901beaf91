//! The peers of the service's outgoing links: a dashboard and a webhook receiver.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

mod dashboard;
mod peer;
mod receiver;
pub mod signed;

pub use dashboard::{Dashboard, Manner};
pub use receiver::{Delivered, Receiver, Reception};

use std::time::{Duration, Instant};

use crate::client::Client;
use crate::sample;
use crate::service::Service;

/// A rule that blocks every transaction, so that every verdict is an alert.
pub const BLOCK_ALL: &str = r#"rule all { when amount > 0 then block score 0.9 reason "all of them" }"#;

/// Returns the resident memory of a process in KiB.
///
/// # Panics
/// Panics if the system does not report it.
#[must_use]
#[track_caller]
pub fn resident_kib(service: &Service) -> u64 {
    let path = format!("/proc/{}/status", service.pid());
    let status = std::fs::read_to_string(path).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().expect("the system says how much memory a process has")
}

/// Returns a number of `/metrics`, or 0 if absent.
#[must_use]
pub fn metric(service: &Service, name: &str) -> u64 {
    let page = service.get("/metrics").text();
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
    line.and_then(|number| number.parse::<f64>().ok()).map_or(0, |number| number as u64)
}

/// Returns the state of a link according to `/readyz`.
#[must_use]
pub fn link_status(service: &Service, link: &str) -> String {
    let word = service.get("/readyz").at(&format!("/checks/{link}"));
    word.as_str().unwrap_or_default().to_owned()
}

/// Injects this many transactions in sequence. Returns the duration of each, sorted.
///
/// # Panics
/// Panics if one is rejected.
#[must_use]
#[track_caller]
pub fn load(client: &Client, prefix: &str, n: usize) -> Vec<Duration> {
    let inject = |number| {
        let transaction = sample::transaction(&format!("{prefix}-{number}"));
        let begun = Instant::now();
        assert_eq!(client.inject(&transaction).status, 200);
        begun.elapsed()
    };
    let mut times: Vec<Duration> = (0..n).map(inject).collect();
    times.sort();
    times
}

/// Returns the 99th percentile of sorted durations; zero if there are none.
#[must_use]
pub fn p99(times: &[Duration]) -> Duration {
    times.get(times.len() * 99 / 100).copied().unwrap_or_default()
}

/// Returns the median of sorted durations; zero if there are none. Waiting for a peer would delay every call, while a
/// busy machine delays only a few.
#[must_use]
pub fn median(times: &[Duration]) -> Duration {
    times.get(times.len() / 2).copied().unwrap_or_default()
}
