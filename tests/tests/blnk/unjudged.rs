//! Entries that are not taken whole: what can be left out, what cannot, and who is told.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;

use serde_json::{Value, json};
use tollgate_tests::poll::PATIENCE;
use tollgate_tests::programs::sqlite;
use tollgate_tests::{Client, Home, Service, audit, needs, sample};

use crate::blnk::odd::{dead, entry, id};
use crate::blnk::tables::{Tables, caught_up};
use crate::blnk::{home, ok, tell, tell_entry};

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

/// Returns holds with a part that a transaction does not take, and the names of that part.
fn oversized() -> Vec<(String, Value)> {
    let event = |number: u32, fields: Value| {
        json!({"event": "transaction.inflight", "data": entry(number, "INFLIGHT", 100, &fields)}).to_string()
    };
    let digits = format!("1{}", "0".repeat(38));
    vec![
        (event(1, json!({"description": "é".repeat(2_049)})), json!(["description"])),
        (event(2, json!({"meta_data": {"deep": nested(34), "k": 1}})), json!(["meta_data.deep"])),
        (
            event(3, json!({"meta_data": {"digits": "HERE", "k": 1}})).replace("\"HERE\"", &digits),
            json!(["meta_data.digits"]),
        ),
        (
            event(
                4,
                json!({"meta_data": {"a_nul": "a\0b", "b_keys": keys(1_100)}, "description": "x".repeat(4_097)}),
            ),
            json!(["meta_data.a_nul", "meta_data.b_keys", "description"]),
        ),
    ]
}

fn keys(n: usize) -> Value {
    (0..n).map(|n| (format!("k{n}"), json!(1))).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn a_hold_with_a_part_that_is_left_out_is_reviewed_also_in_a_replay() {
    let home = home();
    let service = Service::start(&home);
    for (number, (body, names)) in (1..).zip(oversized()) {
        for _ in 0..2 {
            ok(&tell(&service, &body));
        }
        let found = service.transaction(&id(number)).expect(200);
        assert_eq!((&found["verdict"], &found["left_out"]), (&json!("review"), &names), "{number}");
        assert_eq!(found["failures"][0]["failure"], "left_out");
        assert!(found["reason"].as_str().unwrap().starts_with("Left out of the transaction: "), "{found}");
    }
    let description = service.transaction(&id(1)).expect(200)["description"].as_str().unwrap().to_owned();
    assert_eq!(description, "é".repeat(2_048), "cut at a character");
    assert_eq!(service.transaction(&id(2)).expect(200)["meta_data"], json!({"k": 1}));
    assert_eq!(dead(&service), [] as [String; 0]);
    drop(service.stop());
    audit::replay(&home).all_follow();
}

#[test]
fn an_operator_may_have_such_payments_judged_like_others() {
    let mut home = home();
    home.set("LEDGER_LEFT_OUT", "judge");
    let service = Service::start(&home);
    for (number, (body, names)) in (1..).zip(oversized()) {
        ok(&tell(&service, &body));
        let found = service.transaction(&id(number)).expect(200);
        assert_eq!((&found["verdict"], &found["left_out"]), (&json!("approve"), &names), "{number}");
    }
    drop(service.stop());
    // The mark of a payment decides, not the setting of the replay.
    home.set("LEDGER_LEFT_OUT", "review");
    audit::replay(&home).all_follow();
}

#[test]
fn a_part_that_waits_for_its_hold_keeps_the_mark() {
    let service = Service::start(&home());
    let part = json!({
        "parent_transaction": id(1), "reference": "ref_00000000-0000-4000-8000-000000000002",
        "description": "x".repeat(4_097), "meta_data": {"deep": nested(34)},
    });
    let waits = tell_entry(&service, &entry(2, "APPLIED", 40, &part));
    assert!(waits.text().contains("is held until"), "{}", waits.text());
    ok(&tell_entry(&service, &entry(1, "INFLIGHT", 100, &json!({}))));
    let found = service.transaction(&id(2)).expect(200);
    let names = json!(["meta_data.deep", "description"]);
    assert_eq!((&found["verdict"], &found["left_out"]), (&json!("review"), &names));
}

/// Receives alerts, one for each connection.
fn receiver() -> (String, mpsc::Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let (sent, alerts) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap() > 2 {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            if sent.send(serde_json::from_slice(&body).unwrap()).is_err() {
                return;
            }
        }
    });
    (address, alerts)
}

#[track_caller]
pub(crate) fn ledger_check(client: &Client) -> String {
    client.get("/readyz").at("/checks/ledger").as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_entry_that_cannot_be_read_raises_an_alert_and_is_named_by_readyz() {
    for (setting, verdict) in [(None, "review"), (Some("block"), "block")] {
        let (address, alerts) = receiver();
        let mut home = home();
        home.set("ALERT_WEBHOOK_URL", &address);
        if let Some(setting) = setting {
            home.set("LEDGER_UNREADABLE", setting);
        }
        let service = Service::start(&home);
        assert!(!ledger_check(&service).contains("dead letter"));
        for (number, fields) in [
            (1, json!({"reference": "r".repeat(2_000)})),
            (2, json!({"source": "s".repeat(256)})),
            (3, json!({"meta_data": keys(1_100)})),
        ] {
            for _ in 0..2 {
                ok(&tell_entry(&service, &entry(number, "INFLIGHT", 100, &fields)));
            }
            let alert = alerts.recv_timeout(PATIENCE).unwrap();
            assert_eq!((&alert["transaction_id"], &alert["verdict"]), (&json!(id(number)), &json!(verdict)));
            assert_eq!(alert["amount"], Value::Null);
            assert!(alert["reason"].as_str().unwrap().contains("cannot be read"), "{alert}");
            assert_eq!(service.transaction(&id(number)).status, 404);
        }
        assert!(ledger_check(&service).contains("3 dead letters, the last one too_many_keys"));
        drop(service.stop());
        let service = Service::start(&home);
        assert!(ledger_check(&service).contains("3 dead letters"), "{}", ledger_check(&service));
        assert!(alerts.try_recv().is_err(), "an entry that is told twice is one alert");
        drop(service.stop());
        assert!(fs::exists(home.data().join("tollgate.db")).unwrap());
    }
}

#[test]
fn a_row_is_treated_like_an_event() {
    needs!(PostgreSql);
    let tables = Tables::open();
    let (address, alerts) = receiver();
    let mut home = home();
    home.write_rule("never.ws", sample::rule("never", "amount > 1000000"));
    home.set("ALERT_WEBHOOK_URL", &address);
    home.set("LEDGER_EVALUATE", "true");
    tables.feeds(&mut home);
    let service = Service::start(&home);
    let insert = |number: u32, reference: &str, description: &str, metadata: &str| {
        tables.sql(&format!(
            "INSERT INTO blnk.transactions (transaction_id, reference, description, status, source, destination, amount,
             precise_amount, precision, currency, created_at, meta_data)
             VALUES ('{}', {reference}, {description}, 'INFLIGHT', 'bln_1', 'bln_2', 100, 10000, 100, 'EUR', now(), '{metadata}');",
            id(number)
        ));
    };
    insert(1, "'a'", "repeat('x', 5000)", &json!({"deep": nested(40), "k": 1}).to_string());
    insert(2, "repeat('r', 2000)", "'d'", "{}");
    caught_up(&service);
    let found = service.transaction(&id(1)).expect(200);
    let names = json!(["meta_data.deep", "description"]);
    assert_eq!((&found["verdict"], &found["left_out"]), (&json!("review"), &names));
    let mut reported: Vec<_> = (0..2).map(|_| alerts.recv_timeout(PATIENCE).unwrap()).collect();
    reported.sort_by_key(|alert| alert["transaction_id"].to_string());
    assert_eq!((&reported[0]["verdict"], &reported[1]["verdict"]), (&json!("review"), &json!("review")));
    assert_eq!((&reported[1]["transaction_id"], &reported[1]["amount"]), (&json!(id(2)), &Value::Null));
    assert!(ledger_check(&service).contains("1 dead letter"), "{}", ledger_check(&service));
}

/// The size of all dead letters at which no further one is kept, in bytes.
pub(crate) const DEAD_LETTER_BYTES_MAX: i64 = 256 << 20;

/// Adds to the size of all dead letters, also while the service runs.
pub(crate) fn add_dead_bytes(home: &Home, n_bytes: i64) {
    change(home, &format!("UPDATE ledger_dead_letter_bytes SET n_bytes = n_bytes + {n_bytes}"));
}

/// Changes the store.
pub(crate) fn change(home: &Home, script: &str) {
    let mut sqlite = sqlite(&home.data().join("tollgate.db"));
    assert!(sqlite.args(["-cmd", ".timeout 10000"]).arg(script).status().unwrap().success());
}

/// Checks that a row without a verdict keeps the feed waiting as long as its dead letter has no room.
#[track_caller]
fn check_waits(row: [&str; 4], before: Option<&Value>, reason: &str, n_alerts: usize) {
    let tables = Tables::open();
    let (address, alerts) = receiver();
    let mut home = home();
    home.set("ALERT_WEBHOOK_URL", &address);
    home.set("LEDGER_EVALUATE", "true");
    home.set("LEDGER_SYNC_BATCH", "1");
    let service = Service::start(&home);
    before.into_iter().for_each(|entry| ok(&service.inject(entry)));
    drop(service.stop());
    add_dead_bytes(&home, DEAD_LETTER_BYTES_MAX);
    tables.feeds(&mut home);
    let [reference, status, amount, parent] = row;
    let good =
        |number: u32| [id(number), format!("order-{number}"), "INFLIGHT".into(), "100".into(), String::new()];
    let rows = [good(1), [id(2), reference.into(), status.into(), amount.into(), parent.into()], good(3)];
    for [id, reference, status, amount, parent] in rows {
        tables.sql(&format!(
            "INSERT INTO blnk.transactions (transaction_id, parent_transaction, reference, status, source, destination, amount,
             precise_amount, precision, currency, created_at, meta_data)
             VALUES ('{id}', '{parent}', '{reference}', '{status}', 'bln_1', 'bln_2', {amount}, {amount} * 100, 100, 'EUR', now(), '{{}}');"
        ));
    }
    for _ in 0..2 {
        let service = Service::start(&home);
        service.until("the feed waits", || {
            ledger_check(&service).contains("no room for the dead letter of a row")
        });
        assert!(service.transaction(&id(1)).expect(200)["verdict"].is_string());
        assert_eq!(service.transaction(&id(3)).status, 404, "{reason}");
        assert_eq!(dead(&service), [] as [String; 0], "{reason}");
        service.kill();
    }
    assert!(alerts.try_recv().is_err(), "{reason}");
    let service = Service::start(&home);
    service
        .until("the feed waits", || ledger_check(&service).contains("no room for the dead letter of a row"));
    add_dead_bytes(&home, -DEAD_LETTER_BYTES_MAX);
    service.until("the feed goes on", || service.transaction(&id(3)).status == 200);
    caught_up(&service);
    assert!(ledger_check(&service).starts_with("ok"), "{}", ledger_check(&service));
    assert_eq!(dead(&service), [reason]);
    for _ in 0..n_alerts {
        assert_eq!(alerts.recv_timeout(PATIENCE).unwrap()["transaction_id"], id(2));
    }
    assert!(alerts.try_recv().is_err(), "{reason}");
}

#[test]
fn a_judged_feed_waits_at_a_row_whose_dead_letter_has_no_room() {
    needs!(PostgreSql, Sqlite);
    let long = "r".repeat(2_000);
    check_waits([&long, "INFLIGHT", "100", ""], None, "invalid_field", 1);
    let reference = "ref_00000000-0000-4000-8000-000000000002";
    check_waits([reference, "APPLIED", "101", &id(1)], None, "exceeds_hold", 1);
    let other = entry(2, "INFLIGHT", 7, &json!({}));
    check_waits(["order-2", "INFLIGHT", "100", ""], Some(&other), "transaction_conflict", 0);
}
