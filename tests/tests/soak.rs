//! A long run at half the peak rate, in full mode: memory and files do not grow.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_tests::{Client, Home, Service, SetOnDrop, process, proof, sample};

/// Number of clients, each with one connection.
const N_CLIENTS: usize = 16;
const N_SOURCES: usize = 10_000;
/// Number of lines in the table.
const N_LINES: usize = 30;
/// Permitted growth of the later half over the earlier one, in percent and in KiB; the filter of known ids grows by
/// design.
const GROWTH_PER_CENT: u64 = 10;
const GROWTH_KIB: u64 = 16 * 1024;
/// Files that come and go: connections of the store, a snapshot being written.
const FILES_SPARE: usize = 8;
/// The WAL is truncated to 64 MiB.
const LOG_BYTES_MAX: u64 = 96 << 20;

/// Resources of the service at some moment.
#[derive(Debug, Clone, Copy)]
struct Held {
    at: Duration,
    n_answered: usize,
    resident_kib: u64,
    n_files: usize,
    log_bytes: u64,
}

#[test]
fn at_half_load_memory_files_and_log_stay_as_they_are() {
    if !proof::is_full() {
        return println!("SKIPPED: a long run is made with TOLLGATE_PROOF=full");
    }
    let mut home = Home::with_rules(&rules());
    home.set("SERVICE_HISTORY_MARGIN", "PT10S");
    home.set("SERVICE_SNAPSHOT_INTERVAL", "PT1M");
    let service = Service::start(&home);
    let clients: Vec<Client> = (0..N_CLIENTS).map(|_| service.client()).collect();
    let n_sent = AtomicUsize::new(0);
    let all_out = Duration::from_secs(20);
    let began = Instant::now();
    let no_pause = Duration::ZERO;
    load(&clients, &n_sent, no_pause, || thread::sleep(all_out));
    let peak = n_sent.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    let pause = Duration::from_secs_f64(2.0 * N_CLIENTS as f64 / peak);
    let mut held = Vec::new();
    let length = Duration::from_secs(1_800);
    let began = Instant::now();
    let n_before = n_sent.load(Ordering::Relaxed);
    load(&clients, &n_sent, pause, || {
        let every = length / u32::try_from(N_LINES).unwrap();
        for line in 1..=N_LINES {
            // This test must run for a real period of time.
            thread::sleep((every * u32::try_from(line).unwrap()).saturating_sub(began.elapsed()));
            held.push(Held::by(&service, &home, began.elapsed(), n_sent.load(Ordering::Relaxed) - n_before));
        }
    });
    report(peak, &held);
    check(&held);
    assert_eq!(service.stop().0.code(), Some(0));
}

/// Rules with windows of a few seconds, so that older data is released during the run.
fn rules() -> Vec<(String, String)> {
    let counts =
        (1..=10).map(|n| format!("count(when source == $current.source, \"PT{}S\") > {}", n + 5, 50 + n));
    let sums =
        (1..=10).map(|n| format!("sum(amount, when destination == $current.destination, \"PT{n}S\") > 1e9"));
    let plain = (1..=30).map(|n| format!("amount > {} and reference == \"never\"", n * 100));
    let conditions = counts.chain(sums).chain(plain).enumerate();
    conditions
        .map(|(n, condition)| (format!("rule_{n}.ws"), sample::rule(&format!("rule_{n}"), &condition)))
        .collect()
}

/// Each client sends at most once per `pause` until `meanwhile` is over.
fn load(clients: &[Client], n_sent: &AtomicUsize, pause: Duration, meanwhile: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for client in clients {
            scope.spawn(|| {
                let mut due = Instant::now();
                while !is_over.load(Ordering::Relaxed) {
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                    due = (due + pause).max(Instant::now());
                    let answer = client.inject(&transaction(n_sent.fetch_add(1, Ordering::Relaxed)));
                    assert_eq!(answer.status, 200, "{}", answer.text());
                }
            });
        }
        let _ending = SetOnDrop(&is_over);
        meanwhile();
    });
}

fn transaction(number: usize) -> serde_json::Value {
    let fields = json!({
        "source": format!("acc-{}", number * 7_919 % N_SOURCES),
        "destination": format!("acc-{}", number * 104_729 % N_SOURCES),
        "amount": number % 5_000,
    });
    sample::with(&sample::transaction(&format!("soak-{number}")), &fields)
}

impl Held {
    fn by(service: &Service, home: &Home, at: Duration, n_answered: usize) -> Self {
        let pid = service.pid();
        let log = fs::metadata(home.data().join("tollgate.db-wal"));
        Self {
            at,
            n_answered,
            resident_kib: process::resident_kib(pid).0,
            n_files: fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count(),
            log_bytes: log.map_or(0, |log| log.len()),
        }
    }
}

fn report(peak: f64, held: &[Held]) {
    println!("all out {peak:.0} a second, generator included; then half of it");
    println!("{:>8} {:>10} {:>10} {:>6} {:>10}", "s", "answered", "RSS MiB", "files", "log MiB");
    for Held { at, n_answered, resident_kib, n_files, log_bytes } in held {
        let (resident, log) = (resident_kib / 1024, log_bytes >> 20);
        println!("{:>8.0} {n_answered:>10} {resident:>10} {n_files:>6} {log:>10}", at.as_secs_f64());
    }
}

/// The first third is warm-up; of the rest, the later half must not exceed the earlier one.
fn check(held: &[Held]) {
    let (earlier, later) = held[N_LINES / 3..].split_at(N_LINES / 3);
    let typical = |held: &[Held]| {
        let mut resident: Vec<u64> = held.iter().map(|held| held.resident_kib).collect();
        resident.sort_unstable();
        resident[resident.len() / 2]
    };
    let (was, is) = (typical(earlier), typical(later));
    println!("resident: {} MiB, then {} MiB", was / 1024, is / 1024);
    assert!(is <= was + was * GROWTH_PER_CENT / 100 + GROWTH_KIB, "{was} KiB became {is}");
    let n_files = |held: &[Held]| held.iter().map(|held| held.n_files).max().unwrap();
    assert!(n_files(later) <= n_files(earlier) + FILES_SPARE, "{held:?}");
    assert!(held.iter().all(|held| held.log_bytes <= LOG_BYTES_MAX), "{held:?}");
    let n_answered = |held: &[Held]| held.last().unwrap().n_answered - held[0].n_answered;
    assert!(2 * n_answered(later) > n_answered(earlier), "{held:?}");
}
