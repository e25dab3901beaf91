//! A service that had room for payments has it again after a restart, with the same counts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use tollgate_population::Population;
use tollgate_tests::links::metric;
use tollgate_tests::{Client, Home, Service, proof, sample};

const N_THREADS: usize = 16;
/// Payments for each MiB of the limit: their keys and figures fit, but not all of their entries.
const PAYMENTS_PER_MIB: usize = 2_000;
const MIB: usize = 1 << 20;
const FIELDS: [&str; 4] = ["source", "destination", "meta_data.device", "meta_data.card"];
/// The limits that are tried, in tenths of the memory that a store needs without one.
const TENTHS: [usize; 6] = [3, 5, 7, 10, 14, 20];
/// Payments of the shipped rules, and customers that make so many.
const N_SHIPPED: usize = 100_000;
const N_CUSTOMERS: usize = 600;

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

/// A store of rules and payments.
struct Subject {
    home: fn() -> Home,
    payments: Vec<String>,
    /// Checks that a service with these payments takes others, in a round.
    check_takes: fn(&Client, usize, usize, &str),
}

/// Four rules of one line each, about different keys.
fn four_rules() -> Home {
    let rule = |field: &&str| {
        let name = format!("by_{}", field.replace('.', "_"));
        let condition = format!(r#"count(when {field} == $current.{field}, "P1D") >= 1"#);
        (format!("{name}.ws"), sample::rule(&name, &condition))
    };
    Home::with_rules(&FIELDS.iter().map(rule).collect::<Vec<_>>())
}

/// Returns payments whose keys are all new.
fn of_four_rules(n_payments: usize) -> Subject {
    let payment = |n| of_keys(&format!("load-{n}"), n, "2026-03-01T00:00:00Z").to_string();
    Subject { home: four_rules, payments: (0..n_payments).map(payment).collect(), check_takes: check_finds }
}

fn of_keys(id: &str, n: usize, at: &str) -> Value {
    let fields = json!({
        "source": format!("source-{n}"), "destination": format!("destination-{n}"), "created_at": at,
        "meta_data": {"device": format!("device-{n}"), "card": format!("card-{n}")},
    });
    sample::with(&sample::transaction(id), &fields)
}

/// Returns the payments of customers, judged by the shipped rules.
fn of_shipped_rules() -> Subject {
    let population = Population::ending_at("2026-10-15T12:00:00Z".parse().unwrap(), 1, N_CUSTOMERS);
    let all = (0..tollgate_population::DAYS).flat_map(|day| population.day(day));
    let payments: Vec<String> = all.map(|payment| payment.body("applied")).take(N_SHIPPED).collect();
    assert_eq!(payments.len(), N_SHIPPED);
    Subject { home: Home::with_shipped_rules, payments, check_takes: check_accepts }
}

/// Sends payments until one is refused. Returns how many were taken.
fn load(service: &Service, payments: &[String]) -> usize {
    let (next, n_taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..N_THREADS {
            scope.spawn(|| {
                let client = service.client();
                while let Some(payment) = payments.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if client.try_post("/inject", payment.as_bytes()).unwrap().status != 200 {
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
fn check_finds(client: &Client, round: usize, n_payments: usize, context: &str) {
    for n in (0..n_payments).step_by(n_payments / 8) {
        let id = format!("probe-{round}-{n}");
        let at = format!("2026-03-01T00:00:01.{:03}Z", 999 - round);
        let answer = client.inject(&of_keys(&id, n, &at));
        assert_eq!(answer.status, 200, "{context}: {}", answer.text());
        assert_eq!(answer.triggered().len(), FIELDS.len(), "{context}: {}", answer.text());
    }
}

/// Checks that payments are taken.
#[track_caller]
fn check_accepts(client: &Client, round: usize, _: usize, context: &str) {
    for n in 0..8 {
        let answer = client.inject(&of_keys(&format!("probe-{round}-{n}"), n, "2026-10-15T11:00:00Z"));
        assert_eq!(answer.status, 200, "{context}: {}", answer.text());
    }
}

fn end(service: Service, how: End) {
    match how {
        End::Stop => assert!(service.stop().0.success()),
        End::Kill => service.kill(),
    }
}

/// Returns the memory that the payments take without a limit.
fn needed_bytes(subject: &Subject) -> usize {
    let service = Service::start(&(subject.home)());
    assert_eq!(load(&service, &subject.payments), subject.payments.len());
    usize::try_from(metric(&service, "tollgate_history_resident_bytes")).unwrap()
}

/// Loads a service under this limit, then ends and starts it again and again.
fn check(subject: &Subject, limit_bytes: usize, restarts: &[(End, Origin)]) {
    let mut home = (subject.home)();
    home.set("SERVICE_MEMORY_LIMIT", &limit_bytes.to_string());
    let n_payments = subject.payments.len();
    let service = Service::start(&home);
    let n_taken = load(&service, &subject.payments);
    if n_taken < n_payments {
        // What was refused before a restart may be refused after it.
        println!("limit {limit_bytes}: refused after {n_taken} payments, before any restart");
        return;
    }
    end(service, End::Stop);
    for (round, (how, origin)) in restarts.iter().enumerate() {
        if matches!(origin, Origin::Store) {
            home.remove_history();
        }
        let context = format!("limit {limit_bytes}, start {round}, {how:?}, {origin:?}");
        let service = Service::start(&home);
        (subject.check_takes)(&service.client(), round, n_payments, &context);
        let checks = service.get("/readyz").expect(200)["checks"].clone();
        assert!(!checks["memory"].to_string().contains("failing"), "{context}: {checks}");
        check_counted(&service, limit_bytes, &context);
        end(service, *how);
    }
    println!("limit {limit_bytes}: {n_payments} payments, {} restarts", restarts.len());
}

/// Checks that the memory of the history is at most a tenth above the limit.
#[track_caller]
fn check_counted(service: &Service, limit_bytes: usize, context: &str) {
    let n_bytes = metric(service, "tollgate_history_resident_bytes");
    assert!((1..=(limit_bytes + limit_bytes / 10) as u64).contains(&n_bytes), "{context}: {n_bytes} bytes");
}

#[test]
fn a_restart_leaves_room_for_payments_where_there_was_room() {
    let restarts = [(End::Stop, Origin::Snapshot), (End::Kill, Origin::Store)];
    check(&of_four_rules(PAYMENTS_PER_MIB), MIB, &restarts);
}

/// Tries limits below and above what the payments need.
fn check_all_limits(subject: &Subject) {
    let restarts: Vec<(End, Origin)> = (0..20)
        .map(|n| {
            let how = if n % 2 == 0 { End::Stop } else { End::Kill };
            (how, if n % 4 < 2 { Origin::Snapshot } else { Origin::Store })
        })
        .collect();
    let needed = needed_bytes(subject);
    println!("needed: {needed} bytes");
    for tenths in TENTHS {
        check(subject, needed * tenths / 10, &restarts);
    }
}

#[test]
fn a_restart_leaves_room_under_every_limit() {
    if proof::is_full() {
        check_all_limits(&of_four_rules(60_000));
    }
}

#[test]
fn a_restart_leaves_room_under_every_limit_for_the_shipped_rules() {
    if proof::is_full() {
        check_all_limits(&of_shipped_rules());
    }
}
