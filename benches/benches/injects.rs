//! Durable injects a second over HTTP, beside bare durable commits of the same store, in one run.
//!
//! `cargo bench -p tollgate-benches --bench injects`
//!
//! A handler that does nothing but commit stands beside the service, and the service without rules: what evaluation costs, and
//! all the rest. Closed loop: it measures what the service can take, not how late its answers are at a given load.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use chrono::Utc;
use tollgate::history::History;
use tollgate::sequence::Sequence;
use tollgate::store::{Store, TransactionRecord};
use tollgate::transaction::Transaction;
use tollgate_benches::bare::Bare;
use tollgate_benches::corpus;
use tollgate_benches::load::{Load, closed_loop};
use tollgate_benches::random::Random;
use tollgate_benches::report::machine;
use tollgate_tests::{Home, Service};

const SECONDS: u64 = 5;

fn main() -> anyhow::Result<()> {
    println!("machine: {}; {SECONDS} s a line", machine());
    println!("{:<44} {:>14} {:>10} {:>10} {:>9}", "what", "durable a second", "p50 ms", "p99 ms", "of bare");
    for group in [1, 64] {
        let per_second = bare_commits(group)?;
        println!("{:<44} {per_second:>14.0}", format!("store alone, groups of {group}"));
    }
    println!("{:<44} {:>14} {:>10.2}", "a write and its fdatasync alone", "", fdatasync_p50_ms()?);
    for n_clients in [1, 64, 256] {
        let bare = bare(n_clients)?;
        print("handler that only commits", n_clients, bare, bare);
        for n_rules in [0, 100, 1_000] {
            let load = injects(n_rules, n_clients)?;
            print(&format!("service, {n_rules} rules"), n_clients, load, bare);
        }
    }
    Ok(())
}

fn print(what: &str, n_clients: usize, load: Load, bare: Load) {
    let name = format!("{what}, {n_clients} clients");
    let (p50, p99) = (load.p50.as_secs_f64() * 1e3, load.p99.as_secs_f64() * 1e3);
    let share = load.per_second / bare.per_second * 100.0;
    println!("{name:<44} {:>14.0} {p50:>10.2} {p99:>10.2} {share:>7.0} %", load.per_second);
}

/// The median of writing 4 KiB to a file and waiting for the disk, in milliseconds.
fn fdatasync_p50_ms() -> anyhow::Result<f64> {
    let mut file = tempfile::tempfile()?;
    let mut times = Vec::new();
    for _ in 0..500 {
        let started = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        times.push(started.elapsed());
    }
    times.sort();
    Ok(times.get(times.len() / 2).context("nothing was measured")?.as_secs_f64() * 1e3)
}

fn bare(n_clients: usize) -> anyhow::Result<Load> {
    let directory = tempfile::tempdir()?;
    let bare = Bare::start(directory.path())?;
    closed_loop(&bare.address.to_string(), n_clients, Duration::from_secs(SECONDS))
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

fn injects(n_rules: usize, n_clients: usize) -> anyhow::Result<Load> {
    let scripts = corpus::rules(n_rules, &History::new())?;
    let files: Vec<(String, String)> = (0..)
        .zip(scripts)
        .map(|(number, rule): (usize, _)| (format!("bench_{number}.ws"), rule.script))
        .collect();
    let service = Service::start(&Home::with_rules(&files));
    closed_loop(service.address(), n_clients, Duration::from_secs(SECONDS))
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
const fn count(n: usize) -> f64 {
    n as f64
}
