//! Durable injects per second over HTTP, compared with bare durable commits of the same store in one run.
//!
//! `cargo bench -p tollgate-benches --bench injects [-- [clients=N,…] [rules=N,…]]`
//!
//! The baselines are a handler that only commits, and the service without rules. They separate the cost of evaluation
//! from the rest. The load is a closed loop: it measures throughput, not latency at a given load.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use chrono::Utc;
use tollgate_benches::bare::Bare;
use tollgate_benches::report::{machine, numbers};
use tollgate_benches::rule_files::rule_files;
use tollgate_load::corpus::{Requests, TransactionKind};
use tollgate_load::{AnsweredLoad, PaymentSender};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;
use tollgate_store::{Store, TransactionOrigin, TransactionRecord};
use tollgate_tests::links::metric;
use tollgate_tests::{Home, Service};

const SECONDS: u64 = 5;
/// Transactions, and how many rules match each.
const KINDS: [(TransactionKind, &str); 2] =
    [(TransactionKind::Usual, "few"), (TransactionKind::Suspicious, "many")];

fn main() -> anyhow::Result<()> {
    let (clients, rules) = (numbers("clients=", &[1, 64, 256])?, numbers("rules=", &[0, 100, 1_000])?);
    println!("machine: {}; {SECONDS} s a line", machine());
    let columns = ["durable a second", "p50 ms", "p99 ms", "of bare", "a commit"];
    let [per_second, p50, p99, share, group] = columns;
    println!("{:<48} {per_second:>16} {p50:>9} {p99:>9} {share:>9} {group:>9}", "what");
    for group in [1, 64] {
        let per_second = bare_commits(group)?;
        println!("{:<48} {per_second:>16.0}", format!("store alone, groups of {group}"));
    }
    println!("{:<48} {:>16} {:>9.2}", "a write and its fdatasync alone", "", fdatasync_p50_ms()?);
    for n_clients in clients {
        let bare = bare(n_clients)?;
        print("handler that only commits", n_clients, &bare, &bare, None);
        for &n_rules in &rules {
            // Without rules the kind makes no difference.
            let n_kinds = if n_rules == 0 { 1 } else { KINDS.len() };
            for (kind, matches) in KINDS.into_iter().take(n_kinds) {
                let (load, group) = injects(n_rules, kind, n_clients)?;
                let what = format!("service, {n_rules} rules, {matches} match");
                print(&what, n_clients, &load, &bare, Some(group));
            }
        }
    }
    for n_rules in rules {
        let service = Service::start(&Home::with_rules(&rule_files(n_rules)));
        let sender = PaymentSender::to(service.address(), TransactionKind::Usual)?;
        let per_second = sender.batch(Duration::from_secs(SECONDS))?;
        println!("{:<48} {per_second:>16.0}", format!("one batch, {n_rules} rules, few match"));
    }
    Ok(())
}

/// Prints a row of the table; `group` is the average number of transactions per commit.
fn print(what: &str, n_clients: usize, load: &AnsweredLoad, bare: &AnsweredLoad, group: Option<f64>) {
    let name = format!("{what}, {n_clients} clients");
    let (p50, p99) = (load.latencies.permille_ms(500), load.latencies.permille_ms(990));
    let share = load.per_second / bare.per_second * 100.0;
    let group = group.map_or_else(String::new, |group| format!("{group:.1}"));
    println!("{name:<48} {:>16.0} {p50:>9.2} {p99:>9.2} {share:>7.0} % {group:>9}", load.per_second);
}

/// Returns the median time to write 4 KiB to a file and sync it, in milliseconds.
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

fn bare(n_clients: usize) -> anyhow::Result<AnsweredLoad> {
    let directory = tempfile::tempdir()?;
    let bare = Bare::start(directory.path())?;
    let sender = PaymentSender::to(&bare.address.to_string(), TransactionKind::Usual)?;
    Ok(sender.closed_loop(n_clients, Duration::from_secs(SECONDS))?)
}

/// Measures commits of the same store: one thread, no HTTP, no rules.
fn bare_commits(group: usize) -> anyhow::Result<f64> {
    let directory = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = Store::open(directory.path()).await?;
        let requests = Requests::to("localhost", TransactionKind::Suspicious);
        let (started, mut n_done) = (Instant::now(), 0_usize);
        while started.elapsed() < Duration::from_secs(SECONDS) {
            let records = (0..group)
                .map(|index| record(&requests, n_done + index))
                .collect::<anyhow::Result<Vec<_>>>()?;
            store.record(&records).await?;
            n_done += group;
        }
        let elapsed = started.elapsed().as_secs_f64();
        store.close().await;
        Ok(count(n_done) / elapsed)
    })
}

fn record(requests: &Requests, number: usize) -> anyhow::Result<TransactionRecord> {
    let mut body = Vec::new();
    requests.write_body(&mut body);
    let (transaction, fingerprint) = Transaction::parse(&body, Utc::now())?;
    Ok(TransactionRecord {
        sequence: Sequence(u64::try_from(number)? + 1),
        transaction_id: Arc::clone(&transaction.transaction_id),
        fingerprint,
        event_micros: transaction.timestamp.micros(),
        accepted_micros: 0,
        rule_set_version: 0,
        body: transaction.to_stored(),
        assessment: Some(String::from_utf8(body)?),
        origin: TransactionOrigin::Request,
    })
}

fn injects(n_rules: usize, kind: TransactionKind, n_clients: usize) -> anyhow::Result<(AnsweredLoad, f64)> {
    let service = Service::start(&Home::with_rules(&rule_files(n_rules)));
    let sender = PaymentSender::to(service.address(), kind)?;
    let load = sender.closed_loop(n_clients, Duration::from_secs(SECONDS))?;
    let number = |name| metric(&service, &format!("tollgate_commit_group_transactions_{name}"));
    let (n_transactions, n_commits) = (number("sum"), number("count"));
    let (n_transactions, n_commits) = (usize::try_from(n_transactions)?, usize::try_from(n_commits)?);
    Ok((load, count(n_transactions) / count(n_commits)))
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
const fn count(n: usize) -> f64 {
    n as f64
}
