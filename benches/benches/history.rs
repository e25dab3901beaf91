//! Nanoseconds per history lookup, compared with the same queries in SQLite in one process and run, and the cost of
//! inserting and keeping a transaction.
//!
//! `cargo bench -p tollgate-benches --bench history [-- [lookups] [limit] [inserts] [duckdb] [ROWS…]]`; without words,
//! everything except DuckDB, which requires a Python with its package.
//!
//! A *warm* figure repeats a lookup of one key, and is the median over several keys: the cost of a burst on one
//! account. The other figures use a different key each time and include cache misses, as in mixed traffic.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

#[path = "history/limit.rs"]
mod limit;

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_benches::duckdb::DuckDb;
use tollgate_benches::random::Random;
use tollgate_benches::report::{machine, resident_bytes};
use tollgate_benches::sqlite::{Question, Table};
use tollgate_benches::traffic::{self, N_SOURCES, SPAN_MICROS, START_MICROS, Traffic};
use tollgate_guest_abi::{
    AggregateFunction, AggregateSpec, Comparison, Condition, FieldPath, Operand, Semantics, Window,
};
use tollgate_history::{AggregateQuery, History};
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{Json, Transaction};

/// Default numbers of rows in the history.
const N_ROWS: [usize; 2] = [1_000_000, 10_000_000];
/// Number of transactions evaluated per figure.
const N_ASKED: usize = 4_096;
/// Batches per figure; the result is their median.
const N_BATCHES: usize = 9;
/// Number of keys of a warm figure, and consecutive lookups of each.
const N_WARM_KEYS: usize = 32;
const N_IN_A_ROW: usize = 1_024;
/// Time limit for SQLite per figure.
const SQLITE_PATIENCE: Duration = Duration::from_millis(100);
/// DuckDB queries per figure; the result is their median.
const N_ASKED_OF_DUCKDB: usize = 5;
const WINDOWS: [&str; 3] = ["PT1H", "P1D", "P7D"];
/// Number of insertions measured.
const N_INSERTED: usize = 100_000;
/// The same with large metadata, all of which is in memory at once.
const N_LARGE: usize = 10_000;
/// Insertions per batch.
const N_INSERTED_AT_ONCE: usize = 500;

fn main() -> anyhow::Result<()> {
    if limit::is_child() {
        return limit::measure_as_child();
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let asked: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let n_rows = if asked.is_empty() { &N_ROWS[..] } else { &asked };
    let is_named = |what: &str| words.iter().any(|word| word == what);
    let is_wanted = |what: &str| words.len() == asked.len() || is_named(what);
    println!("machine: {}; {N_ASKED} transactions asked about, {N_BATCHES} batches", machine());
    if is_wanted("limit") {
        n_rows.iter().try_for_each(|&n_rows| limit::measure(n_rows))?;
    }
    if is_wanted("lookups") {
        n_rows.iter().try_for_each(|&n_rows| measure_lookups(n_rows, is_named("duckdb")))?;
    }
    if is_wanted("inserts") {
        measure_inserts(n_rows.first().copied().unwrap_or(1_000_000))?;
    }
    Ok(())
}

fn two_questions(history: &History) -> anyhow::Result<[Arc<AggregateQuery>; 2]> {
    Ok([
        history.aggregate(&spec(AggregateFunction::Count, &["source"], "P1D")?, Semantics::CURRENT)?,
        history.aggregate(&spec(AggregateFunction::Sum, &["destination"], "P1D")?, Semantics::CURRENT)?,
    ])
}

/// The keys of a figure.
struct Subject {
    name: &'static str,
    column: &'static str,
    asked: Vec<Transaction>,
    n_in_a_row: usize,
}

fn subjects(n_rows: usize) -> Vec<Subject> {
    let mut traffic = Traffic::new(n_rows);
    let mut random = Random::seeded(5);
    let end = START_MICROS + SPAN_MICROS;
    let of = |source: usize, destination: usize| traffic::transaction(0, source, destination, end, 100);
    let mut cold = |n: usize| (0..n).map(|_| of(N_SOURCES - 1 - random.below(10_000), 2)).collect();
    let (warm, new) = (cold(N_WARM_KEYS), cold(N_ASKED));
    let typical = (0..N_ASKED).map(|_| of(traffic.source(), 2)).collect();
    let hottest = (0..2).map(|number| of(0, number)).collect();
    let subject = |name, column, asked, n_in_a_row| Subject { name, column, asked, n_in_a_row };
    vec![
        subject("cold, warm", "source", warm, N_IN_A_ROW),
        subject("cold, new", "source", new, 1),
        subject("typical, new", "source", typical, 1),
        subject("hottest, warm", "destination", hottest, N_IN_A_ROW),
    ]
}

fn spec(function: AggregateFunction, fields: &[&str], window: &str) -> anyhow::Result<AggregateSpec> {
    let same = |field: &&str| Condition::Compare {
        left: Operand::Field(FieldPath::parse(field)),
        operator: Comparison::Equal,
        right: Operand::Current(FieldPath::parse(field)),
    };
    Ok(AggregateSpec {
        function,
        value: FieldPath::parse("amount"),
        filter: Condition::All(fields.iter().map(same).collect()),
        window: Window::parse(window).ok_or_else(|| anyhow::anyhow!("no window: {window}"))?,
    })
}

fn measure_lookups(n_rows: usize, with_duckdb: bool) -> anyhow::Result<()> {
    let history = History::new();
    let kept = ["source", "destination"].map(|field| {
        // Holding the aggregates keeps their series alive.
        anyhow::Ok(history.aggregate(&spec(AggregateFunction::Count, &[field], "P7D")?, Semantics::CURRENT)?)
    });
    let (before, started) = (resident_bytes(), Instant::now());
    for (number, transaction) in (1..).zip(Traffic::new(n_rows)) {
        history.restore(Sequence(number), &transaction);
    }
    let (filled, grown) = (started.elapsed(), resident_bytes().saturating_sub(before));
    println!(
        "\n{n_rows} transactions, 2 series, filled in {:.1} s; counted {:.0} MiB, resident {:.0} MiB, {:.1} bytes per entry",
        filled.as_secs_f64(),
        count(history.resident_bytes()) / 1_048_576.0,
        count(grown) / 1_048_576.0,
        count(grown) / count(2 * n_rows)
    );
    let directory = tempfile::tempdir()?;
    let mut table = Table::fill(&directory.path().join("t.db"), Traffic::new(n_rows))?;
    println!(
        "{:>13}  {:<8} {:<6} {:>12} {:>12} {:>16} {:>10}",
        "key", "window", "", "min ns", "median ns", "SQLite ns", "ratio"
    );
    for subject in subjects(n_rows) {
        for window in WINDOWS {
            compare(&history, &mut table, &subject, window)?;
        }
    }
    drop(table);
    if with_duckdb {
        compare_with_duckdb(&history, n_rows)?;
    }
    drop(kept);
    Ok(())
}

fn compare(history: &History, table: &mut Table, subject: &Subject, window: &str) -> anyhow::Result<()> {
    let as_of = history.last_sequence().next();
    let functions = [("count", AggregateFunction::Count), ("sum", AggregateFunction::Sum)];
    let (sqlite_ns, expected) = sqlite_ns(table, subject, Window::parse(window).map_or(0, Window::micros))?;
    for ((name, function), expected) in functions.into_iter().zip(expected) {
        let aggregate = history.aggregate(&spec(function, &[subject.column], window)?, Semantics::CURRENT)?;
        let mut figures = figures(&aggregate, subject, as_of);
        figures.sort_by(f64::total_cmp);
        let (minimum, median) = (nth(&figures, 0), nth(&figures, figures.len() / 2));
        let found = total(&aggregate, &subject.asked, as_of);
        let relative = (found - expected).abs() / expected.max(1.0);
        anyhow::ensure!(relative < 1e-9, "{name} of {}: {found} here, {expected} there", subject.name);
        println!(
            "{:>13}  {window:<8} {name:<6} {minimum:>12.0} {median:>12.0} {sqlite_ns:>16.0} {:>9.0}x",
            subject.name,
            sqlite_ns / median
        );
    }
    Ok(())
}

/// Returns nanoseconds per lookup: for each warm key, or for each batch of lookups of new keys.
fn figures(aggregate: &AggregateQuery, subject: &Subject, as_of: Sequence) -> Vec<f64> {
    let lists: HashMap<String, NamedList> = HashMap::new();
    let batch = |asked: &[Transaction]| {
        let started = Instant::now();
        for _ in 0..subject.n_in_a_row {
            for asked in asked {
                black_box(aggregate.answer(black_box(asked), as_of, &lists).unwrap_or(f64::NAN));
            }
        }
        nanoseconds(&started.elapsed()) / count(asked.len() * subject.n_in_a_row)
    };
    let batches = |asked: &[Transaction]| {
        let mut batches: Vec<f64> = (0..N_BATCHES).map(|_| batch(asked)).collect();
        batches.sort_by(f64::total_cmp);
        batches
    };
    if subject.n_in_a_row == 1 {
        return batches(&subject.asked);
    }
    subject.asked.chunks(1).map(|asked| nth(&batches(asked), N_BATCHES / 2)).collect()
}

/// Evaluates each transaction once and returns the sum of the results.
fn total(aggregate: &AggregateQuery, asked: &[Transaction], as_of: Sequence) -> f64 {
    let lists: HashMap<String, NamedList> = HashMap::new();
    asked.iter().map(|asked| aggregate.answer(black_box(asked), as_of, &lists).unwrap_or(f64::NAN)).sum()
}

fn nth(figures: &[f64], n: usize) -> f64 {
    figures.get(n).copied().unwrap_or(f64::NAN)
}

/// Runs the same queries in DuckDB, a few of each kind, one at a time.
fn compare_with_duckdb(history: &History, n_rows: usize) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let mut duckdb = DuckDb::fill(directory.path(), Traffic::new(n_rows))?;
    println!("\nDuckDB {} rows, count and sum at once, prepared per question, all cores", duckdb.version());
    println!("{:>13}  {:<8} {:>12} {:>16} {:>12}", "key", "window", "median ns", "DuckDB ns", "ratio");
    let as_of = history.last_sequence().next();
    for subject in subjects(n_rows) {
        for window in WINDOWS {
            let aggregate = history
                .aggregate(&spec(AggregateFunction::Sum, &[subject.column], window)?, Semantics::CURRENT)?;
            let counted = history
                .aggregate(&spec(AggregateFunction::Count, &[subject.column], window)?, Semantics::CURRENT)?;
            let mut own = figures(&aggregate, &subject, as_of);
            own.sort_by(f64::total_cmp);
            let own = nth(&own, own.len() / 2);
            let mut theirs = Vec::with_capacity(N_ASKED_OF_DUCKDB);
            for asked in subject.asked.iter().take(N_ASKED_OF_DUCKDB) {
                let question = question(&subject, asked, Window::parse(window).map_or(0, Window::micros));
                let answer = duckdb.ask(subject.column, &question)?;
                let found = total(&counted, std::slice::from_ref(asked), as_of);
                let name = subject.name;
                anyhow::ensure!(
                    found.to_bits() == signed(answer.count).to_bits(),
                    "count of {name}: {found} here, {} in DuckDB",
                    answer.count
                );
                theirs.push(nanoseconds(&answer.took));
            }
            theirs.sort_by(f64::total_cmp);
            let theirs = nth(&theirs, theirs.len() / 2);
            println!("{:>13}  {window:<8} {own:>12.0} {theirs:>16.0} {:>11.0}x", subject.name, theirs / own);
        }
    }
    Ok(())
}

fn question(subject: &Subject, asked: &Transaction, window_micros: i64) -> Question {
    let key = if subject.column == "source" { &asked.source } else { &asked.destination };
    let to = asked.timestamp.micros();
    Question { key: key.as_deref().unwrap_or_default().to_owned(), from: to - window_micros, to }
}

/// Returns nanoseconds per query, and the totals of count and sum extrapolated to all queries. Stops at the time limit.
fn sqlite_ns(table: &mut Table, subject: &Subject, window_micros: i64) -> anyhow::Result<(f64, [f64; 2])> {
    let questions: Vec<Question> =
        subject.asked.iter().map(|asked| question(subject, asked, window_micros)).collect();
    let (mut counts, mut cents) = (0.0, 0.0);
    let all = &questions;
    for some in all.chunks(64) {
        let (n, sum) = table.ask(subject.column, some)?;
        counts += signed(n);
        cents += signed(sum);
    }
    let few = all.get(..64).unwrap_or(all);
    table.ask(subject.column, few)?;
    let (started, mut n_asked) = (Instant::now(), 0);
    while started.elapsed() < SQLITE_PATIENCE {
        black_box(table.ask_again(subject.column)?);
        n_asked += few.len();
    }
    Ok((nanoseconds(&started.elapsed()) / count(n_asked), [counts, cents / 100.0]))
}

/// Returns sets of fields, each of which needs a separate series.
fn keys(n_series: usize) -> Vec<Vec<&'static str>> {
    const FIELDS: [&str; 10] = [
        "source",
        "destination",
        "status",
        "description",
        "currency",
        "inflight",
        "atomic",
        "skip_queue",
        "allow_overdraft",
        "reference",
    ];
    let single = FIELDS.iter().map(|field| vec![*field]);
    let pairs = (0..FIELDS.len()).flat_map(|left| {
        let right = FIELDS.iter().skip(left + 1);
        right.filter_map(move |right| Some(vec![*FIELDS.get(left)?, *right]))
    });
    single.chain(pairs).take(n_series).collect()
}

/// Adds metadata of 60,000 bytes, different for each transaction.
fn with_large_metadata(transaction: Transaction) -> Transaction {
    let id = &transaction.transaction_id;
    let texts = (0..60).map(|n| Json::Text(format!("{id}-{n}-{}", "x".repeat(1_000 - 12)).into()));
    let metadata = Json::Object(vec![("o".into(), Json::Array(texts.collect()))]);
    Transaction { metadata: Some(metadata), ..transaction }
}

fn measure_inserts(n_rows: usize) -> anyhow::Result<()> {
    println!(
        "\nputting in, µs, behind {n_rows} transactions: batches, and single ones\n{:>8} {:>18} {:>12} {:>12} {:>12} {:>12}",
        "series", "metadata", "min", "median", "p99.9", "max"
    );
    for (n_series, is_large) in [(1, false), (10, false), (50, false), (50, true)] {
        let history = History::new();
        let mut wanted = keys(n_series);
        if is_large {
            wanted.iter_mut().for_each(|fields| fields.push("metadata.o"));
        }
        let wanted = wanted.into_iter();
        let kept: Vec<Arc<AggregateQuery>> = wanted
            .map(|fields| {
                Ok(history.aggregate(&spec(AggregateFunction::Count, &fields, "P7D")?, Semantics::CURRENT)?)
            })
            .collect::<anyhow::Result<_>>()?;
        let mut traffic = Traffic::new(n_rows + N_INSERTED);
        for (number, transaction) in (1..).zip(traffic.by_ref().take(n_rows)) {
            history.restore(Sequence(number), &transaction);
        }
        let shown =
            |transaction| Arc::new(if is_large { with_large_metadata(transaction) } else { transaction });
        let rest: Vec<Arc<Transaction>> =
            traffic.take(if is_large { N_LARGE } else { N_INSERTED }).map(shown).collect();
        let mut single = Vec::with_capacity(rest.len());
        let batch = |transactions: &[Arc<Transaction>]| {
            let started = Instant::now();
            for transaction in transactions {
                let begun = Instant::now();
                history.admit(Arc::clone(transaction), |_| ());
                single.push(nanoseconds(&begun.elapsed()) / 1e3);
            }
            nanoseconds(&started.elapsed()) / 1e3 / count(transactions.len())
        };
        let mut batches: Vec<f64> = rest.chunks(N_INSERTED_AT_ONCE).map(batch).collect();
        batches.sort_by(f64::total_cmp);
        single.sort_by(f64::total_cmp);
        let (minimum, median) = (nth(&batches, 0), nth(&batches, batches.len() / 2));
        let (tail, max) = (nth(&single, single.len() * 999 / 1_000), nth(&single, single.len() - 1));
        let metadata = if is_large { "60,000 bytes" } else { "none" };
        println!("{:>8} {metadata:>18} {minimum:>12.2} {median:>12.2} {tail:>12.2} {max:>12.2}", kept.len());
    }
    Ok(())
}

fn nanoseconds(duration: &Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
const fn count(n: usize) -> f64 {
    n as f64
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
const fn signed(n: i64) -> f64 {
    n as f64
}
