//! Time from a start until the history is exact, with and without a snapshot, and the cost of a snapshot.
//!
//! `cargo bench -p tollgate-benches --bench restart [-- [two] [ROWS]]`
//!
//! With `rules=N` it measures instead how long a service takes to be ready that knows N rules from its last run. It builds
//! the service, or runs the program that `TOLLGATE_BINARY` names. With `customers=N` it measures the memory of a service
//! that judges what N customers of a population pay in 75 days by the shipped rules.
//!
//! The benchmark fills a store with transactions and installs the shipped example rules. With `two`, it installs only a
//! count by source and a sum by destination over seven days. It restores the history three times: from the store, from
//! a snapshot, and from a snapshot that lacks the last hundredth. The run fails if any lookup returns different
//! results.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

#[path = "restart/known_rules.rs"]
mod known_rules;
#[path = "restart/process_size.rs"]
mod process_size;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tollgate_benches::random::Random;
use tollgate_benches::report::{cpu_time, machine, numbers, resident_bytes};
use tollgate_benches::traffic::{self, Traffic};
use tollgate_compiler::{CompileOptions, compile, emit::emit};
use tollgate_guest_abi::{
    AggregateFunction, AggregateSpec, Comparison, Condition, FieldPath, Operand, Semantics, Window,
};
use tollgate_history::{AggregateQuery, History, Past, PreviousQuery, RestorationObserver, Restored};
use tollgate_model::named_list::NamedList;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{Fingerprint, Transaction};
use tollgate_store::{Store, StoredPast, TransactionOrigin, TransactionRecord};
use tollgate_tests::repository;

const N_ROWS: usize = 1_000_000;
/// Rows per commit.
const GROUP: usize = 4_096;
/// Number of transactions for which all lookups are compared.
const N_ASKED: usize = 200;
/// Rows read on their own, to measure reading.
const N_READ: u64 = 200_000;

/// An observer that does nothing and never stops the restoration.
struct Unwatched;

impl RestorationObserver for Unwatched {
    fn reached(&self, _through: Sequence) -> bool {
        true
    }
}

/// The rules whose lookups are restored.
#[derive(Debug, Clone, Copy)]
enum Rules {
    Examples,
    Two,
}

impl Rules {
    /// Adds the fields these rules need to a transaction.
    fn dress(self, transaction: Transaction, random: &mut Random) -> Transaction {
        match self {
            Rules::Examples => traffic::with_metadata(transaction, random),
            Rules::Two => transaction,
        }
    }
}

/// The lookups of the rules; holding them keeps their series alive.
struct Questions {
    aggregates: Vec<Arc<AggregateQuery>>,
    previous: Vec<Arc<PreviousQuery>>,
}

fn main() -> anyhow::Result<()> {
    let n_rules = numbers("rules=", &[0])?.first().copied().unwrap_or(0);
    if n_rules > 0 {
        println!("machine: {}", machine());
        known_rules::measure(n_rules);
        return Ok(());
    }
    let n_customers = numbers("customers=", &[0])?.first().copied().unwrap_or(0);
    if n_customers > 0 {
        println!("machine: {}", machine());
        return process_size::measure(n_customers);
    }
    let asked = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let n_rows: usize = asked.unwrap_or(N_ROWS);
    let rules = if std::env::args().any(|word| word == "two") { Rules::Two } else { Rules::Examples };
    println!("machine: {}; {n_rows} transactions, {rules:?}", machine());
    let directory = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let _inside = runtime.enter();
    let store = runtime.block_on(Store::open(directory.path()))?;
    let started = Instant::now();
    runtime.block_on(fill(&store, n_rows, rules))?;
    println!("store filled in {:.1} s", started.elapsed().as_secs_f64());
    let past = Arc::new(StoredPast::of(&store));
    reading_alone(past.as_ref(), n_rows)?;
    measure(&past, n_rows, rules, &directory.path().join("history.snapshot"))?;
    runtime.block_on(store.close());
    Ok(())
}

async fn fill(store: &Store, n_rows: usize, rules: Rules) -> anyhow::Result<()> {
    let mut traffic = Traffic::new(n_rows);
    let mut random = Random::seeded(17);
    let mut sequence = 0;
    loop {
        let mut group = Vec::with_capacity(GROUP);
        for transaction in traffic.by_ref().take(GROUP) {
            sequence += 1;
            group.push(record(sequence, &rules.dress(transaction, &mut random)));
        }
        if group.is_empty() {
            return Ok(());
        }
        store.record(&group).await?;
    }
}

fn record(sequence: u64, transaction: &Transaction) -> TransactionRecord {
    let id = &transaction.transaction_id;
    TransactionRecord {
        sequence: Sequence(sequence),
        transaction_id: Arc::clone(id),
        fingerprint: Fingerprint([sequence.to_le_bytes()[0]; 32]),
        event_micros: transaction.timestamp.micros(),
        accepted_micros: transaction.timestamp.micros(),
        rule_set_version: 1,
        body: transaction.to_stored(),
        assessment: Some(format!(
            "{{\"transaction_id\":\"{id}\",\"verdict\":\"approve\",\"score\":0.0,\"reason\":null,\"triggered\":[],\
             \"failures\":[],\"rule_set_version\":1,\"evaluated_at\":\"{}\"}}",
            transaction.timestamp.as_str()
        )),
        origin: TransactionOrigin::Request,
    }
}

fn reading_alone(past: &dyn Past, n_rows: usize) -> anyhow::Result<()> {
    let through = N_READ.min(u64::try_from(n_rows)?);
    let (started, mut n_read) = (Begun::now(), 0_u64);
    past.each_after(Sequence(0), Sequence(through), &mut |_| n_read += 1)?;
    let micros = started.until_now().cpu.as_secs_f64() * 1e6;
    println!("reading {n_read} rows and nothing else: {:.2} CPU µs a row", micros / count(n_read));
    Ok(())
}

fn measure(past: &Arc<StoredPast>, n_rows: usize, rules: Rules, file: &Path) -> anyhow::Result<()> {
    let last = Sequence(u64::try_from(n_rows)?);
    let (before, whole) = (resident_bytes(), Bench::new(past, rules)?);
    let (rebuilt, rebuild_time) = whole.restore(past.as_ref(), last, None)?;
    let resident = resident_bytes().saturating_sub(before);
    let expected = whole.answers()?;
    let started = Begun::now();
    let written = whole.history.write_snapshot(file, None, &|| true)?.context("nothing was written")?;
    let write_time = started.until_now();
    drop(whole);

    let again = Bench::new(past, rules)?;
    let (loaded, load_time) = again.restore(past.as_ref(), last, Some(file))?;
    anyhow::ensure!(loaded.refused.is_none(), "the snapshot is refused: {:?}", loaded.refused);
    anyhow::ensure!(loaded.n_from_snapshot == rebuilt.n_transactions && loaded.n_read == 0);
    anyhow::ensure!(again.answers()? == expected, "the answers differ from those without a snapshot");
    drop(again);

    let behind = Bench::new(past, rules)?;
    let early = Sequence(last.0 - last.0 / 100);
    behind.restore(past.as_ref(), early, None)?;
    behind.history.write_snapshot(file, None, &|| true)?.context("nothing was written")?;
    drop(behind);
    let late = Bench::new(past, rules)?;
    let (caught_up, tail_time) = late.restore(past.as_ref(), last, Some(file))?;
    anyhow::ensure!(late.answers()? == expected, "the answers differ behind an older snapshot");

    let entries = written.n_entries;
    println!(
        "{} series, {entries} entries; resident {:.0} MiB; snapshot {:.0} MiB, {:.1} bytes an entry",
        late.history.n_series(),
        count(u64::try_from(resident)?) / 1_048_576.0,
        count(written.n_bytes) / 1_048_576.0,
        count(written.n_bytes) / count(entries)
    );
    println!("{:<52} {:>10} {:>14} {:>14}", "what", "seconds", "CPU seconds", "CPU µs a row");
    for (what, time) in [
        ("ready without a snapshot".to_owned(), rebuild_time),
        ("snapshot written".to_owned(), write_time),
        ("ready from a snapshot".to_owned(), load_time),
        (format!("ready from one that lacks the last {}", caught_up.n_read), tail_time),
    ] {
        let (seconds, cpu) = (time.wall.as_secs_f64(), time.cpu.as_secs_f64());
        println!("{what:<52} {seconds:>10.2} {cpu:>14.2} {:>14.2}", cpu * 1e6 / count(last.0));
    }
    Ok(())
}

/// Wall time, and CPU time of all threads.
struct Taken {
    wall: Duration,
    cpu: Duration,
}

/// The start of a measurement.
struct Begun {
    at: Instant,
    cpu: Duration,
}

impl Begun {
    fn now() -> Self {
        Self { at: Instant::now(), cpu: cpu_time() }
    }

    fn until_now(&self) -> Taken {
        Taken { wall: self.at.elapsed(), cpu: cpu_time().saturating_sub(self.cpu) }
    }
}

struct Bench {
    history: History,
    questions: Questions,
    rules: Rules,
}

impl Bench {
    fn new(past: &Arc<StoredPast>, rules: Rules) -> anyhow::Result<Self> {
        let past: Arc<dyn Past> = Arc::clone(past) as Arc<dyn Past>;
        let history = History::over(past);
        let questions = match rules {
            Rules::Examples => example_questions(&history)?,
            Rules::Two => two_questions(&history)?,
        };
        Ok(Self { history, questions, rules })
    }

    fn restore(
        &self,
        past: &dyn Past,
        last: Sequence,
        file: Option<&Path>,
    ) -> anyhow::Result<(Restored, Taken)> {
        self.history.resume_at(last);
        let started = Begun::now();
        let restored = self.history.restore_all(past, last, file, &Unwatched)?.context("it was stopped")?;
        Ok((restored, started.until_now()))
    }

    /// Returns the results of every lookup for some transactions like those in the store.
    fn answers(&self) -> anyhow::Result<Vec<u64>> {
        let lists: HashMap<String, NamedList> = HashMap::new();
        let mut random = Random::seeded(29);
        let as_of = self.history.last_sequence().next();
        let mut answers = Vec::new();
        for transaction in Traffic::new(N_ASKED) {
            let asked = self.rules.dress(transaction, &mut random);
            for aggregate in &self.questions.aggregates {
                answers.push(aggregate.answer(&asked, as_of, &lists)?.to_bits());
            }
            for previous in &self.questions.previous {
                answers.push(u64::from(previous.answer(&asked, as_of, &lists)?));
            }
        }
        Ok(answers)
    }
}

/// Returns a count by source and a sum by destination over seven days.
fn two_questions(history: &History) -> anyhow::Result<Questions> {
    let spec = |function, field: &str| {
        let filter = Condition::Compare {
            left: Operand::Field(FieldPath::parse(field)),
            operator: Comparison::Equal,
            right: Operand::Current(FieldPath::parse(field)),
        };
        let window = Window::parse("P7D").context("no window")?;
        anyhow::Ok(AggregateSpec { function, value: FieldPath::parse("amount"), filter, window })
    };
    let aggregates = vec![
        history.aggregate(&spec(AggregateFunction::Count, "source")?, Semantics::CURRENT)?,
        history.aggregate(&spec(AggregateFunction::Sum, "destination")?, Semantics::CURRENT)?,
    ];
    Ok(Questions { aggregates, previous: Vec::new() })
}

fn example_questions(history: &History) -> anyhow::Result<Questions> {
    let mut questions = Questions { aggregates: Vec::new(), previous: Vec::new() };
    for path in repository::files("rules", ".ws") {
        let rule = compile(&repository::read(&path), &CompileOptions::default()).rule;
        let needs = emit(&[rule.context("an example rule does not compile")?])?.manifest.needs;
        for spec in &needs.aggregates {
            questions.aggregates.push(history.aggregate(spec, Semantics::CURRENT)?);
        }
        for spec in &needs.previous {
            questions.previous.push(history.previous(spec, Semantics::CURRENT)?);
        }
    }
    Ok(questions)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
const fn count(n: u64) -> f64 {
    n as f64
}
