//! A rule that keeps failing is quarantined visibly, and no transaction bypasses it. Crafted transactions cannot
//! quarantine a good rule.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_tests::{Home, Service, modules, sample};

/// Number of consecutive failures, of different sources, that quarantine a rule once they have lasted long enough.
const N_RUNS: usize = 256;
/// The number of sources that they must have.
const N_SOURCES: usize = 32;

/// Returns a home of a service that quarantines what has lasted this long.
fn quarantining_after(time: &str) -> Home {
    let mut home = Home::new();
    home.set("SERVICE_QUARANTINE_AFTER", time);
    home
}

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

/// Makes the rule fail this often in a row, for [`N_SOURCES`] sources.
#[track_caller]
fn fail(service: &Service, round: &str, n: usize) {
    for i in 0..n {
        let source = format!("source-{}", i % N_SOURCES);
        let judged = judge(service, &transaction(&format!("{round}-{i}"), 10, &source));
        assert_eq!(judged, review("fuel"), "{round} {i}");
    }
}

#[test]
fn a_rule_that_keeps_failing_is_quarantined_until_somebody_acts() {
    let home = quarantining_after("0s");
    let service = Service::start(&home);
    let id = service.upload("", &fragile("fragile", 0)).expect(201)["id"].clone();
    let path = format!("/instructions/{id}");
    let version = |service: &Service, id: &str| {
        service.inject(&transaction(id, 0, "anyone")).at("/rule_set_version").as_u64().unwrap()
    };
    let before = version(&service, "before");
    fail(&service, "first", N_RUNS);
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
    fail(&service, "second", N_RUNS);
    service.until("it is in quarantine again", || status(&service, &id) == "quarantined");
    assert_eq!(service.post("/instructions/77/release", &json!({})).code(), "instruction_not_found");

    assert_eq!(service.delete(&path).status, 204);
    assert_eq!(judge(&service, &transaction("gone", 10, "anyone")).0, "approve");
}

#[test]
fn a_rule_that_fails_for_everybody_is_quarantined_after_the_time() {
    const LEAST: Duration = Duration::from_secs(5);
    let service = Service::start(&quarantining_after("5s"));
    let id = service.upload("", &sanctions()).expect(201)["id"].clone();
    let begun = Instant::now();
    let mut n = 0;
    service.until("it is in quarantine", || {
        // Many, so that the number of runs is reached long before the time.
        for _ in 0..N_RUNS {
            n += 1;
            let crafted = transaction(&format!("t-{n}"), 9_500, &format!("source-{}", n % N_SOURCES));
            assert_eq!(judge(&service, &crafted).0, "review");
        }
        status(&service, &id) == "quarantined"
    });
    assert!(begun.elapsed() >= LEAST, "after {:?}", begun.elapsed());
    assert!(n > N_RUNS, "the first runs were not enough");
}

/// Returns a rule that blocks amounts above 5,000, and has a bug that amounts above 9,000 trigger.
fn sanctions() -> Vec<u8> {
    let module = modules::of_text(
        r#"(module
          (import "tollgate" "number" (func $number (param i32) (result f64)))
          (func (export "evaluate") (result i64)
            (if (f64.gt (call $number (i32.const 0)) (f64.const 9000)) (then (unreachable)))
            (i64.extend_i32_u (f64.gt (call $number (i32.const 0)) (f64.const 5000)))))"#,
    );
    modules::with_manifest(&module, &modules::manifest("sanctions"))
}

/// Sends crafted transactions of so many accounts, with an ordinary one after every `n_crafted`, and checks that each is
/// held and that the rule stays in force.
#[track_caller]
fn check_crafted(home: &Home, n_accounts: usize, n_crafted: usize) {
    let service = Service::start(home);
    let id = service.upload("", &sanctions()).expect(201)["id"].clone();
    for i in 0..1_500 {
        let crafted = transaction(&format!("crafted-{i}"), 9_500, &format!("mallory-{}", i % n_accounts));
        assert_eq!(judge(&service, &crafted), review("trap"), "{i}");
        if i % n_crafted == 0 {
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

#[test]
fn crafted_transactions_cannot_switch_a_good_rule_off() {
    // Of one client, however long it goes on.
    check_crafted(&quarantining_after("0s"), 1, 1_500);
    check_crafted(&quarantining_after("0s"), N_SOURCES - 2, 1_500);
    // Of any number of accounts, beside a tenth of ordinary ones.
    check_crafted(&quarantining_after("0s"), 1_500, 8);
    // Without any, for less than five minutes.
    check_crafted(&Home::new(), 1_500, 1_500);
}
