//! Many sessions write concurrently, commit late and roll back while the service restarts: every committed row is read.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::json;
use tollgate_tests::{Home, Service, needs, proof, sample};

use crate::ledger::bank::{Bank, caught_up, number, until};

const N_SESSIONS: usize = 50;
const N_CLIENTS: usize = 8;

/// Returns the script of a session. Transactions stay open for at most `open_ms_max` milliseconds.
fn script(session: usize, n_transactions: usize, n_rows: usize, open_ms_max: usize) -> String {
    let mut script = String::new();
    for transaction in 0..n_transactions {
        let seed = session * 7_919 + transaction * 104_729;
        // Set by the database, by an application with a slow clock, or equal for many rows.
        let time = match seed % 3 {
            0 => "now()",
            1 => "clock_timestamp() - interval '900 milliseconds' * random()",
            _ => "date_trunc('second', clock_timestamp())",
        };
        // The start time of a prepared transaction is not visible.
        let is_open = seed.is_multiple_of(4) && seed % 10 != 2;
        let open_ms = if is_open { seed % open_ms_max } else { 0 };
        let end = match seed % 10 {
            0 | 1 => "ROLLBACK;".to_owned(),
            2 => format!(
                "PREPARE TRANSACTION 'p{session}-{transaction}'; SELECT pg_sleep(0.{}); \
                 COMMIT PREPARED 'p{session}-{transaction}';",
                seed % 7
            ),
            _ => "COMMIT;".to_owned(),
        };
        writeln!(
            script,
            "BEGIN; INSERT INTO transactions (transaction_id, created_at, amount, currency, reference, source, status)
             SELECT 't{session}-{transaction}-' || n, {time}, n + 0.25, 'EUR', 'r', 's{session}', 'applied'
             FROM generate_series(1, {n_rows}) n; SELECT pg_sleep({open_ms} / 1000.0); {end}"
        )
        .unwrap();
    }
    script
}

fn write(bank: &Bank, script: &str) -> Child {
    let mut session = bank.session(crate::ledger::bank::DATABASE);
    session.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    session
}

fn committed(bank: &Bank) -> BTreeSet<String> {
    bank.sql("SELECT transaction_id FROM transactions;").lines().map(str::to_owned).collect()
}

fn n_committed(bank: &Bank) -> usize {
    bank.sql("SELECT count(*) FROM transactions;").parse().unwrap()
}

/// Returns the ids that the service lacks.
fn missed(service: &Service, ids: &BTreeSet<String>) -> Vec<String> {
    let (ids, next) = (ids.iter().collect::<Vec<_>>(), AtomicUsize::new(0));
    let look = || {
        let (client, mut missed) = (service.client(), Vec::new());
        while let Some(id) = ids.get(next.fetch_add(1, Ordering::Relaxed)) {
            if client.transaction(id).status != 200 {
                missed.push((*id).clone());
            }
        }
        missed
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..N_CLIENTS).map(|_| scope.spawn(look)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Checks that the history contains exactly this many transactions: no duplicates, no rolled-back rows.
#[track_caller]
fn check_census(service: &Service, n: usize) {
    let condition = format!(r#"count(when currency == "EUR", "P3D") == {n}"#);
    assert_eq!(service.save(&sample::rule("census", &condition)).status, 201);
    let probe = sample::with(&sample::transaction("probe"), &json!({"currency": "XTS"}));
    assert_eq!(service.inject(&probe).triggered(), ["census"], "not exactly {n} are in the history");
}

#[test]
fn rows_of_fifty_sessions_are_applied_once_in_any_order_and_after_crashes() {
    needs!(PostgreSql);
    let bank = Bank::open();
    let mut home: Home = bank.home();
    // Shorter than transactions stay open here, so the feed must track running transactions.
    home.set("LEDGER_SYNC_OVERLAP", "1s");
    let (n_transactions, n_rows) = (proof::rounds(6, 25), proof::rounds(20, 100));
    let open_ms_max = proof::rounds(3_000, 20_000);
    let started = Instant::now();
    let mut service = Service::start(&home);
    let sessions: Vec<_> = (0..N_SESSIONS)
        .map(|session| write(&bank, &script(session, n_transactions, n_rows, open_ms_max)))
        .collect();
    let n_expected = N_SESSIONS * n_transactions * n_rows;
    for (restart, share) in [5, 3, 2].into_iter().enumerate() {
        until("enough rows are there", || n_committed(&bank) >= n_expected / share / 2);
        if restart == 1 {
            service.stop();
        } else {
            service.kill();
        }
        service = Service::start(&home);
    }
    for session in sessions {
        let output = session.wait_with_output().unwrap();
        assert!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
    }
    let written = started.elapsed();
    caught_up(&service);
    let read = started.elapsed();
    let committed = committed(&bank);
    let missed = missed(&service, &committed);
    assert!(missed.is_empty(), "{} of {} missed: {:?}", missed.len(), committed.len(), missed.first());
    check_census(&service, committed.len());
    assert_eq!(service.get("/ledger/dead-letters").at("/count"), 0);
    println!(
        "{} rows written by {N_SESSIONS} sessions, {} committed in {written:?}, 3 restarts; applied {} after {read:?}: \
         0 missed, 0 twice",
        n_expected,
        committed.len(),
        committed.len()
    );
}

#[test]
fn a_first_reading_goes_as_far_back_as_it_should_and_says_how_far_it_is() {
    needs!(PostgreSql);
    let bank = Bank::open();
    let n = proof::rounds(4_000, 100_000);
    bank.sql(&format!(
        "INSERT INTO transactions SELECT 'old' || n, now() - interval '49 hours', 1, 'EUR', 's', 'd', 'r', NULL, \
         'applied', NULL FROM generate_series(1, 10) n;
         INSERT INTO transactions SELECT 't' || n, now() - interval '47 hours' + n * interval '1 second', 1, 'EUR', 's', \
         'd', 'r', NULL, 'applied', jsonb_build_object('n', n) FROM generate_series(1, {n}) n;"
    ));
    let started = Instant::now();
    let service = Service::start(&bank.home());
    until("the ledger was read", || number(&service, "tollgate_ledger_passes_total{result=\"ok\"}") > 0);
    let took = started.elapsed();
    assert_eq!(number(&service, r#"tollgate_ledger_rows_total{result="taken"}"#), n as u64);
    assert_eq!(service.transaction("old1").status, 404);
    assert_eq!(service.transaction("t1").status, 200);
    assert_eq!(crate::ledger::bank::ledger_check(&service), "ok");
    let said = |line: &str| {
        let fields = tollgate_tests::log::fields(line)?;
        (fields.get("message")?.as_str()? == "reading the ledger").then(|| fields["rows"].as_u64())
    };
    assert!(service.log().lines().iter().filter_map(|line| said(line)).any(|rows| rows == Some(n as u64)));
    println!("{n} rows read after {took:?}, the start of the service included");
}
