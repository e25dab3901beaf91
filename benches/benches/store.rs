//! Durable commits of the store, empty or prefilled, with ordered and with random ids.
//!
//! `cargo bench -p tollgate-benches --bench store [-- [rows=N,…] [group=N]]`
//!
//! The store has one index, by id. Random ids, as most payment back ends use, fall anywhere in it. Each transaction
//! then changes a separate page, which is written twice, to the log and to the database.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tollgate_benches::random::Random;
use tollgate_benches::report::{machine, numbers};
use tollgate_benches::traffic;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Fingerprint;
use tollgate_store::{Store, TransactionOrigin, TransactionRecord};

const SECONDS: u64 = 10;
/// Rows per commit while the store is filled.
const FILLING: usize = 5_000;
/// Commits slower than this count as a pause.
const PAUSE: Duration = Duration::from_millis(10);
/// A typical assessment.
const ANSWER: &str = r#"{"transaction_id":"bench-1","verdict":"approve","score":0.0,"reason":"no rule matched","triggered":[],"rule_set_version":1,"evaluated_at":"2026-01-01T00:00:00.000000Z"}"#;

/// Kind of ids.
#[derive(Debug, Clone, Copy)]
enum Ids {
    /// Ascending numbers.
    InOrder,
    /// Random 128-bit numbers in hexadecimal.
    ByChance,
}

fn main() -> anyhow::Result<()> {
    let rows = numbers("rows=", &[0, 2_000_000])?;
    let group = numbers("group=", &[24])?.first().copied().unwrap_or(1);
    println!("machine: {}; {SECONDS} s a line, commits of {group}", machine());
    let columns = ["durable/s", "p50 ms", "p99 ms", "p99.9 ms", "longest ms", "paused"];
    let [per_second, p50, p99, p999, longest, paused] = columns;
    println!(
        "{:<36} {per_second:>10} {p50:>8} {p99:>8} {p999:>9} {longest:>11} {paused:>8}",
        "behind rows, ids"
    );
    for rows in rows {
        for (ids, said) in [(Ids::InOrder, "in order"), (Ids::ByChance, "by chance")] {
            let directory = tempfile::tempdir()?;
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
            let took = runtime.block_on(commits(directory.path(), rows, ids, group))?;
            print(&format!("{rows}, {said}"), group, took)?;
        }
    }
    Ok(())
}

/// Returns the duration of each commit to a store with this many rows.
async fn commits(directory: &Path, rows: usize, ids: Ids, group: usize) -> anyhow::Result<Vec<Duration>> {
    let store = Store::open(directory).await?;
    let (mut random, mut n_stored, mut took) = (Random::seeded(5), 0, Vec::new());
    let mut next = |n_more: usize| {
        let numbers = n_stored..n_stored + n_more;
        n_stored += n_more;
        numbers.map(|number| record(number, ids, &mut random)).collect::<anyhow::Result<Vec<_>>>()
    };
    for _ in 0..rows.div_ceil(FILLING) {
        store.record(&next(FILLING)?).await?;
    }
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(SECONDS) {
        let records = next(group)?;
        let begun = Instant::now();
        store.record(&records).await?;
        took.push(begun.elapsed());
    }
    store.close().await;
    Ok(took)
}

fn record(number: usize, ids: Ids, random: &mut Random) -> anyhow::Result<TransactionRecord> {
    let micros = i64::try_from(number)?;
    let mut transaction =
        traffic::transaction(number, random.below(100_000), random.below(100_000), micros, 100);
    transaction.transaction_id = match ids {
        Ids::InOrder => format!("payment-{number:024}").into(),
        Ids::ByChance => format!("{:016x}{:016x}", random.next(), random.next()).into(),
    };
    Ok(TransactionRecord {
        sequence: Sequence(u64::try_from(number)? + 1),
        transaction_id: Arc::clone(&transaction.transaction_id),
        fingerprint: Fingerprint([7; 32]),
        event_micros: micros,
        accepted_micros: micros,
        rule_set_version: 0,
        body: transaction.to_stored(),
        assessment: Some(ANSWER.to_owned()),
        origin: TransactionOrigin::Request,
    })
}

/// Prints a row of the table. The durable rate counts only time in commits, not the creation of records.
fn print(what: &str, group: usize, mut took: Vec<Duration>) -> anyhow::Result<()> {
    took.sort();
    let all: Duration = took.iter().sum();
    let in_pauses: Duration = took.iter().filter(|took| **took > PAUSE).sum();
    let share = |part: Duration| part.as_secs_f64() / all.as_secs_f64();
    let ms = |per_mille: usize| {
        let rank = (took.len() - 1) * per_mille / 1_000;
        took.get(rank).map(|took| took.as_secs_f64() * 1e3).context("nothing was committed")
    };
    let n_transactions = u32::try_from(took.len() * group)?;
    let per_second = f64::from(n_transactions) / all.as_secs_f64();
    println!(
        "{what:<36} {per_second:>10.0} {:>8.2} {:>8.2} {:>9.1} {:>11.1} {:>6.0} %",
        ms(500)?,
        ms(990)?,
        ms(999)?,
        ms(1_000)?,
        share(in_pauses) * 100.0,
    );
    Ok(())
}
