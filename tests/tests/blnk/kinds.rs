//! A ledger has a kind, and a store keeps the kind that filled it.

use serde_json::json;
use tollgate_tests::{Home, Service, needs, sample, wire};

use crate::blnk::recordings::{sent, stored};
use crate::blnk::tables::Tables;
use crate::blnk::truth::number;
use crate::blnk::{home, ok, tell};

/// Returns the body of the recorded request of this kind.
fn recorded(kind: &str) -> String {
    sent().into_iter().find(|sent| sent.kind == kind).unwrap().body
}

#[track_caller]
fn check_start(home: &Home, refusal: Option<&str>) {
    match (Service::try_start(home), refusal) {
        (Ok(service), None) => drop(service.stop()),
        (Err(refused), Some(words)) => {
            let log = refused.log.join("\n");
            assert!(log.contains(words), "{log}");
        }
        (outcome, _) => panic!("{outcome:?}, not {refusal:?}"),
    }
}

#[test]
fn a_store_keeps_the_kind_of_ledger_that_filled_it() {
    let mut blnk = home();
    let service = Service::start(&blnk);
    ok(&tell(&service, &recorded("plain, skip_queue")));
    drop(service.stop());
    check_start(&blnk, None);
    blnk.set("LEDGER_IDENTITY", "reference");
    check_start(&blnk, Some("LEDGER_KIND=blnk and LEDGER_IDENTITY=id"));
    blnk.set("LEDGER_IDENTITY", "id");
    blnk.set("LEDGER_KIND", "generic");
    check_start(&blnk, Some("LEDGER_KIND=blnk and LEDGER_IDENTITY=id"));

    let mut generic = Home::new();
    let service = Service::start(&generic);
    let event = json!({"event": "transaction.applied", "data": sample::transaction("t")});
    ok(&service.post("/ledgerwebhook", &event));
    drop(service.stop());
    generic.set("LEDGER_KIND", "blnk");
    check_start(&generic, Some("LEDGER_KIND=generic"));
}

#[test]
fn a_store_without_a_report_of_a_ledger_may_become_one_of_either_kind() {
    let mut home = Home::new();
    let service = Service::start(&home);
    ok(&service.inject(&sample::transaction("t")));
    drop(service.stop());
    home.set("LEDGER_KIND", "blnk");
    check_start(&home, None);
    home.set("LEDGER_KIND", "generic");
    check_start(&home, None);
}

#[test]
fn events_of_blnk_to_a_generic_ledger_are_a_hint_with_the_setting_to_make() {
    let service = Service::start(&Home::new());
    let ledger = || service.get("/readyz").at("/checks/ledger").as_str().unwrap_or_default().to_owned();
    assert_eq!(ledger(), "");
    ok(&service
        .post("/ledgerwebhook", &json!({"event": "transaction.applied", "data": sample::transaction("t")})));
    assert!(ledger().starts_with("generic; last event") && !ledger().contains("LEDGER_KIND"), "{}", ledger());
    ok(&tell(&service, &recorded("hold and commit, skip_queue")));
    assert!(ledger().contains("set LEDGER_KIND=blnk"), "{}", ledger());
    let (_, log) = service.stop();
    assert_eq!(log.iter().filter(|line| line.contains("look like those of Blnk")).count(), 1);
}

#[test]
fn refusals_are_reported_in_the_log_and_by_readyz() {
    let service = Service::start(&home());
    for _ in 0..50 {
        assert_eq!(tell(&service, r#"{"event": 7}"#).status, 400);
    }
    let ledger = service.get("/readyz").at("/checks/ledger");
    assert!(ledger.as_str().unwrap().contains("invalid_field: `event` must be a text"), "{ledger}");
    let reported =
        |log: &[String]| log.iter().filter(|line| line.contains("events of the ledger were refused")).count();
    service.until("the rest is told", || reported(&service.log().lines()) >= 2);
    let (_, log) = service.stop();
    assert!((2..=5).contains(&reported(&log)), "at most one line a second: {}", reported(&log));
}

/// Sends a body with these headers alone, and returns the status.
fn send(service: &Service, headers: &[(&str, &str)], body: &[u8]) -> u16 {
    let request = wire::request(service.address(), "POST /blnkwebhook", headers, body);
    wire::exchange(service.address(), &request).unwrap().status
}

#[test]
fn an_event_that_is_refused_before_it_is_read_is_reported() {
    let service = Service::start(&home());
    let body = recorded("plain, skip_queue");
    let close = ("Connection", "close");
    let ledger = || service.get("/readyz").at("/checks/ledger").as_str().unwrap_or_default().to_owned();
    let refused = || number(&service, r#"tollgate_ledger_events_total{result="refused"}"#);
    assert_eq!(send(&service, &[close, ("Content-Type", "text/plain")], body.as_bytes()), 415);
    assert!(ledger().contains("last refusal") && ledger().contains("unsupported_media_type"), "{}", ledger());
    let line = b"POST /blnkwebhook HTTP/1.1\r\nHost: tollgate.internal\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
    assert_eq!(wire::exchange(service.address(), line).unwrap().status, 421);
    assert!(
        ledger().contains("host_not_allowed") && ledger().contains("SERVICE_ALLOWED_HOSTS"),
        "{}",
        ledger()
    );
    assert_eq!(refused(), 2);
    // Requests to other paths are not of the ledger.
    let line = b"POST /inject HTTP/1.1\r\nHost: elsewhere.internal\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(wire::exchange(service.address(), line).unwrap().status, 421);
    assert_eq!(refused(), 2);
    service.until("the log tells of both", || {
        let log = service.log().lines().join("\n");
        log.contains("unsupported_media_type") && log.contains("host_not_allowed")
    });
}

#[test]
fn an_event_without_a_media_type_is_json_unless_a_page_sends_it_unsigned() {
    let body = recorded("plain, skip_queue");
    let close = ("Connection", "close");
    let origin = ("Origin", "http://localhost");
    let service = Service::start(&home());
    assert_eq!(send(&service, &[close, origin], body.as_bytes()), 415);
    assert_eq!(send(&service, &[close], body.as_bytes()), 200);
    drop(service.stop());
    let mut home = home();
    home.set("LEDGER_WEBHOOK_SECRET", "the-ledgers-own-secret");
    let service = Service::start(&home);
    assert_eq!(send(&service, &[close, origin], body.as_bytes()), 415);
    assert_eq!(send(&service, &[close], body.as_bytes()), 401);
    let timestamp = chrono::Utc::now().timestamp().to_string();
    let signature =
        tollgate_tests::links::signed::stamped("the-ledgers-own-secret", &timestamp, body.as_bytes());
    let signed = [close, origin, ("X-Blnk-Timestamp", &timestamp), ("X-Blnk-Signature", &signature)];
    assert_eq!(send(&service, &signed, body.as_bytes()), 200);
}

#[test]
fn a_table_of_blnk_that_is_read_as_a_generic_one_is_reported() {
    needs!(PostgreSql);
    let tables = Tables::open();
    tables.store(&stored());
    let mut home = Home::new();
    tables.feeds(&mut home);
    let ledger = |service: &Service| {
        service.get("/readyz").at("/checks/ledger").as_str().unwrap_or_default().to_owned()
    };
    home.set("LEDGER_TABLE", "blnk.transactions");
    let service = Service::start(&home);
    assert!(ledger(&service).contains("LEDGER_TABLE names a table of Blnk: set LEDGER_KIND=blnk"));
    let (_, log) = service.stop();
    assert!(log.iter().any(|line| line.contains("LEDGER_TABLE names a table of Blnk")));
    // Under another name, its columns tell.
    tables.sql("CREATE VIEW blnk.entries AS SELECT * FROM blnk.transactions; GRANT SELECT ON blnk.entries TO reader;");
    home.set("LEDGER_TABLE", "blnk.entries");
    let service = Service::start(&home);
    service.until("it is told", || {
        ledger(&service).contains("it looks like a table of Blnk: set LEDGER_KIND=blnk")
    });
}
