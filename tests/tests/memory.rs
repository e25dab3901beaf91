//! The service respects its memory limit without changing results, and reports the progress of its start.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use tollgate_tests::generator::dice::Dice;
use tollgate_tests::links::metric;
use tollgate_tests::poll::PATIENCE;
use tollgate_tests::{Client, Home, Service, audit, log, process, proof, sample};

const COUNTS: &str = r#"rule often { when count(when source == $current.source, "P1D") >= 200 then review score 0.5 reason "often" }"#;

#[test]
fn with_the_least_memory_every_count_is_exact_before_and_after_a_restart() {
    let mut home = Home::with_rules(&[("often.ws", COUNTS)]);
    home.set("SERVICE_MEMORY_LIMIT", "1MiB");
    let spill_dir = home.current().display().to_string();
    home.set("SERVICE_SPILL_DIR", &spill_dir);
    let verdict_of = |service: &Service, number: usize| {
        let body = json!({
            "transaction_id": format!("t-{number}"), "amount": 1.5, "currency": "EUR", "reference": "r",
            "source": "acc-anna", "created_at": format!("2026-03-02T10:{:02}:{:02}Z", number / 60, number % 60),
        });
        service.inject(&body).expect(200)["verdict"].clone()
    };
    let service = Service::start(&home);
    for number in 0..200 {
        assert_eq!(verdict_of(&service, number), "approve", "{number}");
    }
    assert_eq!(verdict_of(&service, 200), "review");
    let (status, _) = service.stop();
    assert!(status.success());
    let service = Service::start(&home);
    assert_eq!(verdict_of(&service, 201), "review");
    let readiness = service.get("/readyz").expect(200);
    assert_eq!(readiness["checks"]["history"], "ok");
}

/// Payments of so many accounts, of which the limit has room for a fifth.
const N_ACCOUNTS: usize = 12_000;

const AGAIN: &str = r#"rule again { when count(when source == $current.source, "P1D") >= 1 and count(when meta_data.device == $current.meta_data.device, "P1D") >= 1 then review score 0.5 reason "again" }"#;

/// Counts that differ with every payment of an account that is missing.
const OFTEN: &str = r#"rule often { when count(when source == $current.source, "P1D") >= 3 then alert score 0.9 reason "often" }"#;
/// Accounts that are paid from while the service is killed, and clients that pay.
const N_ACCOUNTS_KILLED: usize = 4_000;
const N_CLIENTS: u64 = 4;

fn payment_of(id: &str, account: usize) -> Value {
    let fields = json!({
        "source": format!("account-{account}"), "created_at": "2026-03-02T10:00:00Z",
        "meta_data": {"device": format!("device-{account}")},
    });
    sample::with(&sample::transaction(id), &fields)
}

fn first_payment_of(account: usize) -> Value {
    payment_of(&format!("first-{account}"), account)
}

/// Checks accounts that paid and others that did not; each round has other ids. Returns the number of payments.
#[track_caller]
fn check_known(service: &Service, round: usize) -> u64 {
    let accounts = (0..N_ACCOUNTS).step_by(499);
    let n_payments = 2 * accounts.len() as u64;
    for account in accounts {
        let verdict_of = |id: &str, account: usize| {
            service.inject(&payment_of(id, account)).expect(200)["verdict"].clone()
        };
        assert_eq!(verdict_of(&format!("again-{round}-{account}"), account), "review", "{account}, {round}");
        let new = N_ACCOUNTS * (round + 1) + account;
        assert_eq!(verdict_of(&format!("new-{round}-{account}"), new), "approve", "{account}, {round}");
    }
    let memory = service.get("/readyz").expect(200)["checks"]["memory"].to_string();
    assert!(!memory.contains("failing") && !memory.contains("degraded"), "{memory}");
    n_payments
}

#[test]
fn payments_of_more_accounts_than_memory_has_room_for_are_judged_exactly_after_any_end() {
    let mut home = Home::with_rules(&[("again.ws", AGAIN)]);
    home.set("SERVICE_MEMORY_LIMIT", "1MiB");
    let service = Service::start(&home);
    let client = service.client();
    let answers = client.inject_all((0..N_ACCOUNTS).map(first_payment_of));
    answers.iter().for_each(|answer| assert_eq!(answer["verdict"], "approve", "{answer}"));
    assert!(metric(&service, "tollgate_history_spilled_bytes") > 1 << 20, "no key left memory");
    let n_stored = N_ACCOUNTS as u64 + check_known(&service, 0);
    service.stop();
    // Everything is opened.
    let service = Service::start(&home);
    check_restored(&service, n_stored, 0);
    let n_since = check_known(&service, 1);
    service.kill();
    // Payments after the stop are read.
    let service = Service::start(&home);
    check_restored(&service, n_stored, n_since);
    let n_stored = n_stored + n_since + check_known(&service, 2);
    service.stop();
    // A file that is missing is noticed, and everything is read.
    let records = home.data().join("history");
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let files: Vec<PathBuf> = fs::read_dir(&records).unwrap().map(|entry| entry.unwrap().path()).collect();
    let segment = files.iter().filter(|path| name(path).starts_with("seg-")).min().unwrap();
    fs::remove_file(segment).unwrap();
    let service = Service::start(&home);
    check_restored(&service, 0, n_stored);
    let n_stored = n_stored + check_known(&service, 3);
    service.stop();
    // The directory may be deleted.
    fs::remove_dir_all(&records).unwrap();
    let service = Service::start(&home);
    check_restored(&service, 0, n_stored);
    check_known(&service, 4);
}

#[test]
fn a_new_rule_about_more_accounts_than_memory_has_room_for_knows_all_their_payments() {
    let mut home = Home::with_rules(&[("again.ws", AGAIN)]);
    home.set("SERVICE_MEMORY_LIMIT", "2MiB");
    let service = Service::start(&home);
    let n_answers = service.client().inject_all((0..N_ACCOUNTS).map(first_payment_of)).len();
    assert_eq!(n_answers, N_ACCOUNTS);
    assert!(metric(&service, "tollgate_history_spilled_bytes") > 1 << 20, "no key left memory");
    let condition = r#"count(when source == $current.source and currency == $current.currency, "P1D") >= 1"#;
    assert_eq!(service.save(&sample::rule("paid", condition)).status, 201);
    let check = |service: &Service, round: usize| {
        for account in (0..N_ACCOUNTS).step_by(499) {
            let verdict_of = |kind: &str, account: usize| {
                let payment = payment_of(&format!("{kind}-{round}-{account}"), account);
                service.inject(&payment).expect(200)["verdict"].clone()
            };
            assert_eq!(verdict_of("known", account), "block", "{account}, {round}");
            let new = N_ACCOUNTS * (round + 1) + account;
            assert_eq!(verdict_of("new", new), "approve", "{account}, {round}");
        }
    };
    check(&service, 0);
    service.stop();
    let service = Service::start(&home);
    check(&service, 1);
    service.kill();
    check(&Service::start(&home), 2);
}

/// Flips every bit of all records.
fn damage_records(records: &Path) {
    for entry in fs::read_dir(records).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("seg-") {
            let flipped: Vec<u8> = fs::read(&path).unwrap().iter().map(|byte| !byte).collect();
            // In place: the service has the file open.
            fs::OpenOptions::new().write(true).open(&path).unwrap().write_all_at(&flipped, 0).unwrap();
        }
    }
}

#[test]
fn keys_that_cannot_be_read_fail_the_rules_and_status_changes_that_need_them_alone() {
    let mut home = Home::with_rules(&[("often.ws", OFTEN), ("again.ws", AGAIN)]);
    home.set("SERVICE_MEMORY_LIMIT", "1MiB");
    let service = Service::start(&home);
    let client = service.client();
    let answers = client.inject_all((0..N_ACCOUNTS).map(first_payment_of));
    answers.iter().for_each(|answer| assert!(answer["verdict"].is_string(), "{answer}"));
    damage_records(&home.data().join("history"));
    let report = |client: &Client, account: usize| {
        let data = first_payment_of(account);
        client.post("/ledgerwebhook", &json!({"event": "transaction.applied", "data": data}))
    };
    let mut unread = Vec::new();
    for account in (0..N_ACCOUNTS).step_by(499) {
        let answer = report(&client, account);
        if answer.status == 503 {
            assert_eq!(answer.json()["code"], "history_unavailable");
            unread.push(account);
        } else {
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
    }
    assert!(!unread.is_empty(), "every record was read");
    for account in &unread {
        let answer = client.inject(&payment_of(&format!("again-{account}"), *account)).expect(200);
        assert_eq!(
            (&answer["verdict"], &answer["failures"][0]["failure"]),
            (&json!("review"), &json!("lookup"))
        );
    }
    // The series stay in use: accounts that are in memory, or new, are judged.
    for n in 0..4 {
        let answer = client.inject(&payment_of(&format!("new-{n}"), N_ACCOUNTS)).expect(200);
        assert_eq!(
            (answer["triggered"].as_array().unwrap().len(), &answer["failures"]),
            (n.min(1) + n / 3, &json!([]))
        );
    }
    assert!(metric(&service, "tollgate_history_unread_records") >= unread.len() as u64);
    assert_eq!(metric(&service, "tollgate_history_held_reads"), 0);
    service.until("readiness tells what is damaged", || {
        service.get("/readyz").text().contains("\"memory\":\"degraded: a file of the history is damaged; ")
    });
    service.stop();
    // A start reads everything from the store, because no damaged record is believed.
    let service = Service::start(&home);
    unread.iter().for_each(|account| _ = report(&service.client(), *account).expect(200));
}

/// Pays from random accounts until `n_answers` were answered, and then kills the service. Returns the number of answers.
fn pay_and_kill(service: Service, seed: u64, n_answers: usize) -> usize {
    let n_answered = AtomicUsize::new(0);
    let pid = service.pid();
    thread::scope(|scope| {
        for client in 0..N_CLIENTS {
            let (n_answered, connection) = (&n_answered, service.client());
            scope.spawn(move || {
                let mut dice = Dice::of_seed(seed.wrapping_mul(N_CLIENTS).wrapping_add(client));
                for n in 0.. {
                    let account = dice.below(N_ACCOUNTS_KILLED);
                    let body = payment_of(&format!("{seed}-{client}-{n}"), account);
                    let Ok(answer) = connection.try_post("/inject", body.to_string().as_bytes()) else {
                        return;
                    };
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    if n_answered.fetch_add(1, Ordering::Relaxed) + 1 == n_answers {
                        process::kill(pid);
                    }
                }
            });
        }
    });
    assert_eq!(service.wait().0.code(), None, "it ended by itself");
    n_answered.into_inner()
}

#[test]
fn verdicts_about_keys_on_the_disk_follow_from_the_store_after_kills() {
    let mut home = Home::with_rules(&[("again.ws", AGAIN), ("often.ws", OFTEN)]);
    home.set("SERVICE_MEMORY_LIMIT", "1MiB");
    home.set("SERVICE_SNAPSHOT_INTERVAL", "PT1S");
    let seed = proof::seed("kills with keys on the disk");
    let mut dice = Dice::of_seed(seed);
    let (mut n_answered, mut n_opened) = (0, 0);
    for cycle in 0..proof::rounds(4, 200) {
        let service = Service::start(&home);
        n_opened += usize::from(restored(&service)["from_snapshot"].as_u64() > Some(0));
        let n_answers = if cycle == 0 { N_ACCOUNTS_KILLED } else { 1 + dice.below(2_500) };
        n_answered += pay_and_kill(service, dice.roll() >> 32, n_answers);
    }
    let service = Service::start(&home);
    assert!(metric(&service, "tollgate_history_records") > 1_000, "keys left memory");
    service.stop();
    let replayed = audit::replay(&home);
    let n_followed = replayed.all_follow();
    assert!(n_followed >= n_answered as u64, "{n_followed} of {n_answered}, seed {seed}");
    assert!(n_opened > 0, "no start opened the files");
    println!("{n_followed} verdicts derived again, {n_opened} starts opened the files, 0 differences");
}

/// Returns the line about what a start opened and read.
fn restored(service: &Service) -> Value {
    let find = |line: &str| (log::message(line) == "history restored").then(|| log::fields(line)).flatten();
    service.log().wait_for(PATIENCE, find).unwrap()
}

/// Checks how many transactions a start opened, and how many it read from the store.
#[track_caller]
fn check_restored(service: &Service, n_opened: u64, n_read: u64) {
    let fields = restored(service);
    let counts = ["from_snapshot", "rows_read"].map(|name| fields[name].as_u64().unwrap());
    assert_eq!(counts, [n_opened, n_read], "{fields}");
}

#[test]
fn a_rule_that_needs_discarded_transactions_fails_instead_of_guessing() {
    let mut home = Home::with_rules(&[("often.ws", COUNTS)]);
    home.set("SERVICE_HISTORY_MARGIN", "PT1S");
    let service = Service::start(&home);
    let judge = |id: &str, source: &str, created_at: &str| {
        service
            .inject(&json!({
                "transaction_id": id, "amount": 1, "currency": "EUR", "reference": "r", "source": source,
                "created_at": created_at,
            }))
            .expect(200)
    };
    judge("old", "acc-anna", "2026-01-01T00:00:00Z");
    assert_eq!(judge("again", "acc-anna", "2026-01-01T00:00:01Z")["verdict"], "approve");
    judge("new", "acc-bob", "2026-03-01T00:00:00Z");
    // Eviction from the history runs every few seconds.
    let started = Instant::now();
    let late = (0..).find_map(|number| {
        let late = judge(&format!("late-{number}"), "acc-anna", "2026-01-01T00:00:02Z");
        let is_gone = late["failures"].as_array().is_some_and(|failures| !failures.is_empty());
        assert!(started.elapsed() < PATIENCE, "nothing was let go");
        is_gone.then_some(late)
    });
    let late = late.unwrap();
    assert_eq!((&late["verdict"], &late["failures"][0]["failure"]), (&json!("review"), &json!("lookup")));
    assert_eq!(judge("next", "acc-anna", "2026-03-01T00:00:01Z")["verdict"], "approve");
    // Transactions evicted from the history remain in the store.
    assert_eq!(service.get("/transactions/old").expect(200)["verdict"], "approve");
}
