//! A ledger has a kind, and a store keeps the kind that filled it.

use serde_json::json;
use tollgate_tests::{Home, Service, sample};

use crate::recordings::sent;
use crate::{home, ok, tell};

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
fn a_store_that_no_ledger_told_anything_may_become_one_of_either_kind() {
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
fn refusals_are_told_in_the_log_and_by_readyz() {
    let service = Service::start(&home());
    for _ in 0..50 {
        assert_eq!(tell(&service, r#"{"event": 7}"#).status, 400);
    }
    let ledger = service.get("/readyz").at("/checks/ledger");
    assert!(ledger.as_str().unwrap().contains("invalid_field: `event` must be a text"), "{ledger}");
    let told =
        |log: &[String]| log.iter().filter(|line| line.contains("events of the ledger were refused")).count();
    service.until("the rest is told", || told(&service.log().lines()) >= 2);
    let (_, log) = service.stop();
    assert!((2..=5).contains(&told(&log)), "at most one line a second: {}", told(&log));
}
