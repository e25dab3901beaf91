//! The rules of an author who is not trusted share the fuel of a transaction. Those that do not fit fail as `budget`, the
//! same before and after a restart. Those that take it for long are quarantined together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use tollgate_tests::poll::PATIENCE;
use tollgate_tests::{Answer, Home, Service, SetOnDrop, audit, modules, sample};

/// Turns of the loop of a costly module. Each takes some 4 units of fuel, of which the owner has 1,000,000.
const N_TURNS: u32 = 200_000;
const N_COSTLY: usize = 12;
const N_CLIENTS: usize = 8;
/// Accounts of the transactions on which the rules cost too much.
const N_SOURCES: usize = 64;

fn home() -> Home {
    let mut home = Home::new();
    let policy = home.at("policy.json");
    std::fs::write(&policy, r#"{ "grants": [{ "source": "upload", "profile": "untrusted" }] }"#).unwrap();
    home.set("SERVICE_RULE_POLICY", policy.to_str().unwrap());
    home
}

/// Returns a module that counts down from this number, and does not match.
fn counting(name: &str, n_turns: u32) -> Vec<u8> {
    let module = modules::of_text(&format!(
        r#"(module (func (export "evaluate") (result i64) (local $n i32)
          (local.set $n (i32.const {n_turns}))
          (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
          (i64.const 0)))"#
    ));
    modules::with_manifest(&module, &modules::manifest(name))
}

/// Uploads costly modules, and then a cheap one. Returns their ids.
fn upload(service: &Service, n_costly: usize) -> (Vec<Value>, Value) {
    let costly = (0..n_costly).map(|n| counting(&format!("costly_{n}"), N_TURNS));
    let id = |module: Vec<u8>| service.upload("", &module).expect(201)["id"].clone();
    (costly.map(id).collect(), id(counting("cheap", 10)))
}

fn judged(answer: &Answer) -> (Value, Value) {
    (answer.at("/verdict"), answer.at("/failures"))
}

#[test]
fn rules_without_fuel_fail_alike_before_and_after_a_restart_and_in_a_replay() {
    let home = home();
    let service = Service::start(&home);
    upload(&service, 3);
    let before = service.inject(&sample::transaction("before"));
    let (verdict, failures) = judged(&before);
    assert_eq!(verdict, "review");
    let failed = failures.as_array().unwrap().iter().map(|one| (&one["name"], &one["failure"]));
    let expected = ["cheap", "costly_1", "costly_2"].map(|name| (json!(name), json!("budget")));
    assert!(failed.eq(expected.iter().map(|(name, word)| (name, word))), "{failures}");
    assert_eq!(service.stop().0.code(), Some(0));

    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("before")).json(), before.json(), "a retry");
    assert_eq!(judged(&service.inject(&sample::transaction("after"))), judged(&before));
    service.kill();
    let service = Service::start(&home);
    assert_eq!(judged(&service.inject(&sample::transaction("at last"))), judged(&before));
    assert_eq!(service.stop().0.code(), Some(0));
    audit::replay(&home).all_follow();
}

#[test]
fn rules_that_would_replace_costly_ones_are_quarantined_with_them() {
    let mut home = home();
    home.set("SERVICE_QUARANTINE_AFTER", "0s");
    let service = Service::start(&home);
    let (costly, cheap) = upload(&service, N_COSTLY);
    let shown = |id: &Value| service.get(&format!("/instructions/{id}")).expect(200);
    let version =
        |id: &str| service.inject(&sample::transaction(id)).at("/rule_set_version").as_u64().unwrap();
    let before = version("first");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for at in 0..N_CLIENTS {
            let (client, is_over) = (service.client(), &is_over);
            scope.spawn(move || {
                let (mut n, end) = (0, Instant::now() + PATIENCE);
                while !is_over.load(Ordering::Relaxed) && Instant::now() < end {
                    let source = json!({"source": format!("acc-{}", (n * N_CLIENTS + at) % N_SOURCES)});
                    let transaction = sample::with(&sample::transaction(&format!("{at}-{n}")), &source);
                    assert_eq!(client.inject(&transaction).status, 200);
                    n += 1;
                }
            });
        }
        let _ending = SetOnDrop(&is_over);
        let all_stopped = || costly.iter().all(|id| shown(id)["status"] == "quarantined");
        service.until("all costly rules are in quarantine", all_stopped);
    });
    assert!(costly.iter().all(|id| shown(id)["quarantine"]["cause"] == "sustained_cost"));
    assert_eq!(shown(&cheap)["status"], "active", "a cheap rule is never blamed");
    let n_versions = version("last") - before;
    assert!(n_versions <= 3, "one after the other: {n_versions} versions for {N_COSTLY} rules");
    assert_eq!(service.stop().0.code(), Some(0));
    audit::replay(&home).all_follow();
}
