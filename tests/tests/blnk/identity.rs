//! The id and the stored fields of a payment.

use serde_json::{Value, json};
use tollgate_tests::{Client, Home, Service, audit, needs, sample};

use crate::blnk::recordings::stored;
use crate::blnk::tables::{INDEX, Tables, caught_up};
use crate::blnk::truth::{check_no_conflict, number};
use crate::blnk::{home, ok, tell_entry};

pub(crate) fn entry(number: u32, fields: &Value) -> Value {
    let entry = json!({
        "transaction_id": id(number), "parent_transaction": "", "reference": format!("order-{number}"), "currency": "EUR",
        "amount": 100, "precise_amount": 10000, "precision": 100, "source": "bln_1", "destination": "bln_2",
        "status": "APPLIED", "created_at": "2026-11-25T10:00:00.123456789+07:00", "scheduled_for": "0001-01-01T00:00:00Z",
    });
    sample::with(&entry, fields)
}

pub(crate) fn id(number: u32) -> String {
    format!("txn_00000000-0000-4000-8000-{number:012}")
}

/// Returns the copy that Blnk creates of a queued entry, under the next id.
fn copy(number: u32, status: &str) -> Value {
    let fields = json!({
        "transaction_id": id(number + 1), "parent_transaction": id(number), "reference": format!("order-{number}_q"),
        "status": status, "meta_data": {"QUEUED_PARENT_TRANSACTION": id(number), "queue_lane": "normal"},
    });
    entry(number, &fields)
}

#[track_caller]
pub(crate) fn status_of(client: &Client, id: &str) -> String {
    client.transaction(id).expect(200)["status"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_payment_is_found_by_the_id_that_the_ledger_gave_to_the_client_and_by_that_of_each_entry() {
    let service = Service::start(&home());
    ok(&tell_entry(&service, &copy(1, "INFLIGHT")));
    let commit = json!({"parent_transaction": id(2), "reference": format!("{}_commit_act_1", id(2))});
    ok(&tell_entry(&service, &entry(3, &commit)));
    for number in [1, 2, 3] {
        let found = service.transaction(&id(number)).expect(200);
        assert_eq!(
            (&found["transaction_id"], &found["status"]),
            (&json!(id(1)), &json!("APPLIED")),
            "{number}"
        );
        assert_eq!(found["reference"], "order-1");
        assert_eq!(found["created_at"], "2026-11-25T10:00:00.123456789+07:00");
    }
    assert_eq!(service.transaction(&id(4)).status, 404);
}

#[test]
fn a_payment_that_was_asked_about_first_is_joined_by_its_reference() {
    let mut home = home();
    home.set("LEDGER_IDENTITY", "reference");
    let service = Service::start(&home);
    let asked = json!({"transaction_id": "order-1", "amount": 100, "currency": "EUR", "reference": "mine", "status": "pending"});
    let verdict = service.inject(&asked).expect(200);
    ok(&tell_entry(&service, &copy(1, "INFLIGHT")));
    assert_eq!(status_of(&service, "order-1"), "INFLIGHT");
    let commit = json!({"parent_transaction": id(2), "reference": format!("{}_commit_act_1", id(2))});
    ok(&tell_entry(&service, &entry(3, &commit)));
    let found = service.transaction(&id(3)).expect(200);
    assert_eq!((&found["transaction_id"], &found["status"]), (&json!("order-1"), &json!("APPLIED")));
    assert_eq!((&found["verdict"], &found["reference"]), (&verdict["verdict"], &json!("mine")));
    // Differing descriptions of the ledger are stored beside the evaluated transaction.
    assert_eq!(found["latest_description"]["source"], "bln_1");
    assert_eq!(number(&service, "tollgate_history_transactions"), 1);
    check_no_conflict(&service, 0, "joined");
    let other = service.inject(&sample::with(&asked, &json!({"amount": 101})));
    assert_eq!((other.status, other.code().as_str()), (409, "transaction_conflict"));
}

#[test]
fn an_event_that_moves_something_else_is_refused_and_names_the_field() {
    let service = Service::start(&home());
    ok(&tell_entry(&service, &entry(1, &json!({"status": "INFLIGHT"}))));
    for (field, other) in [
        ("amount", json!({"amount": 101, "precise_amount": 10100})),
        ("currency", json!({"currency": "USD"})),
        ("source", json!({"source": "bln_3"})),
        ("destination", json!({"destination": "bln_3"})),
    ] {
        let answer = tell_entry(&service, &entry(1, &other));
        assert_eq!((answer.status, answer.at("/field")), (409, json!(field)));
    }
    assert!(service.get("/readyz").at("/checks/ledger").as_str().unwrap().contains("last refusal"));
    // Only descriptive fields differ, so the status advances.
    let words =
        json!({"description": "d", "hash": "h", "created_at": "2026-11-25T00:00:00Z", "meta_data": {"k": 1}});
    ok(&tell_entry(&service, &entry(1, &words)));
    let found = service.transaction(&id(1)).expect(200);
    assert_eq!(
        (&found["status"], &found["latest_description"]["description"]),
        (&json!("APPLIED"), &json!("d"))
    );
    assert_eq!(found.get("description"), None);
}

#[test]
fn a_payment_that_is_scheduled_counts_when_it_moves() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let mut home = home();
    let moved = r#"count(when source == $current.source and status == "APPLIED", "PT1H") >= 1"#;
    home.write_rule("moved.ws", sample::rule("moved", moved));
    tables.feeds(&mut home);
    let service = Service::start(&home);
    let scheduled = |status: &str, id: &str, parent: &str, reference: &str| {
        tables.sql(&format!(
            "INSERT INTO blnk.transactions (transaction_id, parent_transaction, reference, status, source, destination, amount,
             precise_amount, precision, currency, created_at, scheduled_for, meta_data)
             SELECT '{id}', '{parent}', '{reference}', '{status}', 'bln_1', 'bln_2', 100, 10000, 100, 'EUR', at, at + interval '3 days',
             '{{\"queue_lane\": \"normal\"}}' FROM (SELECT timestamp '2026-11-20 12:00:00' AS at) t;"
        ));
        caught_up(&service);
    };
    let seen = |probe: &str, at: &str| {
        let probe = sample::with(&sample::transaction(probe), &json!({"source": "bln_1", "created_at": at}));
        service.inject(&probe).triggered()
    };
    scheduled("SCHEDULED", &id(1), "", "order-1");
    assert_eq!(status_of(&service, &id(1)), "SCHEDULED");
    assert_eq!(seen("before", "2026-11-23T12:30:00Z"), [] as [String; 0]);
    // No event arrived for three days; the row has the time of the request.
    scheduled("APPLIED", &id(2), &id(1), "order-1_q");
    assert_eq!(status_of(&service, &id(1)), "APPLIED");
    assert_eq!(service.transaction(&id(1)).at("/created_at"), "2026-11-20T12:00:00Z");
    for (probe, at, expected) in [
        ("when it was asked for", "2026-11-20T12:30:00Z", false),
        ("when it moved", "2026-11-23T12:30:00Z", true),
        ("later", "2026-11-23T13:30:00Z", false),
    ] {
        assert_eq!(!seen(probe, at).is_empty(), expected, "{probe}");
    }
    assert_eq!(number(&service, "tollgate_history_transactions"), 5);
}

#[test]
fn the_ledger_check_names_the_statement_that_the_database_lacks() {
    needs!(PostgreSql);
    let tables = Tables::open();
    tables.store(&stored());
    let mut home = home();
    tables.feeds(&mut home);
    let service = Service::start(&home);
    caught_up(&service);
    let said = || service.get("/readyz").at("/checks/ledger").as_str().unwrap().to_owned();
    assert!(said().contains(INDEX), "{}", said());
    drop(service.stop());
    tables.sql(INDEX);
    let service = Service::start(&home);
    caught_up(&service);
    assert!(service.get("/readyz").at("/checks/ledger").as_str().unwrap().starts_with("ok; blnk"));
    drop(service.stop());
    for (script, expected) in [
        (
            "REVOKE SELECT ON blnk.transaction_journal FROM reader",
            "GRANT SELECT ON \"blnk\".\"transaction_journal\"",
        ),
        ("DROP TABLE blnk.transaction_journal", "there is no table \"blnk\".\"transaction_journal\""),
    ] {
        tables.sql(script);
        let service = Service::start(&home);
        service.until("the ledger is refused", || {
            service.get("/readyz").at("/checks/ledger").as_str().unwrap_or_default().contains(expected)
        });
    }
}

/// A home that identifies payments by reference, with a rule about the sum that an account paid.
pub(crate) fn by_reference(sum: &str) -> Home {
    let mut home = home();
    home.set("LEDGER_IDENTITY", "reference");
    let paid = format!(r#"sum(amount when reference == "mine" and status == "applied", "P30D") == {sum}"#);
    home.write_rule("paid.ws", sample::rule("paid", &paid));
    home
}

pub(crate) fn ask(id: &str, fields: &Value) -> Value {
    let asked = json!({
        "transaction_id": id, "amount": 100, "currency": "EUR", "reference": "mine", "status": "pending",
        "created_at": "2026-11-25T03:00:00Z",
    });
    sample::with(&asked, fields)
}

pub(crate) fn is_paid(client: &Client, n: usize) -> bool {
    let probe = sample::with(
        &sample::transaction(&format!("probe-{n}")),
        &json!({"created_at": "2026-11-25T04:00:00Z"}),
    );
    client.inject(&probe).triggered() == ["paid"]
}

#[test]
fn an_indicator_is_the_account_that_the_ledger_reports() {
    let home = by_reference("100");
    let service = Service::start(&home);
    ok(&service.inject(&ask("order-1", &json!({"source": "@world", "destination": "bln_2"}))));
    ok(&tell_entry(&service, &copy(1, "INFLIGHT")));
    assert_eq!(status_of(&service, "order-1"), "INFLIGHT");
    let commit = json!({"parent_transaction": id(2), "reference": format!("{}_commit_act_1", id(2))});
    ok(&tell_entry(&service, &entry(3, &commit)));
    assert_eq!(status_of(&service, "order-1"), "APPLIED");
    assert_eq!(number(&service, "tollgate_history_transactions"), 1);
    check_no_conflict(&service, 0, "an indicator");
    assert!(is_paid(&service, 0));
    // An id is no other id, and an indicator no other indicator.
    for source in ["bln_7", "@cash"] {
        let service = Service::start(&by_reference("100"));
        ok(&service.inject(&ask("order-1", &json!({"source": source}))));
        let other = if source == "@cash" { json!({"source": "@world"}) } else { json!({}) };
        assert_eq!(tell_entry(&service, &entry(1, &other)).status, 409, "{source}");
    }
}

#[test]
fn the_exact_amount_of_the_database_replaces_the_rounded_one_of_an_event() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let mut home = home();
    let exact = "1.234567890123456789";
    let paid = format!(r#"sum(amount when source == "bln_1", "P30D") == {exact}"#);
    home.write_rule("exact.ws", sample::rule("exact", &paid));
    tables.feeds(&mut home);
    let service = Service::start(&home);
    let rounded = json!({
        "amount": 1.234_567_890_123_456_7, "amount_string": "1.2345678901234568", "precise_amount": 1_234_567_890_123_456_800_u64,
        "precision": 1_000_000_000_000_000_000_u64, "created_at": "2026-11-25T03:00:00Z",
    });
    ok(&tell_entry(&service, &entry(1, &rounded)));
    assert!(service.transaction(&id(1)).text().contains(r#""amount":1.2345678901234568,"#));
    let is_exact = |n: usize| {
        let at = json!({"created_at": "2026-11-25T04:00:00Z"});
        service.inject(&sample::with(&sample::transaction(&format!("probe-{n}")), &at)).triggered()
            == ["exact"]
    };
    assert!(!is_exact(0));
    tables.sql(&format!(
        "INSERT INTO blnk.transactions (transaction_id, parent_transaction, reference, status, source, destination, amount,
         precise_amount, precision, currency, created_at, meta_data)
         VALUES ('{}', '', 'order-1', 'APPLIED', 'bln_1', 'bln_2', 1.2345678901234567, 1234567890123456789, 1000000000000000000,
         'EUR', '2026-11-25 03:00:00', '{{}}');",
        id(1)
    ));
    caught_up(&service);
    assert!(service.transaction(&id(1)).text().contains(&format!(r#""amount":{exact},"#)));
    assert!(is_exact(1));
    // The event told again changes nothing.
    ok(&tell_entry(&service, &entry(1, &rounded)));
    let updates = service.get(&format!("/transactions/{}/status-updates", id(1)));
    assert!(
        updates.text().contains(&format!(r#""amount_before":1.2345678901234568,"amount_after":{exact}"#))
    );
    assert_eq!(updates.at("/status_updates").as_array().unwrap().len(), 1);
    check_no_conflict(&service, 0, "exact");
    drop(service.stop());
    audit::replay(&home).all_follow();
}
