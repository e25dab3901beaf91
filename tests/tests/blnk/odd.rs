//! Events that no ledger should send: each has a defined response and bounded cost, and nothing is lost.

use std::thread;

use serde_json::{Value, json};
use tollgate_tests::{Client, Service, needs, proof, sample};

use crate::blnk::truth::{Payment, check, number};
use crate::blnk::unjudged::{DEAD_LETTER_BYTES_MAX, add_dead_bytes, change};
use crate::blnk::{home, ok, tell, tell_entry};

pub(crate) fn id(number: u32) -> String {
    format!("txn_00000000-0000-4000-8000-{number:012}")
}

pub(crate) fn entry(number: u32, status: &str, amount: u32, fields: &Value) -> Value {
    let entry = json!({
        "transaction_id": id(number), "parent_transaction": "", "reference": format!("order-{number}"), "currency": "EUR",
        "amount": amount, "precise_amount": amount * 100, "precision": 100, "source": "bln_1", "destination": "bln_2",
        "status": status, "created_at": "2026-11-25T10:00:00Z", "scheduled_for": "0001-01-01T00:00:00Z",
    });
    sample::with(&entry, fields)
}

/// Returns a commit or void of a hold.
fn settling(number: u32, status: &str, amount: u32, hold: u32) -> Value {
    let reference = format!("ref_00000000-0000-4000-8000-{number:012}");
    entry(number, status, amount, &json!({"parent_transaction": id(hold), "reference": reference}))
}

fn refund(number: u32, amount: u32, original: u32) -> Value {
    let reference = format!("{}_refund", id(original));
    let back = json!({
        "parent_transaction": id(original), "reference": reference, "source": "bln_2", "destination": "bln_1",
    });
    entry(number, "APPLIED", amount, &back)
}

pub(crate) fn expected<'e>(
    payments: impl IntoIterator<Item = &'e (u32, &'e str, u32)>,
) -> std::collections::BTreeMap<String, Payment> {
    payments
        .into_iter()
        .map(|(number, status, amount)| {
            (id(*number), Payment { status: (*status).to_owned(), amount: f64::from(*amount) })
        })
        .collect()
}

/// Returns the reasons of the dead letters, latest last.
pub(crate) fn dead(client: &Client) -> Vec<String> {
    let letters = client.get("/ledger/dead-letters").expect(200)["dead_letters"].clone();
    letters
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .map(|letter| letter["reason"].as_str().unwrap().to_owned())
        .collect()
}

/// Sends each entry twice and checks the payments and the dead letters.
#[track_caller]
pub(crate) fn check_reports(reported: &[Value], payments: &[(u32, &str, u32)], reasons: &[&str]) {
    let service = Service::start(&home());
    for entry in reported.iter().chain(reported) {
        ok(&tell_entry(&service, entry));
    }
    check(&service, &expected(payments), "told");
    assert_eq!(dead(&service), reasons);
}

#[test]
fn an_entry_that_contradicts_a_hold_is_a_dead_letter() {
    let hold = || entry(1, "INFLIGHT", 100, &json!({}));
    check_reports(&[hold(), settling(2, "APPLIED", 101, 1)], &[(1, "inflight", 100)], &["exceeds_hold"]);
    check_reports(
        &[hold(), settling(2, "APPLIED", 60, 1), settling(3, "APPLIED", 60, 1)],
        &[(1, "void", 100), (2, "applied", 60)],
        &["exceeds_hold"],
    );
    check_reports(
        &[hold(), settling(2, "APPLIED", 100, 1), settling(3, "VOID", 101, 1)],
        &[(1, "applied", 100)],
        &["exceeds_hold"],
    );
    let plain = entry(1, "APPLIED", 100, &json!({}));
    check_reports(&[plain, settling(2, "VOID", 100, 1)], &[(1, "applied", 100)], &["not_held"]);
}

#[test]
fn an_invalid_entry_is_a_dead_letter() {
    check_reports(&[entry(1, "APPLIED", 100, &json!({"precise_amount": 10001}))], &[], &["invalid_field"]);
    check_reports(&[entry(1, "APPLIED", 100, &json!({"precision": -100}))], &[], &["invalid_field"]);
    check_reports(
        &[entry(1, "APPLIED", 100, &json!({"transaction_id": "", "reference": ""}))],
        &[],
        &["missing_field"],
    );
    let keys: serde_json::Map<_, _> = (0..1_100).map(|key| (format!("k{key}"), json!(1))).collect();
    check_reports(&[entry(1, "APPLIED", 100, &json!({"meta_data": keys}))], &[], &["too_many_keys"]);
}

#[test]
fn a_dead_letter_is_replayed_once_it_can_be_processed() {
    let keys: serde_json::Map<_, _> = (0..1_100).map(|key| (format!("k{key}"), json!(1))).collect();
    let mut home = home();
    let service = Service::start(&home);
    ok(&tell_entry(&service, &entry(1, "APPLIED", 100, &json!({"meta_data": keys}))));
    let letter = service.get("/ledger/dead-letters").expect(200)["dead_letters"][0].clone();
    assert_eq!((&letter["is_event"], &letter["transaction_id"]), (&json!(true), &json!(id(1))));
    let path = format!("/ledger/dead-letters/{}/replay", letter["id"]);
    assert!(service.post(&path, &json!({})).text().contains("cannot be processed (too_many_keys)"));
    assert_eq!(dead(&service), ["too_many_keys"]);
    drop(service.stop());
    home.set("SERVICE_OBJECT_KEYS_MAX", "2000");
    let service = Service::start(&home);
    assert!(service.post(&path, &json!({})).text().contains("processed"));
    assert_eq!(dead(&service), [] as [String; 0]);
    check(&service, &expected(&[(1, "applied", 100)]), "replayed");
    let gone = service.post(&path, &json!({}));
    assert_eq!((gone.status, gone.code().as_str()), (404, "dead_letter_not_found"));
}

#[test]
fn an_event_that_cannot_be_kept_as_a_dead_letter_is_not_acknowledged() {
    needs!(Sqlite);
    let home = home();
    let service = Service::start(&home);
    let wrong = |number| entry(number, "APPLIED", 100, &json!({"precision": -100}));
    ok(&tell_entry(&service, &wrong(1)));
    drop(service.stop());
    change(&home, FULL);
    let service = Service::start(&home);
    ok(&tell_entry(&service, &wrong(1)));
    let refused = tell_entry(&service, &wrong(2));
    assert_eq!((refused.status, refused.code().as_str()), (503, "overloaded"));
    assert_eq!(service.get("/ledger/dead-letters").at("/count"), 100_000);
}

/// Stores the maximum number of dead letters, if there is one, as rows.
const FULL: &str = "
    WITH RECURSIVE n (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < 100000)
    INSERT INTO ledger_dead_letters (number, digest, feed, transaction_id, created_at, reason, detail, row, found_micros)
    SELECT n, randomblob(32), 'rows', 'row-' || n, '', 'invalid_field', '', '{}', 1 FROM n;
    UPDATE ledger_dead_letter_bytes SET last_number = 100000, n_bytes = n_bytes + 2 * 99999;";

#[test]
fn dead_letters_that_are_deleted_make_room_and_keep_their_numbers() {
    needs!(Sqlite);
    let home = home();
    let service = Service::start(&home);
    let wrong = |number| entry(number, "APPLIED", 100, &json!({"precision": -100}));
    ok(&tell_entry(&service, &wrong(1)));
    drop(service.stop());
    change(&home, FULL);
    let service = Service::start(&home);
    let delete = |number: u32| {
        assert_eq!(service.delete(&format!("/ledger/dead-letters/{number}")).status, 204, "{number}");
    };
    let check_full = |number| assert_eq!(tell_entry(&service, &wrong(number)).status, 503);
    let check_count = |n: u32| assert_eq!(service.get("/ledger/dead-letters").at("/count"), n);
    check_full(2);
    // The letter of a row, the latest one.
    delete(100_000);
    check_count(99_999);
    let gone = service.delete("/ledger/dead-letters/100000");
    assert_eq!((gone.status, gone.code().as_str()), (404, "dead_letter_not_found"));
    ok(&tell_entry(&service, &wrong(2)));
    let latest = service.get("/ledger/dead-letters?limit=1").at("/dead_letters/0/id");
    assert_eq!(latest, 100_001, "a number is given once");
    check_full(3);
    // The letter of an event, and none.
    delete(1);
    ok(&tell_entry(&service, &wrong(3)));
    check_full(4);
    check_count(100_000);
    for id in ["1", "0", "-1", "x", "100003"] {
        assert_eq!(
            service.delete(&format!("/ledger/dead-letters/{id}")).code(),
            "dead_letter_not_found",
            "{id}"
        );
    }
    let (_, log) = service.stop();
    let said = |line: &String| line.contains("was deleted over the API") && line.contains("invalid_field");
    assert_eq!(log.iter().filter(|line| said(line)).count(), 2, "{log:#?}");
}

#[test]
fn dead_letters_are_bounded_in_bytes_and_none_is_dropped() {
    needs!(Sqlite);
    let home = home();
    let wrong = |number| entry(number, "APPLIED", 100, &json!({"precision": -100}));
    let service = Service::start(&home);
    ok(&tell_entry(&service, &wrong(1)));
    drop(service.stop());
    add_dead_bytes(&home, DEAD_LETTER_BYTES_MAX);
    let service = Service::start(&home);
    // One that is kept is acknowledged again, any other one is to be sent again.
    ok(&tell_entry(&service, &wrong(1)));
    let refused = tell_entry(&service, &wrong(2));
    assert_eq!((refused.status, refused.code().as_str()), (503, "overloaded"));
    assert!(refused.header("retry-after").is_some());
    assert_eq!(dead(&service).len(), 1);
    drop(service.stop());
    add_dead_bytes(&home, -DEAD_LETTER_BYTES_MAX);
    let service = Service::start(&home);
    ok(&tell_entry(&service, &wrong(2)));
    assert_eq!(dead(&service).len(), 2);
}

#[test]
fn a_refund_of_an_entry_that_is_never_reported_is_a_payment_of_its_own() {
    check_reports(&[refund(2, 100, 1)], &[(2, "applied", 100)], &[]);
    check_reports(
        &[refund(2, 100, 1), entry(1, "APPLIED", 100, &json!({}))],
        &[(1, "reversed", 100), (2, "applied", 100)],
        &[],
    );
}

#[test]
fn a_child_whose_parent_does_not_come_is_taken_and_is_joined_when_it_comes_after_all() {
    let mut home = home();
    home.set("LEDGER_PARENT_WAIT", "3s");
    let service = Service::start(&home);
    for child in [settling(2, "APPLIED", 100, 1), settling(4, "APPLIED", 40, 3), settling(6, "VOID", 100, 5)]
    {
        assert!(tell_entry(&service, &child).text().contains("is held until"));
        assert_eq!(service.transaction(child["transaction_id"].as_str().unwrap()).status, 404);
    }
    service.until("they are taken", || {
        [2, 4, 6].iter().all(|child| service.transaction(&id(*child)).status == 200)
    });
    check(&service, &expected(&[(2, "applied", 100), (4, "applied", 40), (6, "void", 100)]), "taken");
    let before = service.transaction(&id(2)).expect(200);
    service.kill();
    let service = Service::start(&home);
    for hold in [1, 3, 5] {
        ok(&tell_entry(&service, &entry(hold, "INFLIGHT", 100, &json!({}))));
    }
    let joined = [
        (1, "applied", 100),
        (2, "void", 100),
        (3, "void", 100),
        (4, "applied", 40),
        (5, "void", 100),
        (6, "void", 100),
    ];
    check(&service, &expected(&joined), "joined");
    let after = service.transaction(&id(2)).expect(200);
    assert_eq!((&after["verdict"], &after["evaluated_at"]), (&before["verdict"], &before["evaluated_at"]));
    drop(service.stop());
    tollgate_tests::audit::replay(&home).all_follow();
}

#[test]
fn a_child_whose_id_is_another_payment_keeps_nobody_else_waiting() {
    let mut home = home();
    home.set("LEDGER_PARENT_WAIT", "1s");
    let service = Service::start(&home);
    for number in [2, 4] {
        ok(&service.inject(&entry(number, "APPLIED", 7, &json!({}))));
    }
    // The parent of the first entry arrives, that of the second does not.
    for child in [settling(2, "APPLIED", 40, 1), settling(3, "APPLIED", 60, 1), settling(4, "APPLIED", 40, 9)]
    {
        ok(&tell_entry(&service, &child));
    }
    ok(&tell_entry(&service, &entry(1, "INFLIGHT", 100, &json!({}))));
    service.until("nothing waits any more", || dead(&service).len() == 2);
    assert_eq!(dead(&service), ["transaction_conflict", "transaction_conflict"]);
    check(
        &service,
        &expected(&[(1, "void", 100), (2, "applied", 7), (3, "applied", 60), (4, "applied", 7)]),
        "joined",
    );
}

#[test]
fn parents_in_a_circle_come_to_an_end() {
    let mut home = home();
    home.set("LEDGER_PARENT_WAIT", "1s");
    let service = Service::start(&home);
    for (child, parent) in [(1, 2), (2, 3), (3, 1), (4, 4)] {
        ok(&tell_entry(&service, &settling(child, "APPLIED", 10, parent)));
    }
    service.until("nothing waits any more", || {
        number(&service, "tollgate_history_transactions") + dead(&service).len() as u64 >= 4
    });
    assert!(dead(&service).iter().all(|reason| reason == "not_held"), "{:?}", dead(&service));
}

#[test]
fn children_without_number_of_one_parent_are_bounded_and_joined_when_it_comes() {
    /// One more than the limit of waiting entries.
    const N: u32 = 10_001;
    let service = Service::start(&home());
    thread::scope(|scope| {
        for first in 1..=8 {
            let client = service.client();
            scope.spawn(move || {
                for number in (first..N).step_by(8) {
                    ok(&tell_entry(&client, &settling(number, "APPLIED", 1, 20_000)));
                }
            });
        }
    });
    let one_more = tell_entry(&service, &settling(N, "APPLIED", 1, 20_000));
    assert_eq!((one_more.status, one_more.code().as_str()), (503, "overloaded"));
    assert!(one_more.header("retry-after").is_some());
    // Waiting entries delay neither a known parent nor another payment.
    ok(&tell_entry(&service, &entry(20_000, "INFLIGHT", 20_000, &json!({}))));
    ok(&tell_entry(&service, &entry(20_001, "APPLIED", 5, &json!({}))));
    service.until("all are joined", || number(&service, "tollgate_history_transactions") == u64::from(N) + 1);
    ok(&tell_entry(&service, &settling(N, "APPLIED", 1, 20_000)));
    let all: Vec<_> = (1..=N)
        .step_by(97)
        .map(|number| (number, "applied", 1))
        .chain([(20_000, "void", 20_000), (20_001, "applied", 5)])
        .collect();
    for (id, payment) in expected(&all) {
        let found = service.transaction(&id).expect(200);
        assert_eq!(found["status"].as_str().unwrap().to_lowercase(), payment.status, "{id}");
    }
    assert_eq!(dead(&service), [] as [String; 0]);
}

#[test]
fn all_commits_of_one_hold_count_however_many_they_are() {
    let n = u32::try_from(proof::rounds(1_000, 100_000)).unwrap();
    let home = home();
    let sums = format!(r#"sum(when source == "bln_1" and status == "applied", "P30D") == {}"#, n + 5);
    home.write_rule("sums.ws", sample::rule("sums", &sums));
    let mut service = Service::start(&home);
    let hold = n + 10;
    ok(&tell_entry(&service, &entry(hold, "INFLIGHT", n + 5, &json!({}))));
    for half in [1..n / 2, n / 2..n + 1] {
        thread::scope(|scope| {
            for first in half.clone().take(8) {
                let (client, end) = (service.client(), half.end);
                scope.spawn(move || {
                    for number in (first..end).step_by(8) {
                        ok(&tell_entry(&client, &settling(number, "APPLIED", 1, hold)));
                    }
                });
            }
        });
        service.kill();
        service = Service::start(&home);
    }
    for (number, amount) in [(n + 1, 6), (n + 2, 5)] {
        ok(&tell_entry(&service, &settling(number, "APPLIED", amount, hold)));
    }
    assert_eq!(dead(&service), ["exceeds_hold"]);
    assert_eq!(number(&service, "tollgate_history_transactions"), u64::from(n) + 2);
    let judged = service.inject(&sample::transaction("asks")).expect(200);
    assert_eq!((&judged["verdict"], &judged["reason"]), (&json!("block"), &json!("sums matched")));
}

#[test]
fn an_envelope_that_is_none_is_refused_as_from_anybody() {
    let service = Service::start(&home());
    for (body, code) in [
        ("{", "malformed_json"),
        (r#"{"event": "transaction.applied"}"#, "missing_field"),
        (r#"{"event": "transaction.applied", "data": 7}"#, "invalid_field"),
    ] {
        let answer = tell(&service, body);
        assert_eq!((answer.status, answer.code().as_str()), (400, code), "{body}");
    }
}
