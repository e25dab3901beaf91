//! The other ends of the service's links: a dashboard, and a webhook's receiver.

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

/// A rule by which every transaction is blocked, and so every verdict an alert.
pub const BLOCK_ALL: &str = r#"rule all { when amount > 0 then block score 0.9 reason "all of them" }"#;

/// The memory that a process has at the moment, in KiB.
///
/// # Panics
/// When the system does not say.
#[must_use]
#[track_caller]
pub fn resident_kib(service: &Service) -> u64 {
    let path = format!("/proc/{}/status", service.pid());
    let status = std::fs::read_to_string(path).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().expect("the system says how much memory a process has")
}

/// A number of `/metrics`; 0 when it is not there.
#[must_use]
pub fn metric(service: &Service, name: &str) -> u64 {
    let page = service.get("/metrics").text();
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
    line.and_then(|number| number.parse::<f64>().ok()).map_or(0, |number| number as u64)
}

/// How a link stands, as `/readyz` says.
#[must_use]
pub fn standing(service: &Service, link: &str) -> String {
    let word = service.get("/readyz").at(&format!("/checks/{link}"));
    word.as_str().unwrap_or_default().to_owned()
}

/// Injects so many transactions, one after the other; how long each took, the shortest first.
///
/// # Panics
/// When one is refused.
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

/// What 99 of 100 of these times, the shortest first, are not longer than; zero of none.
#[must_use]
pub fn p99(times: &[Duration]) -> Duration {
    times.get(times.len() * 99 / 100).copied().unwrap_or_default()
}

/// The one in the middle of these times, the shortest first; zero of none. Whoever waits for a peer waits for it with every call,
/// while a busy machine holds up a few.
#[must_use]
pub fn median(times: &[Duration]) -> Duration {
    times.get(times.len() / 2).copied().unwrap_or_default()
}
