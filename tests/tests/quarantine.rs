#![cfg(test)]
//! A rule that keeps failing is quarantined visibly, and no transaction bypasses it. Crafted transactions cannot
//! quarantine a good rule.

use serde_json::{Value, json};
use tollgate_tests::{Home, Service, modules, sample};

/// Number of consecutive failures, each for a different source, that quarantine a rule.
const N_SOURCES: usize = 32;

/// Returns a rule that loops forever if the amount exceeds the limit, and never matches.
fn fragile(name: &str, limit: u32) -> Vec<u8> {
    let module = modules::of_text(&format!(
        r#"(module
          (import "tollgate" "number" (func $number (param i32) (result f64)))
          (func (export "evaluate") (result i64)
            (if (f64.gt (call $number (i32.const 0)) (f64.const {limit})) (then (loop $l (br $l))))
            (i64.const 0)))"#
    ));
    modules::with_manifest(&module, &modules::manifest(name))
}

fn transaction(id: &str, amount: u32, source: &str) -> Value {
    sample::with(&sample::transaction(id), &json!({ "amount": amount, "source": source }))
}

/// Returns the verdict of a transaction and the failure of each rule.
#[track_caller]
fn judge(service: &Service, transaction: &Value) -> (String, Vec<String>) {
    let judged = service.inject(transaction).expect(200);
    let failures = judged["failures"].as_array().unwrap();
    let words = failures.iter().map(|failed| failed["failure"].as_str().unwrap().to_owned());
    (judged["verdict"].as_str().unwrap().to_owned(), words.collect())
}

#[track_caller]
fn status(service: &Service, id: &Value) -> String {
    service.get(&format!("/instructions/{id}")).expect(200)["status"].as_str().unwrap().to_owned()
}

fn review(word: &str) -> (String, Vec<String>) {
    ("review".to_owned(), vec![word.to_owned()])
}

/// Makes the rule fail for this many sources in a row.
#[track_caller]
fn fail(service: &Service, round: &str, n: usize) {
    for i in 0..n {
        let judged = judge(service, &transaction(&format!("{round}-{i}"), 10, &format!("source-{i}")));
        assert_eq!(judged, review("fuel"), "{round} {i}");
    }
}

#[test]
fn a_rule_that_keeps_failing_is_quarantined_until_somebody_acts() {
    let home = Home::new();
    let service = Service::start(&home);
    let id = service.upload("", &fragile("fragile", 0)).expect(201)["id"].clone();
    let path = format!("/instructions/{id}");
    let version = |service: &Service, id: &str| {
        service.inject(&transaction(id, 0, "anyone")).at("/rule_set_version").as_u64().unwrap()
    };
    let before = version(&service, "before");
    fail(&service, "first", N_SOURCES);
    service.until("it is in quarantine", || status(&service, &id) == "quarantined");

    let shown = service.get(&path).expect(200);
    assert_eq!(shown["quarantine"]["cause"], json!("failures"), "{shown}");
    assert!(shown["quarantine"]["reason"].as_str().unwrap().contains("`fuel`"), "{shown}");
    let metrics = service.get("/metrics").text();
    assert!(metrics.contains("tollgate_rules_quarantined 1"), "{metrics}");
    service.until("readiness says so", || {
        service.get("/readyz").expect(200)["checks"]["rules"]
            .as_str()
            .unwrap()
            .starts_with("degraded: 1 rules are in quarantine (fragile): transactions are held for review")
    });
    // Every transaction is held in its place, including those it would have approved.
    assert_eq!(judge(&service, &transaction("held", 0, "anyone")), review("quarantined"));
    assert!(version(&service, "after") > before, "which rules are run is part of the version");

    // The quarantine survives a restart.
    service.kill();
    let service = Service::start(&home);
    assert_eq!(service.get(&path).expect(200), shown);
    assert_eq!(judge(&service, &transaction("held still", 0, "anyone")), review("quarantined"));

    let released = service.post(&format!("{path}/release"), &json!({})).expect(200);
    assert_eq!((&released["status"], &released["quarantine"]), (&json!("active"), &Value::Null));
    assert_eq!(service.post(&format!("{path}/release"), &json!({})).expect(200), released, "and again");
    assert_eq!(judge(&service, &transaction("free", 0, "anyone")).0, "approve");
    // A rule that fails again is quarantined again.
    fail(&service, "second", N_SOURCES);
    service.until("it is in quarantine again", || status(&service, &id) == "quarantined");
    assert_eq!(service.post("/instructions/77/release", &json!({})).code(), "instruction_not_found");

    assert_eq!(service.delete(&path).status, 204);
    assert_eq!(judge(&service, &transaction("gone", 10, "anyone")).0, "approve");
}

#[test]
fn crafted_transactions_cannot_switch_a_good_rule_off() {
    let service = Service::start(&Home::new());
    // Blocks amounts above 5,000, and has a bug that amounts above 9,000 trigger.
    let sanctions = modules::of_text(
        r#"(module
          (import "tollgate" "number" (func $number (param i32) (result f64)))
          (func (export "evaluate") (result i64)
            (if (f64.gt (call $number (i32.const 0)) (f64.const 9000)) (then (unreachable)))
            (i64.extend_i32_u (f64.gt (call $number (i32.const 0)) (f64.const 5000)))))"#,
    );
    let saved = service.upload("", &modules::with_manifest(&sanctions, &modules::manifest("sanctions")));
    let id = saved.expect(201)["id"].clone();
    for i in 0..500 {
        // Crafted transactions from any number of accounts; each is held regardless.
        let crafted = transaction(&format!("crafted-{i}"), 9_500, &format!("mallory-{i}"));
        assert_eq!(judge(&service, &crafted), review("trap"), "{i}");
        if i % 25 == 0 {
            assert_eq!(judge(&service, &transaction(&format!("honest-{i}"), 10, "alice")).0, "approve");
        }
    }
    // A repeated transaction does not count.
    for _ in 0..1_500 {
        let _ = judge(&service, &transaction("crafted-0", 9_500, "mallory-0"));
    }
    assert_eq!(status(&service, &id), "active");
    assert_eq!(judge(&service, &transaction("caught", 6_000, "mallory-1")).0, "block");
}
