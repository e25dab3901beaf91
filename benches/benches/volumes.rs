//! How late injects are while the rules are swapped on a volume of Kubernetes, beside the same load without a swap.
//!
//! `cargo bench -p tollgate-benches --bench volumes [-- [swaps=N] [rules=N] [clients=N] [interval=MILLISECONDS]]`
//!
//! The load is a quarter of what a closed loop takes, and a latency counts from when the request was due. The rules lie on a
//! volume as the kubelet lays it out; each swap brings a new folder in which two rules and a list are other ones.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tollgate::history::History;
use tollgate_benches::corpus::{self, Traffic};
use tollgate_benches::load::{closed_loop, open_loop};
use tollgate_benches::report::{machine, numbers};
use tollgate_tests::{Home, Service, Volume, sample};

/// Between two swaps, in milliseconds.
const INTERVAL: usize = 100;
/// Later is late.
const LATE: Duration = Duration::from_millis(5);
/// How long the peak is looked for.
const PEAK: Duration = Duration::from_secs(5);

fn main() -> anyhow::Result<()> {
    let one = |word: &str, otherwise: usize| -> anyhow::Result<usize> {
        numbers(word, &[otherwise])?.first().copied().context("a number is missing")
    };
    let (n_swaps, n_rules) = (one("swaps=", 200)?, one("rules=", 100)?);
    let n_clients = u32::try_from(one("clients=", 16)?)?;
    let interval = Duration::from_millis(one("interval=", INTERVAL)?.try_into()?);
    let rules: Vec<(String, String)> = (0..)
        .zip(corpus::rules(n_rules, &History::new())?)
        .map(|(number, rule): (usize, _)| (format!("bench_{number}.ws"), rule.script))
        .collect();
    let files = |version: usize| [&rules[..], &changed(version)].concat();
    let home = Home::new();
    let volume = Volume::at(&home.rules(), &home.at("source"), &files(0));
    let service = Service::start(&home);
    let address = service.address();
    let peak = closed_loop(address, Traffic::Ordinary, 64, PEAK)?.per_second;
    println!(
        "machine: {}; {n_rules} rules, {n_clients} clients, peak {peak:.0} a second, offered {:.0}",
        machine(),
        peak / 4.0
    );
    println!(
        "{:<24} {:>10} {:>10} {:>10} {:>12} {:>10}",
        "", "injects", "p50 ms", "p99 ms", "later 5 ms", "share"
    );
    let mut first = 100_000_000;
    let mut swapped = 0;
    for swaps in [false, true, false, true] {
        let is_over = AtomicBool::new(false);
        let load = thread::scope(|scope| {
            let load = scope.spawn(|| {
                let goes_on = || !is_over.load(Ordering::Relaxed);
                open_loop(address, Traffic::Ordinary, n_clients, peak / 4.0, first, goes_on)
            });
            let begun = Instant::now();
            for n in 1..=u32::try_from(n_swaps / 2).unwrap_or(u32::MAX) {
                thread::sleep((interval * n).saturating_sub(begun.elapsed()));
                if swaps {
                    swapped += 1;
                    volume.swap(&files(swapped));
                }
            }
            is_over.store(true, Ordering::Relaxed);
            load.join().ok().context("the load panicked")?
        })?;
        first += load.len() + n_clients as usize;
        report(if swaps { "with swaps" } else { "without" }, load)?;
    }
    let in_force = format!("version {swapped}");
    service.until("the last version is in force", || service.get("/instructions").text().contains(&in_force));
    println!("{swapped} swaps, the last one is in force");
    Ok(())
}

/// Two rules and a list that say of which version they are.
fn changed(version: usize) -> [(String, String); 3] {
    let rule = |name: &str| {
        sample::rule(name, "currency in $stopped and amount < 0")
            .replace("matched", &format!("version {version}"))
    };
    [
        ("left.ws".to_owned(), rule("left")),
        ("right.ws".to_owned(), rule("right")),
        ("lists/stopped.txt".to_owned(), format!("EUR\nversion-{version}\n")),
    ]
}

fn report(name: &str, mut latencies: Vec<Duration>) -> anyhow::Result<()> {
    latencies.sort();
    let n = latencies.len();
    let at = |percent: usize| latencies.get(n * percent / 100).copied().context("no answer arrived");
    let n_late = latencies.iter().filter(|latency| **latency > LATE).count();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let share = n_late as f64 * 100.0 / n as f64;
    let (p50, p99) = (at(50)?.as_secs_f64() * 1e3, at(99)?.as_secs_f64() * 1e3);
    println!("{name:<24} {n:>10} {p50:>10.2} {p99:>10.2} {n_late:>12} {share:>8.3} %");
    Ok(())
}
