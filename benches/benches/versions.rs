//! Compares this version with another one: injects per second, and CPU time per payment.
//!
//! `cargo bench -p tollgate-benches --bench versions -- beside=BINARY [pairs=N] [payments=N] [clients=N]
//! [rules=N | shipped] [events] [set=NAME=VALUE]`
//!
//! With `shipped` the rules are those that the project ships. With `events` the requests are ledger events, two for each
//! payment. With `set` this version has a setting that the other one has not; it may be the same binary.
//!
//! Both services run at once with separate stores and take equal shares in turn, so that noise of the machine affects
//! both alike. The order alternates from pair to pair. The result is the median of the ratios of the pairs.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::env;
use std::path::Path;

use anyhow::Context as _;
use tollgate_benches::report::{cpu_time_of, machine, numbers};
use tollgate_benches::rule_files::rule_files;
use tollgate_load::PaymentSender;
use tollgate_load::corpus::TransactionKind;
use tollgate_tests::{Home, Service, repository};

const PAIRS: usize = 60;
/// Payments for each service in each pair.
const PAYMENTS: usize = 10_000;
/// Pairs that are not counted.
const WARM_UP_PAIRS: usize = 4;

/// A service, and what pays it.
struct Subject {
    service: Service,
    sender: PaymentSender,
}

/// The figures of one service in one pair.
struct Taken {
    per_second: f64,
    cpu_micros: f64,
}

fn main() -> anyhow::Result<()> {
    let one = |word: &str, otherwise: usize| -> anyhow::Result<usize> {
        numbers(word, &[otherwise])?.first().copied().context("a number is missing")
    };
    let beside = env::args().find_map(|argument| Some(argument.strip_prefix("beside=")?.to_owned()));
    let beside = beside.context("name the binary of the other version: beside=BINARY")?;
    let (n_pairs, n_payments) = (one("pairs=", PAIRS)?, one("payments=", PAYMENTS)?);
    let (n_clients, n_rules) = (one("clients=", 64)?, one("rules=", 100)?);
    let has_word = |word: &str| env::args().any(|argument| argument == word);
    let kind = if has_word("events") { TransactionKind::Reported } else { TransactionKind::Usual };
    let files = if has_word("shipped") { shipped()? } else { rule_files(n_rules) };
    println!(
        "machine: {}; {n_pairs} pairs of {n_payments} payments, {n_clients} clients, {} files",
        machine(),
        files.len()
    );
    let mut home = Home::with_rules(&files);
    let setting = env::args().find_map(|argument| Some(argument.strip_prefix("set=")?.to_owned()));
    if let Some(setting) = &setting {
        let (name, value) = setting.split_once('=').context("a setting is set=NAME=VALUE")?;
        home.set(name, value);
    }
    let this = Subject::new(Service::start(&home), kind)?;
    home = Home::with_rules(&files);
    home.serve_by(Path::new(&beside));
    let other = Subject::new(Service::start(&home), kind)?;
    let mut pairs = Vec::new();
    for pair in 0..WARM_UP_PAIRS + n_pairs {
        let part = |subject: &Subject| subject.take(n_clients, n_payments);
        let (of_this, of_other) = if pair % 2 == 0 {
            let of_this = part(&this)?;
            (of_this, part(&other)?)
        } else {
            let of_other = part(&other)?;
            (part(&this)?, of_other)
        };
        if pair >= WARM_UP_PAIRS {
            pairs.push((of_this, of_other));
        }
    }
    println!(
        "{:<32} {:>12} {:>12} {:>8} {:>18}",
        "median", "this", "the other", "ratio", "95 % of the ratio"
    );
    report("durable answers a second", &pairs, |taken| taken.per_second)?;
    report("µs of CPU time for each", &pairs, |taken| taken.cpu_micros)
}

/// Returns the rules and lists that the project ships, with their paths.
fn shipped() -> anyhow::Result<Vec<(String, String)>> {
    let top = repository::root().join("rules");
    let paths = repository::files("rules", ".ws").into_iter().chain(repository::files("rules/lists", ".txt"));
    paths.map(|path| Ok((path.strip_prefix(&top)?.display().to_string(), repository::read(&path)))).collect()
}

impl Subject {
    fn new(service: Service, kind: TransactionKind) -> anyhow::Result<Self> {
        let sender = PaymentSender::to(service.address(), kind)?;
        Ok(Self { service, sender })
    }

    fn take(&self, n_clients: usize, n_payments: usize) -> anyhow::Result<Taken> {
        let process = self.service.pid().to_string();
        let before = cpu_time_of(&process);
        let load = self.sender.closed_loop_of(n_clients, n_payments)?;
        let cpu = cpu_time_of(&process).saturating_sub(before);
        let cpu_micros = cpu.as_secs_f64() * 1e6 / f64::from(u32::try_from(n_payments)?);
        Ok(Taken { per_second: load.per_second, cpu_micros })
    }
}

/// Prints a row of the table. The interval, from order statistics, contains the true median with 95 % confidence.
fn report(name: &str, pairs: &[(Taken, Taken)], figure: impl Fn(&Taken) -> f64) -> anyhow::Result<()> {
    let sorted = |of: &dyn Fn(&(Taken, Taken)) -> f64| {
        let mut values: Vec<f64> = pairs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let at = |values: &[f64], index: usize| values.get(index).copied().context("nothing was measured");
    let middle = pairs.len() / 2;
    let this = at(&sorted(&|(this, _)| figure(this)), middle)?;
    let other = at(&sorted(&|(_, other)| figure(other)), middle)?;
    let ratios = sorted(&|(this, other)| figure(this) / figure(other));
    let ratio = at(&ratios, middle)?;
    let (low, high) = interval(pairs.len());
    let (low, high) = (at(&ratios, low)?, at(&ratios, high)?);
    println!("{name:<32} {this:>12.1} {other:>12.1} {ratio:>8.3} {:>18}", format!("{low:.3} to {high:.3}"));
    Ok(())
}

/// Returns the indices of the interval bounds among this many sorted values.
const fn interval(n: usize) -> (usize, usize) {
    // The number of n values below their median has a standard deviation of √n / 2.
    let low = (n.saturating_sub((4 * n).isqrt()) / 2).saturating_sub(1);
    (low, n.saturating_sub(low + 1))
}
