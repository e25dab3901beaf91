//! A service that has far more customers than its memory has room for: payments per second, latencies, reads of the disk, and the time
//! to start again. Also the time of a new rule over all of it, and whether every verdict can be derived again.
//!
//! `cargo bench -p tollgate-benches --bench cold [-- [customers=N] [payments=N] [limit=MiB] [group=MiB] [zipf]]`
//!
//! The service judges by the shipped rules, with `limit` as its SERVICE_MEMORY_LIMIT, in a control group of `group` MiB that counts the
//! page cache, if this machine lets one be made. Batches store `payments` first, which makes most customers known. The run fails if a
//! payment is refused, if the group kills the service, or if a verdict differs in the audit.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use tollgate_benches::report::{cpu_time_of, machine, numbers};
use tollgate_load::corpus::{Customers, TransactionKind};
use tollgate_load::{AnsweredLoad, PaymentSender};
use tollgate_tests::binary::binary;
use tollgate_tests::control_group::ControlGroup;
use tollgate_tests::{Home, Service, audit, links, process, sample};

const N_CUSTOMERS: usize = 200_000;
/// Duration of one batch, after which a line is printed.
const BATCH: Duration = Duration::from_secs(20);
/// Duration of each measurement of latencies.
const LOAD: Duration = Duration::from_secs(20);
const N_CONNECTIONS: usize = 64;
/// Maximum time until a new rule is in force, and the pause between two looks.
const FILL_MAX: Duration = Duration::from_hours(2);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Payments after a start whose latencies are told.
const N_FIRST: usize = 2_000;

fn main() -> anyhow::Result<()> {
    let number = |word: &str, otherwise: usize| -> anyhow::Result<usize> {
        numbers(word, &[otherwise])?.first().copied().context("a number is missing")
    };
    let n_customers = number("customers=", N_CUSTOMERS)?;
    let n_payments = number("payments=", n_customers + n_customers / 5)?;
    let (limit, group_mib) = (number("limit=", 64)?, number("group=", 512)?);
    let is_zipf = std::env::args().any(|word| word == "zipf");
    let customers = Customers { n_customers: n_customers.try_into()?, is_zipf };
    let group = ControlGroup::new(group_mib.try_into()?);
    println!(
        "machine: {}; {n_customers} customers, {}, {n_payments} payments, limit {limit} MiB, {}",
        machine(),
        if is_zipf { "Zipf" } else { "uniform" },
        if group.is_some() {
            format!("control group of {group_mib} MiB")
        } else {
            "no control group".to_owned()
        }
    );
    let home = home(limit, group.as_ref())?;
    let service = Service::start(&home);
    let sender = PaymentSender::to(service.address(), TransactionKind::OfCustomers(customers))?;
    let n_stored = fill(&service, &sender, n_payments, group.as_ref())?;
    let half = latencies(&service, &sender)?;
    new_rule(&home, &service, &sender, half)?;
    let begun = Instant::now();
    let (status, log) = service.stop();
    ensure!(status.success(), "the service ended with {status}");
    let failed = log.iter().find(|line| line.contains("the snapshot of the history cannot be written"));
    ensure!(failed.is_none(), "a start would read the store: {failed:?}");
    println!("stopped in {:.1} s; in the data directory:", begun.elapsed().as_secs_f64());
    sizes(&home, n_stored)?;
    let service = started(&home, "a clean stop", customers)?;
    service.kill();
    let service = started(&home, "kill -9", customers)?;
    service.stop();
    if let Some(group) = &group {
        ensure!(group.n_killed() == 0, "the control group killed a process");
    }
    let begun = Instant::now();
    let replayed = audit::replay(&home);
    let n_derived = replayed.all_follow();
    println!("{n_derived} verdicts derived again in {:.0} s, 0 differ", begun.elapsed().as_secs_f64());
    Ok(())
}

fn home(limit_mib: usize, group: Option<&ControlGroup>) -> anyhow::Result<Home> {
    let mut home = Home::with_shipped_rules();
    home.set("SERVICE_MEMORY_LIMIT", &format!("{limit_mib}MiB"));
    if let Some(group) = group {
        let script = home.at("serve");
        let text = format!(
            "#!/bin/sh\necho $$ > {}\nexec {} \"$@\"\n",
            group.processes().display(),
            binary().display()
        );
        fs::write(&script, text)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        home.serve_by(&script);
    }
    Ok(home)
}

/// Stores payments in batches. Returns their number.
fn fill(
    service: &Service,
    sender: &PaymentSender,
    n_payments: usize,
    group: Option<&ControlGroup>,
) -> anyhow::Result<f64> {
    println!("\n{:>12} {:>10} {:>12} {:>10}  memory", "payments", "a second", "resident MiB", "group MiB");
    let mut n_stored = 0.0;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    while n_stored < n_payments as f64 {
        let begun = Instant::now();
        sender.batch(BATCH)?;
        // Also of payments whose answers were still under way when the batch ended.
        let n_now = links::metric(service, "tollgate_history_transactions") as f64;
        let per_second = (n_now - n_stored) / begun.elapsed().as_secs_f64();
        n_stored = n_now;
        let resident = process::resident_kib(service.pid()).0 >> 10;
        let memory = service.get("/readyz").at("/checks/memory");
        let used = group.map_or(0, ControlGroup::used_mib);
        println!("{n_stored:>12.0} {per_second:>10.0} {resident:>12} {used:>10}  {memory}");
    }
    Ok(n_stored)
}

/// Prints the closed-loop rate with its cost, and the latencies at half of it, which is returned.
fn latencies(service: &Service, sender: &PaymentSender) -> anyhow::Result<f64> {
    let (reads, cpu) = (disk_reads(), cpu_time_of(&service.pid().to_string()));
    let peak = sender.closed_loop(N_CONNECTIONS, LOAD)?;
    let spent = cpu_time_of(&service.pid().to_string()).saturating_sub(cpu);
    let n_judged = peak.per_second * LOAD.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let reads = disk_reads().saturating_sub(reads) as f64;
    println!(
        "\nclosed loop of {N_CONNECTIONS}: {:.0} a second, {:.0} us of CPU and {:.1} reads of all disks a payment; {}",
        peak.per_second,
        spent.as_secs_f64() * 1e6 / n_judged,
        reads / n_judged,
        shown(&peak)
    );
    let half = peak.per_second / 2.0;
    let load = sender.open_loop(N_CONNECTIONS, half, LOAD, &AtomicBool::new(false))?;
    println!("at half of that rate: {}", shown(&load));
    Ok(half)
}

/// Adds a rule that needs a key for nearly every stored payment. Prints the time until it is in force, and the latencies of
/// payments meanwhile.
fn new_rule(home: &Home, service: &Service, sender: &PaymentSender, per_second: f64) -> anyhow::Result<()> {
    let condition = "count(when source == $current.source and destination == $current.destination \
                     and currency == $current.currency, \"P90D\") > 1000000";
    let is_in_force = AtomicBool::new(false);
    let begun = Instant::now();
    let (load, elapsed) = thread::scope(|scope| {
        let load = scope.spawn(|| sender.open_loop(N_CONNECTIONS, per_second, FILL_MAX, &is_in_force));
        home.write_rule("every_pair.ws", sample::rule("every_pair", condition));
        while !service.get("/instructions").text().contains("\"every_pair\"") && begun.elapsed() < FILL_MAX {
            thread::sleep(LOOK_EVERY);
        }
        let elapsed = begun.elapsed();
        is_in_force.store(true, Ordering::Relaxed);
        load.join().map(|load| (load, elapsed))
    })
    .map_err(|_| anyhow!("the thread that sends payments ended"))?;
    ensure!(elapsed < FILL_MAX, "a new rule is not in force after {FILL_MAX:?}");
    let seconds = elapsed.as_secs_f64();
    println!("a new rule over all payments: in force after {seconds:.0} s; meanwhile {}", shown(&load?));
    Ok(())
}

fn shown(load: &AnsweredLoad) -> String {
    let [p50, p99, p999] = [500, 990, 999].map(|share| load.latencies.permille_ms(share));
    format!("p50 {p50:.2} ms, p99 {p99:.2} ms, p99.9 {p999:.2} ms")
}

/// Starts the service again, and prints the time until it is ready and the latencies of the first payments.
fn started(home: &Home, after: &str, customers: Customers) -> anyhow::Result<Service> {
    let begun = Instant::now();
    let service = Service::start(home);
    let ready = begun.elapsed();
    let (_, most_kib) = process::resident_kib(service.pid());
    let sender = PaymentSender::to(service.address(), TransactionKind::OfCustomers(customers))?;
    let first = sender.closed_loop_of(1, N_FIRST)?;
    println!(
        "after {after}: ready in {:.2} s, at most {} MiB resident; the first {N_FIRST} payments: {}",
        ready.as_secs_f64(),
        most_kib >> 10,
        shown(&first)
    );
    Ok(service)
}

/// Prints the bytes of a payment by file.
fn sizes(home: &Home, n_stored: f64) -> anyhow::Result<()> {
    let mut folders = vec![home.data()];
    while let Some(folder) = folders.pop() {
        let (mut of_segments, mut n_segments) = (0, 0);
        for entry in fs::read_dir(&folder)? {
            let (path, metadata) = {
                let entry = entry?;
                (entry.path(), entry.metadata()?)
            };
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if metadata.is_dir() {
                folders.push(path);
            } else if name.starts_with("seg-") {
                of_segments += metadata.len();
                n_segments += 1;
            } else if metadata.len() > 1 << 20 {
                print_size(&name, metadata.len(), n_stored);
            }
        }
        if n_segments > 0 {
            print_size(&format!("{n_segments} segments"), of_segments, n_stored);
        }
    }
    Ok(())
}

fn print_size(name: &str, n_bytes: u64, n_stored: f64) {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let a_payment = n_bytes as f64 / n_stored;
    println!("{name:>24} {:>8} MiB {a_payment:>8.0} bytes a payment", n_bytes >> 20);
}

/// Returns how many reads the disks of this machine have completed.
fn disk_reads() -> u64 {
    let text = fs::read_to_string("/proc/diskstats").unwrap_or_default();
    let reads = text.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().skip(2);
        // Partitions are counted with their disks.
        let is_disk = Path::new("/sys/block").join(fields.next()?).exists();
        fields.next()?.parse::<u64>().ok().filter(|_| is_disk)
    });
    reads.sum()
}
