//! How fast a past is imported, in full mode: beside `sqlite3`, which inserts the same rows with the same indexes.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use tollgate_tests::programs::sqlite;
use tollgate_tests::{Home, Service, needs, proof, repository};

use super::{check, run, write};

const N_ROWS: usize = 1_000_000;
const N_ACCOUNTS: usize = 100_000;
/// Times that each is measured, one after the other.
const N_ROUNDS: usize = 3;

#[test]
fn an_import_of_a_past_is_measured_beside_sqlite() {
    needs!(Sqlite);
    if !proof::is_full() {
        return println!("SKIPPED: an import is measured with TOLLGATE_PROOF=full");
    }
    for (name, is_shipped) in [("no rules", false), ("the shipped rules", true)] {
        let mut shares: Vec<f64> = (0..N_ROUNDS).map(|_| measure(name, is_shipped)).collect();
        shares.sort_by(f64::total_cmp);
        println!("{name}: median {:.2}", shares[N_ROUNDS / 2]);
    }
}

/// Returns the rows a second of an import, divided by those of `sqlite3`.
fn measure(name: &str, is_shipped: bool) -> f64 {
    let mut home = Home::new();
    if is_shipped {
        home.set("WATCH_SCRIPT_DIR", repository::root().join("rules").to_str().unwrap());
    }
    let file = write(&home, "payments.ndjson", payments());
    let service = Service::start(&home);
    let started = Instant::now();
    let output = run(&home, &service, &["--history-only"], &[&file]);
    let imported = started.elapsed();
    check(&output, 0, &[&format!("{N_ROWS} stored")]);
    drop(service.stop());
    let inserted = insert(&home, &home.data().join("tollgate.db"));
    let a_second = |took: Duration| N_ROWS as f64 / took.as_secs_f64();
    let share = a_second(imported) / a_second(inserted);
    println!(
        "{name}: {:.0} rows a second imported, {:.0} by sqlite3, share {share:.2}",
        a_second(imported),
        a_second(inserted)
    );
    share
}

fn payments() -> String {
    let mut lines = String::with_capacity(N_ROWS * 200);
    for number in 0..N_ROWS {
        let (source, destination) = (number * 7_919 % N_ACCOUNTS, number * 104_729 % N_ACCOUNTS);
        let (day, hour, minute, second) =
            (1 + number / 86_400, number / 3_600 % 24, number / 60 % 60, number % 60);
        writeln!(
            lines,
            r#"{{"transaction_id":"txn-{number}","amount":{}.{:02},"currency":"EUR","reference":"invoice-{number}","source":"account-{source}","destination":"account-{destination}","created_at":"2026-03-{day:02}T{hour:02}:{minute:02}:{second:02}Z"}}"#,
            number % 900 + 1,
            number % 100
        )
        .unwrap();
    }
    lines
}

/// Inserts the rows of a store into an empty one, as durably. Returns how long that took.
fn insert(home: &Home, store: &Path) -> Duration {
    let copy = home.at("copy.db");
    let schema = sqlite(store).arg(".schema transactions").output().unwrap();
    let pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;";
    let schema = format!("{pragmas} {}", String::from_utf8(schema.stdout).unwrap());
    assert!(sqlite(&copy).arg(&schema).status().unwrap().success());
    let statement = format!(
        "PRAGMA synchronous = FULL; ATTACH '{}' AS store; INSERT INTO transactions SELECT * FROM store.transactions;",
        store.display()
    );
    let started = Instant::now();
    assert!(sqlite(&copy).arg(&statement).status().unwrap().success());
    let took = started.elapsed();
    let counted = sqlite(&copy).arg("SELECT count(*) FROM transactions;").output().unwrap();
    assert_eq!(String::from_utf8(counted.stdout).unwrap().trim(), N_ROWS.to_string());
    took
}
