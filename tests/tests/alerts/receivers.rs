//! Receivers that fail, hang, redirect, disappear or respond without end.

use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_tests::links::{
    BLOCK_ALL, Receiver, Reception, link_status, load, median, metric, p99, resident_kib,
};
use tollgate_tests::{Home, Service, proof, sample};

use crate::alerts::{block, check_signed, dead_letters, home, impatient, until_settled};

/// Returns the distinct ids of these requests.
fn ids(requests: &[tollgate_tests::links::Delivered]) -> Vec<String> {
    let mut ids: Vec<String> =
        requests.iter().map(|request| request.header("webhook-id").to_owned()).collect();
    ids.sort();
    ids.dedup();
    ids
}

#[test]
fn one_that_fails_for_a_while_gets_the_same_alert_again() {
    let receiver = Receiver::start(Reception::Status(200));
    receiver.set_next(vec![Reception::Status(500), Reception::Hanging, Reception::Status(429)]);
    let mut home = home(&[receiver.url()]);
    // Short enough to wait for once, long enough for the other requests on a busy machine.
    home.set("ALERT_WEBHOOK_TIMEOUT", "2s");
    let service = Service::start(&home);
    block(&service, "t");
    let taken = receiver.wait_for_taken("t").unwrap();
    let requests = receiver.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(ids(&requests), [taken.header("webhook-id")], "one id at every attempt");
    requests.iter().for_each(check_signed);
    assert!(requests.iter().all(|request| request.body == taken.body));
    until_settled(&service);
    assert_eq!(metric(&service, "tollgate_alert_attempts_total{result=\"failed\"}"), 3);
    assert_eq!(link_status(&service, "alerts"), "ok");
}

#[test]
fn one_that_never_takes_an_alert_leaves_a_dead_letter() {
    let receiver = Receiver::start(Reception::Status(503));
    let service = Service::start(&home(&[receiver.url()]));
    block(&service, "t");
    let [id] = dead_letters(&service, 1).try_into().unwrap();
    let letter = service.get("/alerts/dead-letters").expect(200)["dead_letters"][0].clone();
    assert_eq!(
        (&letter["transaction_id"], &letter["attempts"], &letter["error"]),
        (&json!("t"), &json!(4), &json!("status 503"))
    );
    assert_eq!(letter["payload"], receiver.requests()[0].json());
    assert!(link_status(&service, "alerts").contains("status 503"), "{}", link_status(&service, "alerts"));
    assert_eq!(receiver.requests().len(), 4, "an attempt and three more");
    assert_eq!(metric(&service, "tollgate_alert_attempts_total{result=\"dead\"}"), 1);
    assert_eq!(dead_letters(&service, 1), [id]);
}

#[test]
fn a_dead_letter_outlives_a_restart_and_is_sent_again_under_its_id() {
    let receiver = Receiver::start(Reception::Status(503));
    let home = home(&[receiver.url()]);
    let service = Service::start(&home);
    block(&service, "t");
    let [id] = dead_letters(&service, 1).try_into().unwrap();
    service.stop();
    receiver.set(Reception::Status(200));
    let service = Service::start(&home);
    assert_eq!(dead_letters(&service, 1), std::slice::from_ref(&id));
    let path = format!("/alerts/dead-letters/{id}/replay");
    let replayed = service.send("POST", &path, &[], &[]).unwrap();
    assert_eq!(replayed.expect(200), json!({"id": id, "status": "pending"}));
    let taken = receiver.wait_for_taken("t").unwrap();
    assert_eq!(taken.header("webhook-id"), id);
    dead_letters(&service, 0);
    until_settled(&service);
    assert_eq!(service.send("POST", &path, &[], &[]).unwrap().status, 404, "it is none any more");
}

#[test]
fn while_the_first_hangs_the_next_gets_alerts_and_no_inject_waits() {
    let (first, second) = (Receiver::start(Reception::Hanging), Receiver::start(Reception::Status(200)));
    let service = Service::start(&impatient(&[first.url(), second.url()]));
    let begun = Instant::now();
    for number in 0..50 {
        block(&service, &format!("t{number}"));
    }
    let injected = begun.elapsed();
    for number in 0..50 {
        assert!(second.wait_for_taken(&format!("t{number}")).is_some());
    }
    println!(
        "50 injects in {injected:?}, 50 alerts taken after {:?}; the first was asked {} times",
        begun.elapsed(),
        first.requests().len()
    );
    // In sequence they would wait 300 ms each.
    assert!(injected < Duration::from_secs(5), "{injected:?}");
    assert!(first.requests().len() < 50, "one that hangs is passed over for a while");
    until_settled(&service);
    assert_eq!(ids(&second.requests()).len(), 50);
    let link_status = link_status(&service, "alerts");
    assert!(
        link_status.contains("no answer within 300 ms") && !link_status.contains("hooks"),
        "{link_status}"
    );
}

#[test]
fn a_redirect_is_not_followed() {
    let other = Receiver::start(Reception::Status(200));
    let receiver = Receiver::start(Reception::Redirect(other.url()));
    let service = Service::start(&home(&[receiver.url()]));
    block(&service, "t");
    dead_letters(&service, 1);
    let letter = service.get("/alerts/dead-letters").at("/dead_letters/0/error");
    assert_eq!(letter, "status 302: redirects are not followed");
    assert_eq!((receiver.requests().len(), other.requests().len()), (4, 0));
}

#[test]
fn one_that_is_gone_gets_nothing_more_until_the_next_start() {
    let (first, second) = (Receiver::start(Reception::Status(410)), Receiver::start(Reception::Status(200)));
    let home = home(&[first.url(), second.url()]);
    let service = Service::start(&home);
    for id in ["t1", "t2", "t3"] {
        block(&service, id);
        assert!(second.wait_for_taken(id).is_some());
    }
    assert_eq!(first.requests().len(), 1);
    let link_status = link_status(&service, "alerts");
    assert!(link_status.ends_with("disabled, it answered 410"), "{link_status}");
    assert_eq!(metric(&service, "tollgate_alert_endpoints_gone"), 1);

    // No receiver is left: a new alert becomes a dead letter at once, and nothing is sent.
    second.set(Reception::Status(410));
    block(&service, "t4");
    dead_letters(&service, 1);
    block(&service, "t5");
    let letters = dead_letters(&service, 2);
    assert_eq!((first.requests().len(), second.requests().len()), (1, 4));
    service.stop();
    first.set(Reception::Status(200));
    let service = Service::start(&home);
    for id in letters {
        assert_eq!(service.post(&format!("/alerts/dead-letters/{id}/replay"), &json!({})).status, 200);
    }
    for id in ["t4", "t5"] {
        assert!(first.wait_for_taken(id).is_some());
    }
}

#[test]
fn an_answer_without_an_end_is_an_answer() {
    let receiver = Receiver::start(Reception::Endless);
    let service = Service::start(&home(&[receiver.url()]));
    block(&service, "first");
    let before = resident_kib(&service);
    for number in 0..30 {
        assert_eq!(service.inject(&sample::transaction(&format!("t{number}"))).status, 200);
    }
    until_settled(&service);
    let after = resident_kib(&service);
    println!("31 answers without an end: memory {before} KiB, then {after} KiB");
    assert!(after < before + 32 * 1024);
    assert_eq!(ids(&receiver.requests()).len(), 31);
    assert_eq!(receiver.requests().len(), 31, "each is taken at once");
}

#[test]
fn inject_is_as_fast_whatever_the_receiver_does() {
    let n = proof::rounds(600, 20_000);
    let alone = Service::start(&Home::with_rules(&[("all.ws", BLOCK_ALL)]));
    let _ = load(&alone, "warm", 100);
    let without = load(&alone, "t", n);
    drop(alone);
    let receiver = Receiver::start(Reception::Status(200));
    let service = Service::start(&impatient(&[receiver.url()]));
    let _ = load(&service, "warm", 100);
    let taking = load(&service, "taking", n);
    receiver.set(Reception::Hanging);
    let hanging = load(&service, "hanging", n);
    println!(
        "inject p99 of {n}: without a webhook {:?}, with one that takes alerts {:?}, with one that hangs {:?}",
        p99(&without),
        p99(&taking),
        p99(&hanging)
    );
    // Waiting for the hanging receiver would take at least its timeout of 300 ms.
    let bound = median(&without) * 4 + Duration::from_millis(200);
    assert!(median(&taking) < bound && median(&hanging) < bound, "{bound:?}");
}
