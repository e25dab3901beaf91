//! Latency of injects while the rules are swapped on a Kubernetes volume. The baselines are the same load without
//! swaps, and with swaps on a volume that the service does not watch.
//!
//! `cargo bench -p tollgate-benches --bench volumes [-- [swaps=N] [rules=N] [clients=N] [interval=MILLISECONDS]]`
//!
//! The load is a quarter of the closed-loop rate, and latency counts from the due time of a request. The rules lie on a
//! volume in the kubelet's layout, below `TOLLGATE_VOLUMES` or else beside the data directory. Each swap installs a new
//! folder with two changed rules and a changed list.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tollgate_benches::report::{machine, numbers};
use tollgate_benches::rule_files::rule_files;
use tollgate_load::corpus::TransactionKind;
use tollgate_load::{AnsweredLoad, PaymentSender, Samples};
use tollgate_tests::{Home, Service, Volume, sample};

/// Interval between two swaps, in milliseconds.
const INTERVAL: usize = 1_000;
/// Number of rounds of the three measurements.
const ROUNDS: usize = 10;
/// Latency above which a response counts as late, in microseconds.
const LATE_US: u32 = 5_000;
/// The time after which a load ends in any case.
const LASTS_MAX: Duration = Duration::from_hours(1);
/// Duration of the search for the peak rate.
const PEAK: Duration = Duration::from_secs(5);

/// Activity during the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    /// Swaps on the volume that the service watches.
    Swaps,
    /// Swaps on another volume: the cost of creating and removing the files alone.
    SwapsElsewhere,
}

const ALL: [(Beside, &str); 3] =
    [(Beside::Nothing, "no swaps"), (Beside::SwapsElsewhere, "swaps elsewhere"), (Beside::Swaps, "swaps")];

fn main() -> anyhow::Result<()> {
    let one = |word: &str, otherwise: usize| -> anyhow::Result<usize> {
        numbers(word, &[otherwise])?.first().copied().context("a number is missing")
    };
    let (n_swaps, n_rules) = (one("swaps=", 200)?, one("rules=", 100)?);
    let n_clients = one("clients=", 16)?;
    let interval = Duration::from_millis(one("interval=", INTERVAL)?.try_into()?);
    let rules = rule_files(n_rules);
    let files = |version: usize| [&rules[..], &changed(version)].concat();
    let parent = env::var_os("TOLLGATE_VOLUMES").map_or_else(env::temp_dir, Into::into);
    let volumes = tempfile::tempdir_in(&parent)?;
    let at = |name: &str| volumes.path().join(name);
    let volume = Volume::at(&at("rules"), &at("source"), &files(0));
    let elsewhere = Volume::at(&at("elsewhere"), &at("source_elsewhere"), &files(0));
    let mut home = Home::new();
    home.set("WATCH_SCRIPT_DIR", at("rules").to_str().context("a path is no text")?);
    let service = Service::start(&home);
    let sender = PaymentSender::to(service.address(), TransactionKind::Usual)?;
    let peak = sender.closed_loop(64, PEAK)?.per_second;
    println!(
        "machine: {}; {n_rules} rules, {n_clients} clients, peak {peak:.0} a second, offered {:.0}, volumes in {}",
        machine(),
        peak / 4.0,
        parent.display()
    );
    let mut version = 0;
    let mut measured = ALL.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for ((beside, _), measured) in ALL.iter().zip(&mut measured) {
            let swap = |n: usize| match beside {
                Beside::Nothing => {}
                Beside::Swaps => volume.swap(&files(version + n)),
                Beside::SwapsElsewhere => elsewhere.swap(&files(n)),
            };
            let load = |stop: &AtomicBool| Ok(sender.open_loop(n_clients, peak / 4.0, LASTS_MAX, stop)?);
            let load = with_swaps(n_swaps / ROUNDS, interval, swap, load)?;
            if *beside == Beside::Swaps {
                version += n_swaps / ROUNDS;
            }
            measured.push(load.latencies);
        }
    }
    println!(
        "{:<18} {:>10} {:>8} {:>8} {:>12} {:>9}  by round, %",
        "", "injects", "p50 ms", "p99 ms", "later 5 ms", "share"
    );
    for ((_, name), rounds) in ALL.iter().zip(measured) {
        report(name, &rounds);
    }
    let in_force = format!("version {version}");
    service.until("the last version is in force", || service.get("/instructions").text().contains(&in_force));
    println!("{version} swaps, the last one is in force");
    Ok(())
}

/// Returns the result of a load during this many swaps. `swap` receives the number of the swap, from 1.
fn with_swaps(
    n_swaps: usize,
    interval: Duration,
    swap: impl Fn(usize),
    load: impl FnOnce(&AtomicBool) -> anyhow::Result<AnsweredLoad> + Send,
) -> anyhow::Result<AnsweredLoad> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let loading = scope.spawn(|| load(&is_over));
        let begun = Instant::now();
        let mut due = interval;
        for n in 1..=n_swaps {
            thread::sleep(due.saturating_sub(begun.elapsed()));
            swap(n);
            due += interval;
        }
        // Include the effects of the last swap.
        thread::sleep(interval);
        is_over.store(true, Ordering::Relaxed);
        loading.join().ok().context("the load panicked")?
    })
}

/// Returns two rules and a list that contain their version.
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

fn report(name: &str, rounds: &[Samples]) {
    let latencies = Samples::merged(rounds);
    let (n, n_late) = (latencies.count(), latencies.n_over(LATE_US));
    let (p50, p99) = (latencies.permille_ms(500), latencies.permille_ms(990));
    let by_round: Vec<String> = rounds.iter().map(|round| format!("{:.2}", share_of_late(round))).collect();
    let (share, by_round) = (share_of_late(&latencies), by_round.join(" "));
    println!("{name:<18} {n:>10} {p50:>8.2} {p99:>8.2} {n_late:>12} {share:>7.3} %  {by_round}");
}

/// Returns the share of late responses in percent.
fn share_of_late(latencies: &Samples) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let share = latencies.n_over(LATE_US) as f64 * 100.0 / latencies.count() as f64;
    share
}
