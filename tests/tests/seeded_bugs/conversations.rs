//! Guarantees of the service, each tested by name.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_tests::links::{BLOCK_ALL, Receiver, Reception};
use tollgate_tests::wire::{Wire, request};
use tollgate_tests::{Home, Service, modules, sample, tampering};

use crate::seeded_bugs::Build;

/// Number of consecutive failures, each for a different source, that quarantine a rule.
const N_SOURCES: usize = 256;
/// Delay of the end of a request after a stop begins. A service that does not wait for it is gone by then.
const HELD_BACK: Duration = Duration::from_millis(250);
const JSON: (&str, &str) = ("Content-Type", "application/json");

fn scored(name: &str, verdict: &str, score: f64) -> (String, String) {
    let script =
        format!("rule {name} {{\n  when amount > 0\n  then {verdict} score {score} reason \"{name}\"\n}}\n");
    (format!("{name}.ws"), script)
}

pub(crate) fn answers(build: &Build) {
    conflicts(build);
    lonely_rule(build);
    edge(build);
    searches(build);
    questions(build);
    scores(build);
}

/// Every field counts when two bodies with one id are compared.
fn conflicts(build: &Build) {
    let service = Service::start(&build.at(Home::new()));
    let fields = json!({"source": "a", "destination": "b", "description": "c", "meta_data": {"n": 1}});
    let first = sample::with(&sample::transaction("t"), &fields);
    let answer = service.inject(&first);
    let others = json!({
        "amount": 11, "currency": "USD", "reference": "other", "source": "other", "destination": "other",
        "description": "other", "meta_data": {"n": 2}, "created_at": "2026-01-01T00:00:00Z", "status": "other",
    });
    for (name, value) in others.as_object().unwrap() {
        let other = service.inject(&sample::with(&first, &json!({ name: value })));
        assert_eq!(other.status, 409, "another `{name}` under the same id");
    }
    assert_eq!(service.inject(&first), answer, "a retry gets the verdict");
}

fn lonely_rule(build: &Build) {
    let service =
        Service::start(&build.at(Home::with_rules(&[("only.ws", sample::rule("only", "amount > 5"))])));
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["only"], "a rule that is alone");
}

/// Two fused rules, and an amount at the bound of the smaller one.
fn edge(build: &Build) {
    let home = Home::with_rules(&[
        ("least.ws", sample::rule("least", "amount >= 10")),
        ("more.ws", sample::rule("more", "amount >= 20")),
    ]);
    let service = Service::start(&build.at(home));
    let transaction = sample::with(&sample::transaction("t"), &json!({ "amount": 10 }));
    assert_eq!(service.inject(&transaction).triggered(), ["least"], "at the edge");
}

/// Search results of one transaction do not affect the next.
fn searches(build: &Build) {
    let home = Home::with_rules(&[
        ("listed.ws", sample::rule("listed", "currency in $stopped")),
        ("shaped.ws", sample::rule("shaped", r#"reference regex "^odd""#)),
        ("unknown.ws", sample::rule("unknown", r#"reference regex "^unknown""#)),
        ("lists/stopped.txt", "USD\n".to_owned()),
    ]);
    let service = Service::start(&build.at(home));
    for n in 0..12 {
        // Evaluators may alternate: each gets odd and even transactions.
        let is_odd = n % 3 == 1;
        let fields = if is_odd { json!({"currency": "USD"}) } else { json!({}) };
        let reference = if is_odd { "odd" } else { "even" };
        let transaction = sample::with(&sample::transaction(&format!("t-{n}")), &fields);
        let answer = service.inject(&sample::with(&transaction, &json!({ "reference": reference })));
        let expected: &[&str] = if is_odd { &["listed", "shaped"] } else { &[] };
        assert_eq!(answer.triggered(), expected, "found in transaction {n}");
    }
}

/// Two aggregates over one key with different results.
fn questions(build: &Build) {
    let of_source = r#"when source == $current.source, "PT1H""#;
    let home = Home::with_rules(&[
        ("often.ws", sample::rule("often", &format!("count({of_source}) >= 3"))),
        ("much.ws", sample::rule("much", &format!("sum(amount {of_source}) > 1000"))),
    ]);
    let service = Service::start(&build.at(home));
    for n in 0..6 {
        let fields = json!({"source": "alice", "amount": 10});
        let answer = service.inject(&sample::with(&sample::transaction(&format!("t-{n}")), &fields));
        let expected: &[&str] = if n >= 3 { &["often"] } else { &[] };
        assert_eq!(answer.triggered(), expected, "asked about transaction {n}");
    }
}

fn scores(build: &Build) {
    let rules = [scored("severe", "block", 0.2), scored("risky", "alert", 0.8)];
    let service = Service::start(&build.at(Home::with_rules(&rules)));
    let judged = service.inject(&sample::transaction("t")).expect(200);
    assert_eq!((&judged["verdict"], &judged["score"]), (&json!("block"), &json!(0.8)), "verdict and score");
}

pub(crate) fn failing_rules(build: &Build) {
    let module = modules::of_text(
        r#"(module (func (export "evaluate") (result i64) (loop $for_ever (br $for_ever)) (i64.const 0)))"#,
    );
    let mut home = build.at(Home::new());
    home.set("SERVICE_QUARANTINE_AFTER", "0s");
    let service = Service::start(&home);
    let uploaded = service.upload("", &modules::with_manifest(&module, &modules::manifest("endless")));
    let path = format!("/instructions/{}", uploaded.expect(201)["id"]);
    let verdict = |id: &str, source: &str| -> Value {
        let transaction = sample::with(&sample::transaction(id), &json!({ "source": source }));
        service.inject(&transaction).expect(200)["verdict"].clone()
    };
    for n in 0..N_SOURCES {
        let verdict = verdict(&format!("t-{n}"), &format!("source-{n}"));
        assert_eq!(verdict, "review", "where a rule fails");
    }
    service.until("the rule is in quarantine", || service.get(&path).at("/status") == "quarantined");
    assert_eq!(verdict("held", "anyone"), "review", "where a rule is in quarantine");
}

pub(crate) fn alerts(build: &Build) {
    let receiver = Receiver::start(Reception::Hanging);
    let mut home = build.at(Home::with_rules(&[("all.ws", BLOCK_ALL)]));
    home.set("ALERT_WEBHOOK_URL", &receiver.url());
    let service = Service::start(&home);
    let blocked = (0..3).map(|n| service.inject(&sample::transaction(&format!("t-{n}"))));
    assert!(blocked.into_iter().all(|answer| answer.at("/verdict") == "block"));
    service.kill();
    let n_deleted = tampering::sql(&home.data(), "DELETE FROM alerts");
    assert_eq!(n_deleted, 3, "every verdict has an alert on the disk");
}

pub(crate) fn stops(build: &Build) {
    let service = Service::start(&build.at(Home::new()));
    let body = sample::transaction("t").to_string();
    let mut bytes = request(service.address(), "POST /inject", &[JSON], body.as_bytes());
    let last = bytes.pop().unwrap();
    let mut wire = Wire::connect(service.address());
    assert!(wire.send(&bytes));
    // Queued after it: once this is answered, the service has accepted the connection.
    service
        .until("it is let in", || tollgate_tests::links::metric(&service, "tollgate_connections_open") > 1);
    assert_eq!(service.get("/healthz").status, 200);
    service.terminate();
    let is_stopping = |line: &str| line.contains("stopping").then_some(());
    service.log().wait_for(Duration::from_secs(15), is_stopping).unwrap();
    assert!(wire.stays_open(HELD_BACK), "what is under way is not waited for");
    let answer = if wire.send(&[last]) { wire.answer() } else { None };
    assert!(answer.is_some_and(|answer| answer.status == 200), "what was under way is not answered");
    assert_eq!(service.wait().0.code(), Some(0));
}
