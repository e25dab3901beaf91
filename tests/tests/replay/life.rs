//! A service undergoes everything that changes verdicts; afterwards each verdict follows from the store.

use std::fs;
use std::thread;

use serde_json::{Value, json};
use tollgate_tests::{Client, Home, Service, audit, modules, proof, sample};

use crate::replay::{home, traffic, transaction};

const N_CLIENTS: usize = 4;
/// Number of consecutive failures, each for a different source, that quarantine a rule.
const N_FAILURES: usize = 256;

/// States of a store after different ends of the process.
#[test]
fn a_store_is_read_while_a_service_has_it_after_kill_9_and_after_a_stop() {
    let home = home();
    let service = Service::start(&home);
    traffic(&service, "a", 20);
    assert_eq!(audit::replay(&home).all_follow(), 20, "while the service runs");
    service.kill();
    assert_eq!(audit::replay(&home).all_follow(), 20, "after it was killed");
    let service = Service::start(&home);
    traffic(&service, "b", 10);
    service.stop();
    assert_eq!(audit::replay(&home).all_follow(), 30, "after it was stopped");
    let part = audit::replay_with(&home, &["--from", "8", "--through", "12"]);
    assert!((1..=5).contains(&part.all_follow()), "{part:?}");
    let service = Service::start(&home);
    assert_eq!(service.inject(&transaction("c", 1)).status, 200, "a service can go on with it");
}

/// Repeatedly saves and removes a rule and sets a list.
fn change_rules(client: &Client, prefix: &str, n: usize) {
    for k in 0..n {
        let condition =
            format!(r#"count(when destination == $current.destination, "P{}D") >= {k}"#, 1 + k % 3);
        let id = client.save(&sample::rule(&format!("{prefix}_{k}"), &condition)).expect(201)["id"].clone();
        let entries = json!([format!("s{}", k % 4), "s3"]).to_string();
        let set = client.put("/lists/changing", "application/json", entries.as_bytes());
        assert!([200, 201].contains(&set.status), "{}", set.text());
        if k % 2 == 0 {
            assert_eq!(client.delete(&format!("/instructions/{id}")).status, 204);
        }
    }
}

/// Sends concurrent transactions while rules change.
fn storm(service: &Service, prefix: &str, n: usize) {
    thread::scope(|scope| {
        for number in 0..N_CLIENTS {
            let client = service.client();
            scope.spawn(move || traffic(&client, &format!("{prefix}{number}"), n));
        }
        let client = service.client();
        scope.spawn(move || change_rules(&client, prefix, 6));
    });
}

/// Returns a rule that fails in this way if the amount exceeds the limit, and never matches.
fn fragile(limit: u32, how: &str) -> Vec<u8> {
    let module = modules::of_text(&format!(
        r#"(module
          (import "tollgate" "number" (func $number (param i32) (result f64)))
          (func (export "evaluate") (result i64)
            (if (f64.gt (call $number (i32.const 0)) (f64.const {limit})) (then {how}))
            (i64.const 0)))"#
    ));
    modules::with_manifest(&module, &modules::manifest(&format!("above_{limit}")))
}

/// Fails until the rule is quarantined.
fn fail_until_quarantined(service: &Service, id: &Value) {
    for i in 0..N_FAILURES {
        let fields = json!({"source": format!("failing-{i}"), "amount": 5000});
        let failing = sample::with(&transaction("failing", i), &fields);
        let judged = service.inject(&failing).expect(200);
        let failures = judged["failures"].as_array().unwrap();
        assert!(failures.iter().any(|failed| failed["failure"] == "fuel"), "{judged}");
    }
    let status = || service.get(&format!("/instructions/{id}")).at("/status");
    service.until("the rule is in quarantine", || status() == "quarantined");
}

#[test]
fn every_verdict_of_a_life_follows_from_what_is_stored() {
    let mut home = home();
    home.set("SERVICE_QUARANTINE_AFTER", "0s");
    let mut n_verdicts = 0;
    let n = proof::rounds(20, 2_000);
    for cycle in 0..proof::rounds(2, 20) {
        let service = Service::start(&home);
        let trap = service.upload("", &fragile(10 + u32::try_from(cycle).unwrap(), "(unreachable)"));
        assert_eq!(trap.status, 201, "{}", trap.text());
        storm(&service, &format!("c{cycle}_"), n);
        service.kill();
        home.write_rule("late.ws", sample::rule("late", &format!("amount > {cycle}")));
        let service = Service::start(&home);
        storm(&service, &format!("d{cycle}_"), n);
        n_verdicts += 2 * N_CLIENTS * n;
        if cycle == 0 {
            let looping = service.upload("", &fragile(4_000, "(loop $l (br $l))")).expect(201)["id"].clone();
            fail_until_quarantined(&service, &looping);
            traffic(&service, "held", 5);
            let released = service.post(&format!("/instructions/{looping}/release"), &json!({}));
            assert_eq!(released.status, 200, "{}", released.text());
            traffic(&service, "free", 5);
            n_verdicts += N_FAILURES + 10;
        }
        service.stop();
    }
    let replayed = audit::replay(&home);
    assert_eq!(replayed.all_follow(), n_verdicts as u64);
    assert!(replayed.number("rule_sets") > 10, "{replayed:?}");
    assert_eq!(replayed.number("on_assumed_terms"), 0, "{replayed:?}");
    println!("{n_verdicts} verdicts by {} rule sets", replayed.number("rule_sets"));
}

/// Returns a rule that reads a field this many times and matches.
fn laborious(rounds: u32) -> Vec<u8> {
    let module = modules::of_text(&format!(
        r#"(module
          (func (export "evaluate") (result i64) (local $n i32)
            (loop $l
              (local.set $n (i32.add (local.get $n) (i32.const 1)))
              (br_if $l (i32.lt_u (local.get $n) (i32.const {rounds}))))
            (i64.const 1)))"#
    ));
    modules::with_manifest(&module, &modules::manifest("laborious"))
}

#[test]
fn the_grant_of_a_module_is_part_of_the_version_that_judged() {
    let mut home = Home::new();
    let policy = home.at("policy.json");
    home.set("SERVICE_RULE_POLICY", policy.to_str().unwrap());
    let mut versions = Vec::new();
    for (run, (fuel, failures)) in [(10_000, 1), (1_000_000, 0), (10_000, 1)].into_iter().enumerate() {
        let grants = json!({"grants": [{"source": "upload", "fuel": fuel}, {"source": "api"}]});
        fs::write(&policy, grants.to_string()).unwrap();
        let service = Service::start(&home);
        if run == 0 {
            assert_eq!(service.upload("", &laborious(5_000)).status, 201);
        }
        let judged = service.inject(&transaction("t", run)).expect(200);
        assert_eq!(judged["failures"].as_array().unwrap().len(), failures, "{judged}");
        versions.push(judged["rule_set_version"].as_u64().unwrap());
        service.stop();
    }
    assert!(versions.is_sorted_by(|one, next| one < next), "{versions:?}");
    assert_eq!(audit::replay(&home).all_follow(), 3);
}

#[test]
fn a_missing_or_foreign_store_cannot_be_replayed() {
    let home = Home::new();
    let empty = audit::replay(&home);
    assert_eq!((empty.code, empty.findings.len()), (2, 0), "{empty:?}");
    assert!(empty.said.starts_with("error: "), "{empty:?}");
    fs::write(home.data().join("tollgate.db"), "something else").unwrap();
    assert_eq!(audit::replay(&home).code, 2);
    let nothing = Home::new();
    Service::start(&nothing).stop();
    assert_eq!(audit::replay(&nothing).all_follow(), 0);
}
