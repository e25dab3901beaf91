//! The operator decides what a rule may use, depending on the source of the rule, and what the API may change.

mod changes;

use serde_json::{Value, json};
use tollgate_tests::{Home, Service, modules, sample};

const POLICY: &str = r#"{ "grants": [
    { "source": "api" },
    { "source": "upload", "fields": ["amount"], "severest_verdict": "review", "fuel": 200, "memory_pages": 1 },
    { "source": "file", "path": "trusted/" },
    { "source": "file", "lists": [], "history": ["count"], "longest_window": "PT1H" }
] }"#;

fn home(policy: &str) -> Home {
    let mut home = Home::new();
    set_policy(&mut home, policy);
    home
}

fn set_policy(home: &mut Home, policy: &str) {
    let path = home.at("policy.json");
    std::fs::write(&path, policy).unwrap();
    home.set("SERVICE_RULE_POLICY", path.to_str().unwrap());
}

/// Returns a module with this verdict that reads this field.
fn module(name: &str, verdict: &str, field: &str, body: &str) -> Vec<u8> {
    let text = format!(
        r#"(module (import "tollgate" "number" (func $number (param i32) (result f64)))
          (func (export "evaluate") (result i64) {body}))"#
    );
    let mut manifest = modules::manifest(name);
    manifest["rules"][0]["verdict"] = json!(verdict);
    manifest["needs"]["fields"] = json!([field]);
    modules::with_manifest(&modules::of_text(&text), &manifest)
}

const MATCHES: &str = "(i64.const 1)";

#[test]
fn a_refusal_names_the_missing_grants_and_saves_no_module() {
    let service = Service::start(&home(POLICY));
    let refused = service.upload("", &module("nosy", "block", "source", MATCHES));
    assert_eq!((refused.status, refused.code().as_str()), (403, "policy_denied"), "{}", refused.text());
    let missing = json!(["the field `source`", "the verdict `block` (`review` at most)"]);
    assert_eq!(refused.at("/missing"), missing);
    assert_eq!(service.get("/instructions").expect(200), json!([]));

    let memory = modules::of_text(
        r#"(module (memory (export "memory") 2) (func (export "evaluate") (result i64) (i64.const 0)))"#,
    );
    let mut manifest = modules::manifest("large");
    manifest["rules"][0]["verdict"] = json!("review");
    let large = service.upload("", &modules::with_manifest(&memory, &manifest));
    assert_eq!((large.status, large.code().as_str()), (400, "module_refused"), "{}", large.text());

    let saved = service.upload("", &module("modest", "review", "amount", MATCHES)).expect(201);
    assert_eq!(saved["module"]["cost"]["instructions"], json!(200));
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["modest"]);
    // A permission of one source does not apply to another.
    let _ = service.save(&sample::rule("any", "source == \"x\"")).expect(201);
}

#[test]
fn a_granted_budget_is_what_a_rule_has() {
    let service = Service::start(&home(POLICY));
    let busy = format!("{} {MATCHES}", "(drop (call $number (i32.const 0)))".repeat(10));
    let _ = service.upload("", &module("busy", "review", "amount", &busy)).expect(201);
    let judged = service.inject(&sample::transaction("t")).expect(200);
    assert_eq!(judged["failures"][0]["failure"], json!("fuel"), "{judged}");
}

#[test]
fn files_are_granted_by_their_path() {
    let home = home(POLICY);
    let asking = |name: &str| sample::rule(name, "sum(when source == $current.source, \"P1D\") > 10");
    home.write_rule("trusted/a.ws", asking("a"));
    home.write_rule("others/b.ws", asking("b"));
    home.write_rule("others/c.ws", sample::rule("c", "count(when source == $current.source, \"PT1H\") > 10"));
    let service = Service::start(&home);
    let instructions = service.get("/instructions").expect(200);
    let names: Vec<&Value> = instructions.as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["c", "a", "file:others/b.ws"], "in the order of their paths, refused files last");
    let lines = service.log().lines().join("\n");
    assert!(lines.contains("the rule policy does not grant the history function `sum`"), "{lines}");
}

#[test]
fn a_rule_that_is_not_granted_any_more_holds_everything_until_it_is() {
    let mut home = home(r#"{ "grants": [{ "source": "upload" }] }"#);
    let service = Service::start(&home);
    let id =
        service.upload("", &module("nosy", "block", "source", "(i64.const 0)")).expect(201)["id"].clone();
    let path = format!("/instructions/{id}");
    assert_eq!(service.inject(&sample::transaction("before")).at("/verdict"), json!("approve"));
    assert!(service.stop().0.success());

    set_policy(&mut home, POLICY);
    let service = Service::start(&home);
    let shown = service.get(&path).expect(200);
    assert_eq!((&shown["status"], &shown["quarantine"]["cause"]), (&json!("quarantined"), &json!("policy")));
    let judged = service.inject(&sample::transaction("held")).expect(200);
    assert_eq!(
        (&judged["verdict"], &judged["failures"][0]["failure"]),
        (&json!("review"), &json!("quarantined"))
    );
    let refused = service.post(&format!("{path}/release"), &json!({}));
    assert_eq!((refused.status, refused.code().as_str()), (403, "policy_denied"));
    assert!(service.stop().0.success());

    set_policy(&mut home, r#"{ "grants": [{ "source": "upload" }] }"#);
    let service = Service::start(&home);
    assert_eq!(service.get(&path).expect(200)["status"], json!("active"));
    assert_eq!(service.inject(&sample::transaction("after")).at("/verdict"), json!("approve"));
}

#[test]
fn a_module_with_more_memory_than_it_is_granted_now_is_held_in_quarantine() {
    let mut home = Home::new();
    let service = Service::start(&home);
    let memory = modules::of_text(
        r#"(module (memory (export "memory") 2) (func (export "evaluate") (result i64) (i64.const 0)))"#,
    );
    let mut manifest = modules::manifest("large");
    manifest["rules"][0]["verdict"] = json!("review");
    let id = service.upload("", &modules::with_manifest(&memory, &manifest)).expect(201)["id"].clone();
    assert!(service.stop().0.success());
    set_policy(&mut home, POLICY);
    let service = Service::start(&home);
    let shown = service.get(&format!("/instructions/{id}")).expect(200);
    assert_eq!((&shown["status"], &shown["quarantine"]["cause"]), (&json!("quarantined"), &json!("policy")));
    assert_eq!(service.inject(&sample::transaction("held")).at("/verdict"), json!("review"));
    assert_eq!(service.post(&format!("/instructions/{id}/release"), &json!({})).code(), "policy_denied");
}

#[test]
fn a_policy_that_cannot_be_used_stops_the_start() {
    let mut home = Home::new();
    for (policy, expected) in [
        (r#"{ "grants": [{ "source": "api", "feilds": [] }] }"#, "unknown field `feilds`"),
        ("none", "is not valid"),
    ] {
        set_policy(&mut home, policy);
        let refusal = Service::try_start(&home).unwrap_err();
        assert!(refusal.code.is_some_and(|code| code != 0));
        assert!(refusal.log.join("\n").contains(expected), "{:?}", refusal.log);
    }
    home.set("SERVICE_RULE_POLICY", "/nowhere/policy.json");
    assert!(Service::try_start(&home).unwrap_err().log.join("\n").contains("SERVICE_RULE_POLICY"));
}
