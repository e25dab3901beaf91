//! An instruction gets other content over the API, and keeps its id. Every transaction is judged by the earlier content
//! or by the new one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};
use tollgate_tests::programs::sqlite;
use tollgate_tests::{Answer, Home, Service, SetOnDrop, modules, needs, sample};

const MATCHES: &str = r#"(module (func (export "evaluate") (result i64) (i64.const 1)))"#;
const MATCHES_NOT: &str = r#"(module (func (export "evaluate") (result i64) (i64.const 0)))"#;

fn module(name: &str, text: &str) -> Vec<u8> {
    modules::with_manifest(&modules::of_text(text), &modules::manifest(name))
}

fn replace(service: &Service, id: &Value, script: &str) -> Answer {
    let body = json!({ "script": script }).to_string();
    service.put(&format!("/instructions/{id}"), "application/json", body.as_bytes())
}

fn check_refused(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, answer.code().as_str()), (status, code), "{}", answer.text());
}

#[test]
fn a_script_is_replaced_under_its_id() {
    let home = Home::new();
    let service = Service::start(&home);
    let saved = service.save(&sample::rule("first", "amount > 1")).expect(201);
    assert_eq!(service.save(&sample::rule("other", "amount > 1")).status, 201);
    let asking =
        sample::rule("second", r#"amount > 1 and count(when source == $current.source, "PT1H") >= 0"#);
    let replaced = replace(&service, &saved["id"], &asking).expect(200);
    for kept in ["id", "created_at", "source"] {
        assert_eq!(replaced[kept], saved[kept], "{kept}");
    }
    assert_eq!((&replaced["name"], &replaced["status"]), (&json!("second"), &json!("active")));
    assert_ne!(replaced["updated_at"], saved["updated_at"]);
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["other", "second"]);
    // The earlier name is free.
    assert_eq!(service.save(&sample::rule("first", "amount > 1")).status, 201);
    let before = service.get("/instructions").expect(200);
    service.kill();
    let service = Service::start(&home);
    assert_eq!(service.get("/instructions").expect(200), before);
}

#[test]
fn a_replaced_script_is_kept_in_the_store_and_in_backups() {
    needs!(Sqlite);
    let home = Home::new();
    let service = Service::start(&home);
    let [first, second] = ["amount > 1", "amount > 2"].map(|when| sample::rule("kept", when));
    let commented = format!("// As the committee wishes.\n{second}");
    let scripts = [first.as_str(), &second, &commented];
    let saved = service.save(scripts[0]).expect(201);
    for script in &scripts[1..] {
        drop(replace(&service, &saved["id"], script).expect(200));
    }
    assert_eq!(service.delete(&format!("/instructions/{}", saved["id"])).status, 204);
    let backup = home.at("backup.db");
    assert!(home.command(&["backup", backup.to_str().unwrap()]).status().unwrap().success());
    assert_eq!(service.stop().0.code(), Some(0));
    // Each script in the order of its versions, a change of comments included.
    let question = "SELECT text || '|' FROM rule_set_members JOIN scripts ON digest = script_digest \
                    WHERE until_version IS NOT NULL ORDER BY since_version";
    for database in [home.data().join("tollgate.db"), backup] {
        let said = sqlite(&database).arg(question).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        let kept: Vec<&str> = said.trim_end().trim_end_matches('|').split("|\n").collect();
        assert_eq!(kept, scripts, "{}", database.display());
    }
}

#[test]
fn a_module_is_replaced_under_its_id() {
    let service = Service::start(&Home::new());
    let saved = service.upload("", &module("m", MATCHES)).expect(201);
    let path = format!("/instructions/{}/module", saved["id"]);
    assert_eq!(service.inject(&sample::transaction("before")).triggered(), ["m"]);
    let replaced = service.put(&path, "application/wasm", &module("m", MATCHES_NOT)).expect(200);
    assert_eq!((&replaced["id"], &replaced["created_at"]), (&saved["id"], &saved["created_at"]));
    assert!(service.inject(&sample::transaction("after")).triggered().is_empty());
    // A module does not become a script, nor the other way round.
    check_refused(
        &replace(&service, &saved["id"], &sample::rule("m", "amount > 1")),
        409,
        "instruction_taken",
    );
    let script = service.save(&sample::rule("s", "amount > 1")).expect(201);
    let path = format!("/instructions/{}/module", script["id"]);
    check_refused(&service.put(&path, "application/wasm", &module("s", MATCHES)), 409, "instruction_taken");
}

#[test]
fn a_refused_replacement_leaves_the_rule_unchanged() {
    let home = Home::with_rules(&[("a.ws", sample::rule("of_file", "amount > 1"))]);
    let service = Service::start(&home);
    let saved = service.save(&sample::rule("saved", "amount > 1")).expect(201);
    let before = service.get("/instructions").expect(200);
    check_refused(
        &replace(&service, &json!(1), &sample::rule("of_file", "amount > 2")),
        409,
        "instruction_taken",
    );
    check_refused(
        &replace(&service, &json!(77), &sample::rule("b", "amount > 2")),
        404,
        "instruction_not_found",
    );
    check_refused(
        &replace(&service, &saved["id"], &sample::rule("of_file", "amount > 2")),
        409,
        "name_taken",
    );
    check_refused(&replace(&service, &saved["id"], "rule x { when"), 400, "compile_error");
    assert_eq!(service.get("/instructions").expect(200), before);
}

#[test]
fn no_transaction_is_judged_by_neither_content() {
    let home = Home::new();
    let service = Service::start(&home);
    let script = |n: usize| sample::rule("always", &format!("amount > {}", n % 3));
    let id = service.save(&script(0)).expect(201)["id"].clone();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for at in 0..4 {
            let (client, is_over) = (service.client(), &is_over);
            scope.spawn(move || {
                for n in 0.. {
                    let judged = client.inject(&sample::transaction(&format!("t-{at}-{n}")));
                    assert_eq!(judged.triggered(), ["always"]);
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        let _ending = SetOnDrop(&is_over);
        for n in 1..30 {
            assert_eq!(replace(&service, &id, &script(n)).expect(200)["id"], id);
        }
    });
    service.stop();
    tollgate_tests::audit::replay(&home).all_follow();
}
