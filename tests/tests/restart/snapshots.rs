//! Sources of the history at a start: a valid snapshot is used, an invalid one is reported. Results are correct in both
//! cases.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use tollgate_tests::poll::PATIENCE;
use tollgate_tests::{Home, Service, log, sample};

/// Number of transactions of the account at the limit; the other account has one less.
const LIMIT: usize = 10;

/// A change to the bytes of a snapshot.
type Change<'a> = dyn Fn(Vec<u8>) -> Vec<u8> + 'a;

#[track_caller]
fn line(service: &Service, message: &str) -> Value {
    let find = |line: &str| (log::message(line) == message).then(|| log::fields(line)).flatten();
    service.log().wait_for(PATIENCE, find).unwrap_or_else(|| panic!("no line says `{message}`"))
}

#[track_caller]
pub(crate) fn check_restored(service: &Service, n_from_snapshot: usize, n_read: usize) {
    let fields = line(service, "history restored");
    let counts = ["from_snapshot", "rows_read"].map(|name| fields[name].as_u64());
    assert_eq!(counts, [Some(n_from_snapshot as u64), Some(n_read as u64)], "{fields}");
}

fn home() -> Home {
    let condition = format!(r#"count(when source == $current.source, "P1D") >= {LIMIT}"#);
    Home::with_rules(&[("limit.ws", sample::rule("limit", &condition))])
}

fn snapshot(home: &Home) -> PathBuf {
    home.data().join("history.snapshot")
}

fn transaction(id: &str, source: &str, at: &str) -> Value {
    sample::with(&sample::transaction(id), &json!({"source": source, "created_at": at}))
}

/// Creates one account with as many transactions as the rule allows, and one with one less.
fn load(service: &Service, prefix: &str) -> usize {
    for (source, n_rows) in [("full", LIMIT), ("short", LIMIT - 1)] {
        for n in 0..n_rows {
            let id = format!("{prefix}-{source}-{n}");
            let answer = service.inject(&transaction(&id, source, "2026-03-01T00:00:00Z"));
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
    }
    2 * LIMIT - 1
}

/// Checks that a probe exceeds the limit of one account only. Probes of a later round are earlier in time and do not
/// see earlier rounds.
#[track_caller]
fn check_judged(service: &Service, round: usize) {
    let at = format!("2026-03-01T00:00:01.{:03}Z", 999 - round);
    for (source, triggered) in [("full", true), ("short", false)] {
        let answer = service.inject(&transaction(&format!("probe-{round}-{source}"), source, &at));
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.triggered().contains(&"limit".to_owned()), triggered, "{source}, round {round}");
    }
}

#[test]
fn a_stop_leaves_a_snapshot_for_its_owner_alone() {
    let home = home();
    let service = Service::start(&home);
    let n_rows = load(&service, "load");
    let (status, _) = service.stop();
    assert_eq!(status.code(), Some(0));
    let mode = fs::metadata(snapshot(&home)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let service = Service::start(&home);
    check_restored(&service, n_rows, 0);
    check_judged(&service, 0);
    let page = service.get("/metrics");
    let restored = format!("tollgate_history_restored_from{{source=\"snapshot\"}} {n_rows}");
    assert!(page.text().contains(&restored), "{}", page.text());
}

#[test]
fn one_is_written_while_transactions_come() {
    let mut home = home();
    home.set("SERVICE_SNAPSHOT_INTERVAL", "PT1S");
    let service = Service::start(&home);
    let n_rows = load(&service, "load");
    let mut is_whole = false;
    while !is_whole {
        let find = |line: &str| {
            let fields =
                log::fields(line).filter(|_| log::message(line) == "snapshot of the history written")?;
            (fields["transactions"].as_u64() == Some(n_rows as u64)).then_some(())
        };
        is_whole = service.log().wait_for(PATIENCE, find).is_some();
        assert!(is_whole, "no snapshot has all {n_rows} transactions");
    }
    service.kill();
    let service = Service::start(&home);
    check_restored(&service, n_rows, 0);
    check_judged(&service, 0);
}

#[test]
fn one_that_cannot_be_believed_is_named_and_everything_is_read() {
    let (home, other) = (home(), home());
    for home in [&home, &other] {
        let service = Service::start(home);
        load(&service, "load");
        service.stop();
    }
    let file = snapshot(&home);
    let foreign = fs::read(snapshot(&other)).unwrap();
    let cases: [(&Change<'_>, &str); 5] = [
        (
            &|mut bytes| {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 4;
                bytes
            },
            "is invalid",
        ),
        (
            &|mut bytes| {
                bytes.truncate(bytes.len() - 9);
                bytes
            },
            "its end is invalid",
        ),
        (&|_| foreign.clone(), "another store"),
        (
            &|_| {
                b"a text that somebody put there, long enough to be looked at as if it were the head of a snapshot of a history".repeat(2)
            },
            "not a snapshot",
        ),
        (&|_| Vec::new(), "its head"),
    ];
    for (round, (change, reason)) in cases.into_iter().enumerate() {
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, change(bytes)).unwrap();
        let service = Service::start(&home);
        check_restored(&service, 0, 2 * LIMIT - 1 + 2 * round);
        let fields =
            line(&service, "the history snapshot is not used; the history is rebuilt from the store");
        assert!(fields["error"].as_str().unwrap_or_default().contains(reason), "{fields} and not `{reason}`");
        check_judged(&service, round);
        service.stop();
    }
}

#[test]
fn one_of_a_later_time_than_the_store_is_not_believed_then_or_ever_after() {
    let home = home();
    let database = home.data().join("tollgate.db");
    let service = Service::start(&home);
    let n_rows = load(&service, "load");
    service.stop();
    let earlier = fs::read(&database).unwrap();

    let service = Service::start(&home);
    let n_more = load(&service, "more");
    service.stop();
    // The store is replaced by a backup. The snapshot contains accounts that this store never had.
    fs::write(&database, earlier).unwrap();
    // The mark would keep the service from starting.
    fs::remove_file(home.data().join("tollgate.mark")).unwrap();
    let later = fs::read(snapshot(&home)).unwrap();
    let service = Service::start(&home);
    check_restored(&service, 0, n_rows);
    let fields = line(&service, "the history snapshot is not used; the history is rebuilt from the store");
    assert!(fields["error"].as_str().unwrap_or_default().contains("the store ends at"), "{fields}");
    assert!(!snapshot(&home).exists());
    check_judged(&service, 0);
    // Other transactions get the sequence numbers that the snapshot contains.
    let n_other = n_more;
    for n in 0..n_other {
        let answer = service.inject(&transaction(&format!("other-{n}"), "somebody", "2026-03-01T00:00:00Z"));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    service.kill();
    fs::write(snapshot(&home), later).unwrap();
    let service = Service::start(&home);
    check_restored(&service, 0, n_rows + 2 + n_other);
    check_judged(&service, 1);
}

#[test]
fn other_rules_take_from_it_what_it_has() {
    let home = home();
    let service = Service::start(&home);
    let n_rows = load(&service, "load");
    service.stop();
    let condition = r#"count(when currency == $current.currency, "P1D") >= 19"#;
    home.write_rule("new.ws", sample::rule("new", condition));
    let service = Service::start(&home);
    check_restored(&service, n_rows, n_rows);
    assert_eq!(line(&service, "history restored")["series_from_snapshot"], json!(1));
    check_judged(&service, 0);
    let answer = service.inject(&transaction("last", "short", "2026-03-01T00:00:00.5Z"));
    assert_eq!(answer.triggered(), ["new"]);
    let (status, _) = service.stop();
    assert_eq!(status.code(), Some(0));
    let service = Service::start(&home);
    assert_eq!(line(&service, "history restored")["series_from_snapshot"], json!(2));
}
