//! A service that had room for payments has it again after a restart, with the same counts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use tollgate_tests::{Home, Service, proof, sample};

const N_THREADS: usize = 16;
/// Payments for each MiB of the limit: their keys and figures fit, but not all of their entries.
const PAYMENTS_PER_MIB: usize = 2_000;
const MIB: usize = 1 << 20;
const FIELDS: [&str; 4] = ["source", "destination", "meta_data.device", "meta_data.card"];

#[derive(Debug, Clone, Copy)]
enum End {
    Stop,
    Kill,
}

#[derive(Debug, Clone, Copy)]
enum Origin {
    Snapshot,
    Store,
}

/// Four rules of one line each, about different keys.
fn home(limit_bytes: usize) -> Home {
    let rule = |field: &&str| {
        let name = format!("by_{}", field.replace('.', "_"));
        let condition = format!(r#"count(when {field} == $current.{field}, "P1D") >= 1"#);
        (format!("{name}.ws"), sample::rule(&name, &condition))
    };
    let mut home = Home::with_rules(&FIELDS.iter().map(rule).collect::<Vec<_>>());
    home.set("SERVICE_MEMORY_LIMIT", &limit_bytes.to_string());
    home
}

/// Returns a payment whose keys are all new.
fn payment(n: usize) -> Value {
    of_keys(&format!("load-{n}"), n, "2026-03-01T00:00:00Z")
}

fn of_keys(id: &str, n: usize, at: &str) -> Value {
    let fields = json!({
        "source": format!("source-{n}"), "destination": format!("destination-{n}"), "created_at": at,
        "meta_data": {"device": format!("device-{n}"), "card": format!("card-{n}")},
    });
    sample::with(&sample::transaction(id), &fields)
}

/// Sends new payments until one is refused. Returns how many were taken.
fn load(service: &Service, n_payments: usize) -> usize {
    let (next, n_taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..N_THREADS {
            scope.spawn(|| {
                let client = service.client();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= n_payments || client.inject(&payment(n)).status != 200 {
                        break;
                    }
                    n_taken.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    n_taken.into_inner()
}

/// Checks that payments are taken, and that all four rules find the one earlier payment of each key.
#[track_caller]
fn check_takes(service: &Service, round: usize, n_payments: usize, told: &str) {
    for n in (0..n_payments).step_by(n_payments / 8) {
        let id = format!("probe-{round}-{n}");
        let at = format!("2026-03-01T00:00:01.{:03}Z", 999 - round);
        let answer = service.inject(&of_keys(&id, n, &at));
        assert_eq!(answer.status, 200, "{told}: {}", answer.text());
        assert_eq!(answer.triggered().len(), FIELDS.len(), "{told}: {}", answer.text());
    }
    let checks = service.get("/readyz").expect(200)["checks"].clone();
    assert!(!checks["memory"].to_string().contains("failing"), "{told}: {checks}");
}

fn end(service: Service, how: End) {
    match how {
        End::Stop => assert!(service.stop().0.success()),
        End::Kill => service.kill(),
    }
}

/// Loads a service under this limit, then ends and starts it again and again.
fn check(limit_bytes: usize, n_payments: usize, restarts: &[(End, Origin)]) {
    let home = home(limit_bytes);
    let service = Service::start(&home);
    if load(&service, n_payments) < n_payments {
        // What was refused before a restart may be refused after it.
        return;
    }
    end(service, End::Stop);
    for (round, (how, origin)) in restarts.iter().enumerate() {
        if matches!(origin, Origin::Store) {
            std::fs::remove_file(home.data().join("history.snapshot")).ok();
        }
        let told = format!("limit {limit_bytes}, start {round}, {how:?}, {origin:?}");
        let service = Service::start(&home);
        check_takes(&service, round, n_payments, &told);
        check_counted(&service, limit_bytes, &told);
        end(service, *how);
    }
}

/// Checks that the memory of the history is at most a tenth above the limit.
#[track_caller]
fn check_counted(service: &Service, limit_bytes: usize, told: &str) {
    let page = service.get("/metrics").text();
    let line = page.lines().find_map(|line| line.strip_prefix("tollgate_history_resident_bytes "));
    let n_bytes: f64 =
        line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{told}: {page}"));
    assert!(n_bytes <= (limit_bytes + limit_bytes / 10) as f64, "{told}: {n_bytes} bytes");
}

#[test]
fn a_restart_leaves_room_for_payments_where_there_was_room() {
    let restarts = [(End::Stop, Origin::Snapshot), (End::Kill, Origin::Store)];
    check(MIB, PAYMENTS_PER_MIB, &restarts);
}

/// 60,000 payments under limits of 0.3 to 2 times the 32 MiB that they need, entries included.
#[test]
fn a_restart_leaves_room_under_every_limit() {
    if !proof::is_full() {
        return;
    }
    let restarts: Vec<(End, Origin)> = (0..20)
        .map(|n| {
            let how = if n % 2 == 0 { End::Stop } else { End::Kill };
            (how, if n % 4 < 2 { Origin::Snapshot } else { Origin::Store })
        })
        .collect();
    for tenths in [3, 5, 7, 10, 14, 20] {
        check(32 * MIB * tenths / 10, 60_000, &restarts);
    }
}
