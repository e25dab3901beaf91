//! Durable injects a second over HTTP, beside bare durable commits of the same store, in one run.
//!
//! `cargo bench -p tollgate-benches --bench injects`
//!
//! Closed loop: each client sends its next transaction when the last is answered, so a slow service is asked less. It
//! measures what the service can take, not how late its answers are at a given load.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use chrono::Utc;
use tollgate::history::History;
use tollgate::sequence::Sequence;
use tollgate::store::{Store, TransactionRecord};
use tollgate::transaction::Transaction;
use tollgate_benches::corpus;
use tollgate_benches::random::Random;
use tollgate_benches::report::machine;
use tollgate_tests::{Client, Home, Service};

const SECONDS: u64 = 5;

fn main() -> anyhow::Result<()> {
    println!("machine: {}; {SECONDS} s a line", machine());
    println!("{:<44} {:>14} {:>10} {:>10}", "what", "durable a second", "p50 ms", "p99 ms");
    for group in [1, 64] {
        let per_second = bare_commits(group)?;
        println!("{:<44} {per_second:>14.0}", format!("store alone, groups of {group}"));
    }
    for (n_rules, n_clients) in [(0, 1), (0, 64), (100, 64), (1_000, 64)] {
        let run = injects(n_rules, n_clients)?;
        let name = format!("HTTP, {n_rules} rules, {n_clients} clients");
        println!("{name:<44} {:>14.0} {:>10.2} {:>10.2}", run.per_second, run.p50_ms, run.p99_ms);
    }
    Ok(())
}

/// The same store, one thread, no HTTP, no rules.
fn bare_commits(group: usize) -> anyhow::Result<f64> {
    let directory = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = Store::open(directory.path()).await?;
        let mut random = Random::seeded(3);
        let (started, mut n_done) = (Instant::now(), 0_usize);
        while started.elapsed() < Duration::from_secs(SECONDS) {
            let records = (0..group)
                .map(|place| record(&mut random, n_done + place))
                .collect::<anyhow::Result<Vec<_>>>()?;
            store.record(&records).await?;
            n_done += group;
        }
        let elapsed = started.elapsed().as_secs_f64();
        store.close().await;
        Ok(count(n_done) / elapsed)
    })
}

fn record(random: &mut Random, number: usize) -> anyhow::Result<TransactionRecord> {
    let body = corpus::body(random, number, Utc::now()).to_string();
    let (transaction, fingerprint) = Transaction::parse(body.as_bytes(), Utc::now())?;
    Ok(TransactionRecord {
        sequence: Sequence(u64::try_from(number)? + 1),
        transaction_id: Arc::clone(&transaction.transaction_id),
        fingerprint,
        event_micros: transaction.timestamp.micros(),
        accepted_micros: 0,
        rule_set_version: 0,
        body: transaction.to_stored(),
        assessment: Some(body),
    })
}

struct Run {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
}

fn injects(n_rules: usize, n_clients: usize) -> anyhow::Result<Run> {
    let scripts = corpus::rules(n_rules, &History::new())?;
    let files: Vec<(String, String)> = (0..)
        .zip(scripts)
        .map(|(number, rule): (usize, _)| (format!("bench_{number}.ws"), rule.script))
        .collect();
    let service = Service::start(&Home::with_rules(&files));
    let numbers = AtomicUsize::new(0);
    let started = Instant::now();
    let client: &Client = &service;
    let mut latencies: Vec<Duration> = thread::scope(|scope| {
        let clients: Vec<_> = (0..n_clients)
            .map(|_| scope.spawn(|| keep_sending(&client.clone(), &numbers, started)))
            .collect();
        clients.into_iter().filter_map(|client| client.join().ok()).flatten().collect()
    });
    let elapsed = started.elapsed().as_secs_f64();
    latencies.sort();
    let at =
        |share: usize| latencies.get(latencies.len() * share / 100).copied().context("no answer arrived");
    Ok(Run {
        per_second: count(latencies.len()) / elapsed,
        p50_ms: at(50)?.as_secs_f64() * 1e3,
        p99_ms: at(99)?.as_secs_f64() * 1e3,
    })
}

fn keep_sending(client: &Client, numbers: &AtomicUsize, started: Instant) -> Vec<Duration> {
    let mut latencies = Vec::new();
    while started.elapsed() < Duration::from_secs(SECONDS) {
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        let body = corpus::body(&mut Random::seeded(number as u64 * 2 + 1), number, Utc::now());
        let sent = Instant::now();
        let answer = client.inject(&body);
        latencies.push(sent.elapsed());
        // Only an answer with a verdict counts.
        drop(answer.expect(200));
    }
    latencies
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
const fn count(n: usize) -> f64 {
    n as f64
}
