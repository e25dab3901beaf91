//! Saves over the API while payments flow: many rules with a question each, and one rule whose history takes long to
//! gather.
//!
//! `cargo bench -p tollgate-benches --bench saves [-- [stored=N] [rules=N]]`
//!
//! The first table shows the service at its peak rate without and with the rules, in turn. The second shows what a
//! client with 200 payments a second sees while the history is filled for a rule with ten series.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tollgate_benches::report::{machine, numbers};
use tollgate_load::corpus::TransactionKind;
use tollgate_load::{AnsweredLoad, PaymentSender, Samples};
use tollgate_tests::{Home, Service, sample};

const STORED: usize = 1_000_000;
const RULES: usize = 1_000;
const CLIENTS: usize = 64;
/// Payments of one share at the peak rate.
const PAYMENTS: usize = 60_000;
const PER_SECOND: f64 = 200.0;
/// Length of the stretches without a fill, in seconds.
const ALONE_SECONDS: u64 = 10;
/// Times after which a rule that is activating is removed, in milliseconds.
const REMOVED_AFTER: [u64; 5] = [50, 300, 1_000, 2_000, 4_000];
const PATIENCE: Duration = Duration::from_mins(5);
/// The time after which a load ends in any case.
const LASTS_MAX: Duration = Duration::from_hours(1);

fn main() -> anyhow::Result<()> {
    let one = |word: &str, otherwise: usize| -> anyhow::Result<usize> {
        numbers(word, &[otherwise])?.first().copied().context("a number is missing")
    };
    let (n_stored, n_rules) = (one("stored=", STORED)?, one("rules=", RULES)?);
    println!("machine: {}", machine());
    velocity(n_rules)?;
    fill(n_stored)
}

/// Rules of the API that count the payments of an account, each over another window.
fn velocity(n_rules: usize) -> anyhow::Result<()> {
    let without = Service::start(&Home::new());
    let home = Home::new();
    let with = Service::start(&home);
    let (started, mut slowest) = (Instant::now(), Duration::ZERO);
    for n in 0..n_rules {
        let condition = format!(r#"count(when source == $current.source, "PT{}M") > {}"#, n + 1, 100_000 + n);
        let saving = Instant::now();
        let saved = with.save(&sample::rule(&format!("velocity_{n}"), &condition));
        ensure!(saved.status == 201, "{}", saved.text());
        slowest = slowest.max(saving.elapsed());
    }
    println!(
        "{n_rules} rules of the API saved in {:.1} s, the slowest in {} ms",
        started.elapsed().as_secs_f64(),
        slowest.as_millis()
    );
    println!("{:<24} {:>16} {:>9} {:>9}", "what", "durable a second", "p50 ms", "p99 ms");
    let senders = [("no rules", sender_to(&without)?), ("with the rules", sender_to(&with)?)];
    for _ in 0..4 {
        for (name, sender) in &senders {
            let AnsweredLoad { per_second, latencies } = sender.closed_loop_of(CLIENTS, PAYMENTS)?;
            let (p50, p99) = (latencies.permille_ms(500), latencies.permille_ms(990));
            println!("{name:<24} {per_second:>16.0} {p50:>9.2} {p99:>9.2}");
        }
    }
    let rules = with.get("/instructions").json();
    let not_active = rules.as_array().context("no rules")?.iter().filter(|rule| rule["status"] != "active");
    let page = with.get("/metrics").text();
    let failed = page.lines().filter(|line| line.starts_with("tollgate_rule_failures_total"));
    let failed: Vec<&str> = failed.filter(|line| !line.ends_with(" 0")).collect();
    println!("not active: {}, failures: {failed:?}", not_active.count());
    Ok(())
}

/// A rule with ten series over many stored payments.
fn fill(n_stored: usize) -> anyhow::Result<()> {
    let service = Service::start(&Home::new());
    let sender = sender_to(&service)?;
    sender.closed_loop_of(CLIENTS, n_stored)?;
    println!("{n_stored} payments stored");
    let is_filled = AtomicBool::new(false);
    let pay = |duration| -> anyhow::Result<Samples> {
        Ok(sender.open_loop(8, PER_SECOND, duration, &is_filled)?.latencies)
    };
    let alone = Duration::from_secs(ALONE_SECONDS);
    let alone = Samples::merged(&[pay(alone)?, pay(alone)?]);
    let during = thread::scope(|scope| {
        let paying = scope.spawn(|| pay(LASTS_MAX));
        let filled = watch_fill(&service).and_then(|id| remove(&service, &id));
        is_filled.store(true, Ordering::Relaxed);
        filled?;
        paying.join().ok().context("the client panicked")?
    })?;
    println!("{:<24} {:>9} {:>9} {:>9}", "payments, 200 a second", "p50 ms", "p99 ms", "max ms");
    for (name, latencies) in [("alone", &alone), ("during the fill", &during)] {
        let (p50, p99) = (latencies.permille_ms(500), latencies.permille_ms(990));
        println!("{name:<24} {p50:>9.2} {p99:>9.2} {:>9.2}", latencies.longest_ms());
    }
    for after in REMOVED_AFTER {
        let id = begin(&service, &format!("removed_{after}"))?.1;
        thread::sleep(Duration::from_millis(after));
        let status = status_of(&service, &id);
        print!("after {after} ms, while {status}: ");
        remove(&service, &id)?;
    }
    Ok(())
}

fn remove(service: &Service, id: &Value) -> anyhow::Result<()> {
    let removing = Instant::now();
    ensure!(service.delete(&format!("/instructions/{id}")).status == 204, "not removed");
    println!("removed within {:.1} ms", ms(removing.elapsed()));
    Ok(())
}

/// Begins the fill, saves a trivial rule meanwhile, and waits for the end. Returns the id of the rule.
fn watch_fill(service: &Service) -> anyhow::Result<Value> {
    let started = Instant::now();
    let (answered, id) = begin(service, "ten_series")?;
    println!("201 with `Prefer: respond-async` after {:.0} ms", ms(answered));
    thread::sleep(Duration::from_millis(300));
    let saving = Instant::now();
    ensure!(service.save(&sample::rule("trivial", "amount > 1000000")).status == 201, "not saved");
    println!("another save meanwhile ({}): {:.0} ms", status_of(service, &id), ms(saving.elapsed()));
    while status_of(service, &id) == "activating" {
        ensure!(started.elapsed() < PATIENCE, "the rule does not come into force");
        thread::sleep(Duration::from_millis(20));
    }
    println!("in force after {:.1} s: {}", started.elapsed().as_secs_f64(), status_of(service, &id));
    Ok(id)
}

/// Saves a rule with ten series. Returns the time to the answer, and the id.
fn begin(service: &Service, name: &str) -> anyhow::Result<(Duration, Value)> {
    let fields = ["source", "destination", "reference", "currency", "amount"];
    let pairs =
        fields.iter().enumerate().flat_map(|(n, one)| fields.iter().skip(n + 1).map(move |two| (one, two)));
    let asked = pairs.map(|(one, two)| {
        format!(r#"count(when {one} == $current.{one} and {two} == $current.{two}, "P30D") > 1000000"#)
    });
    let script = sample::rule(name, &asked.collect::<Vec<_>>().join(" or "));
    let headers = [("content-type", "application/json"), ("prefer", "respond-async")];
    let body = json!({ "script": script }).to_string();
    let sent = Instant::now();
    let answer = service.client().send("POST", "/compile-and-save-instruction", &headers, body.as_bytes())?;
    ensure!(answer.status == 201, "{}", answer.text());
    Ok((sent.elapsed(), answer.at("/id")))
}

fn status_of(service: &Service, id: &Value) -> String {
    let shown = service.get(&format!("/instructions/{id}"));
    if shown.status == 200 {
        shown.at("/status").as_str().unwrap_or_default().to_owned()
    } else {
        "gone".to_owned()
    }
}

fn sender_to(service: &Service) -> anyhow::Result<PaymentSender> {
    Ok(PaymentSender::to(service.address(), TransactionKind::Usual)?)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
