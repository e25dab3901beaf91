//! The memory of a service that judges by the shipped rules, beside what the sizing rule of `docs/operations.md` says.

use std::fs;
use std::sync::Mutex;
use std::thread;

use anyhow::Context as _;
use chrono::Utc;
use tollgate_population::{DAYS, Payment, Population};
use tollgate_tests::{Home, Service, process, repository};

/// Clients that pay at once.
const N_CLIENTS: usize = 8;
/// Memory that the sizing rule adds to the estimate, in MiB.
const BESIDE_MIB: u64 = 64;
const SEED: u64 = 1;

/// Pays what this many customers pay in 75 days, and measures before and after a restart.
pub(super) fn measure(n_customers: usize) -> anyhow::Result<()> {
    let home = Home::new();
    for suffix in [".ws", ".txt"] {
        for path in repository::files("rules", suffix) {
            let relative = path.strip_prefix(repository::root().join("rules"))?.display().to_string();
            home.write_rule(&relative, fs::read(&path)?);
        }
    }
    let service = Service::start(&home);
    let empty = resident_mib(&service);
    let population = Population::ending_at(Utc::now(), SEED, n_customers);
    let payments = population.before().into_iter().chain((0..DAYS).flat_map(|day| population.day(day)));
    let n_paid = pay(&service, payments);
    let paid = resident_mib(&service);
    service.stop();
    let service = Service::start(&home);
    let again = resident_mib(&service);
    service.stop();
    let estimated = estimated_mib(&home)? + BESIDE_MIB;
    println!(
        "\n{n_paid} payments of {n_customers} customers, the shipped rules; memory of the process in MiB"
    );
    println!("by the sizing rule: {estimated}; empty: {empty}; paid: {paid}; started again: {again}");
    Ok(())
}

fn pay(service: &Service, payments: impl Iterator<Item = Payment> + Send) -> usize {
    let (payments, n_paid) = (Mutex::new(payments), Mutex::new(0));
    thread::scope(|scope| {
        for _ in 0..N_CLIENTS {
            let client = service.client();
            let (payments, n_paid) = (&payments, &n_paid);
            scope.spawn(move || {
                let next = || payments.lock().ok()?.next();
                while let Some(payment) = next() {
                    let paid = client.try_post("/inject", payment.body(payment.outcome.status()).as_bytes());
                    if paid.is_ok_and(|answer| answer.status == 200)
                        && let Ok(mut n_paid) = n_paid.lock()
                    {
                        *n_paid += 1;
                    }
                }
            });
        }
    });
    n_paid.into_inner().unwrap_or_default()
}

fn resident_mib(service: &Service) -> u64 {
    process::resident_kib(service.pid()).0 / 1_024
}

/// Returns what `tollgate check --stored` tells of all rules together.
fn estimated_mib(home: &Home) -> anyhow::Result<u64> {
    let (data, rules) = (home.data().display().to_string(), home.rules().display().to_string());
    let checked = home.command(&["check", "--stored", &data, &rules]).output()?;
    let output = String::from_utf8(checked.stderr)?;
    let total = output.lines().find(|line| line.starts_with("all ")).context("the check tells no total")?;
    let words: Vec<&str> = total.split(' ').collect();
    let index = words.iter().position(|word| *word == "MiB").context("the total has no unit")?;
    Ok(words.get(index.saturating_sub(1)).context("the total has no number")?.parse()?)
}
