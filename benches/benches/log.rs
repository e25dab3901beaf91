//! Rate and errors of payments at `SERVICE_LOG=debug`, one line each, with a log that is read and with logs that are
//! not. No payment may be rejected.
//!
//! `cargo bench -p tollgate-benches --bench log [-- [payments=N] [clients=N] [rules=N]]`
//!
//! Four services with separate stores take equal shares in turn, so that noise of the machine affects all alike.
//! `payments=4000` is a short run for CI.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::fs::OpenOptions;
use std::io::{self, PipeReader};
use std::process::Stdio;
use std::thread;

use anyhow::{Context as _, ensure};
use tollgate_benches::report::{machine, numbers};
use tollgate_benches::rule_files::rule_files;
use tollgate_load::PaymentSender;
use tollgate_load::corpus::TransactionKind;
use tollgate_tests::links::metric;
use tollgate_tests::{Home, Service};

/// Number of payments for each service.
const PAYMENTS: usize = 2_000_000;
/// Number of turns over which the payments are spread.
const TURNS: usize = 40;
/// Minimum rate relative to the service whose log is read.
const SHARE_MIN: f64 = 0.97;

/// Destination of a service's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Log {
    Read,
    Closed,
    Unread,
    FullDisk,
}

impl Log {
    const ALL: [Self; 4] = [Self::Read, Self::Closed, Self::Unread, Self::FullDisk];

    const fn name(self) -> &'static str {
        match self {
            Self::Read => "a pipe that is read",
            Self::Closed => "a pipe without a reader",
            Self::Unread => "a pipe that is full and not read",
            Self::FullDisk => "a disk that is full",
        }
    }

    /// Opens the standard error of the service, and the end of a pipe that must stay open on this side.
    fn open(self) -> anyhow::Result<(Stdio, Option<PipeReader>)> {
        if self == Self::FullDisk {
            return Ok((OpenOptions::new().write(true).open("/dev/full")?.into(), None));
        }
        let (mut reader, writer) = io::pipe()?;
        let kept = match self {
            Self::Read => {
                thread::spawn(move || io::copy(&mut reader, &mut io::sink()));
                None
            }
            Self::Unread => Some(reader),
            Self::Closed | Self::FullDisk => None,
        };
        Ok((writer.into(), kept))
    }
}

struct Subject {
    log: Log,
    service: Service,
    sender: PaymentSender,
    _kept: Option<PipeReader>,
    per_second: Vec<f64>,
}

fn main() -> anyhow::Result<()> {
    let one = |word: &str, otherwise: usize| -> anyhow::Result<usize> {
        numbers(word, &[otherwise])?.first().copied().context("a number is missing")
    };
    let (n_payments, n_clients) = (one("payments=", PAYMENTS)?, one("clients=", 64)?);
    let n_rules = one("rules=", 100)?;
    println!("machine: {}; {n_payments} payments each, {n_clients} clients, {n_rules} rules", machine());
    let files = rule_files(n_rules);
    let mut subjects =
        Log::ALL.map(|log| start(log, &files)).into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    let n_each = n_payments.div_ceil(TURNS).max(n_clients);
    for turn in 0..n_payments.div_ceil(n_each) {
        let n_subjects = subjects.len();
        // Rotate the order from turn to turn.
        subjects.rotate_left(turn % n_subjects);
        for subject in &mut subjects {
            let n_payments = n_each.min(n_payments - turn * n_each);
            let load = subject.sender.closed_loop_of(n_clients, n_payments)?;
            subject.per_second.push(load.per_second);
        }
    }
    report(&subjects, n_payments)
}

fn start(log: Log, files: &[(String, String)]) -> anyhow::Result<Subject> {
    let mut home = Home::with_rules(files);
    home.set("SERVICE_LOG", "debug");
    let (stderr, kept) = log.open()?;
    let mut command = home.command(&["serve"]);
    command.stderr(stderr);
    let service = Service::start_unheard(&home, command);
    let sender = PaymentSender::to(service.address(), TransactionKind::Usual)?;
    Ok(Subject { log, service, sender, _kept: kept, per_second: Vec::new() })
}

fn report(subjects: &[Subject], n_payments: usize) -> anyhow::Result<()> {
    let reader = subjects.iter().find(|subject| subject.log == Log::Read).context("one is read")?;
    let of_read = median(&reader.per_second)?;
    println!(
        "{:<36} {:>12} {:>9} {:>14} {:>10} {:>14}",
        "standard error", "payments", "refused", "a second", "of read", "lines lost"
    );
    let mut slow = Vec::new();
    for log in Log::ALL {
        let subject = subjects.iter().find(|subject| subject.log == log).context("each was started")?;
        let per_second = median(&subject.per_second)?;
        let n_judged = judged(&subject.service);
        let n_lost = metric(&subject.service, "tollgate_log_lines_lost_total");
        let n_refused = n_payments.saturating_sub(n_judged);
        let share = per_second / of_read;
        println!(
            "{:<36} {n_judged:>12} {n_refused:>9} {per_second:>14.0} {:>8.1} % {n_lost:>14}",
            log.name(),
            share * 100.0
        );
        ensure!(n_refused == 0, "{}: {n_refused} payments without a verdict", log.name());
        if share < SHARE_MIN {
            slow.push(log.name());
        }
    }
    if !slow.is_empty() {
        println!("below {:.0} % of a log that is read: {}", SHARE_MIN * 100.0, slow.join(", "));
    }
    Ok(())
}

/// Returns the number of verdicts the service has given.
fn judged(service: &Service) -> usize {
    let verdicts = ["approve", "alert", "review", "block"];
    let of = |verdict: &&str| {
        metric(service, &format!("tollgate_transactions_judged_total{{verdict=\"{verdict}\"}}"))
    };
    usize::try_from(verdicts.iter().map(of).sum::<u64>()).unwrap_or(usize::MAX)
}

fn median(per_second: &[f64]) -> anyhow::Result<f64> {
    let mut sorted = per_second.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().context("nothing was measured")
}
