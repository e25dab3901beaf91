//! Rules from other compilers: uploaded over the API, read from a directory, or pulled from Git. They are stored,
//! listed and hot-swapped like scripts.

mod files;
mod git;
mod refused;

use serde_json::{Value, json};
use tollgate_tests::{Home, Service, modules, sample};

/// Returns the query parameters equivalent to [`modules::manifest`].
fn query(name: &str) -> String {
    let needs = "%7B%22fields%22%3A%5B%22amount%22%5D%7D";
    format!("name={name}&description={name}&verdict=block&score=0.9&reason={name}+matched&needs={needs}")
}

fn path(instruction: &Value) -> String {
    format!("/instructions/{}", instruction["id"])
}

/// Returns the names of all rules in force, sorted.
#[track_caller]
fn in_force(service: &Service) -> Vec<String> {
    let instructions = service.get("/instructions").expect(200);
    // Rules that stand for refused files are none.
    let rules = instructions.as_array().unwrap().iter().filter(|one| one["quarantine"]["cause"] != "refused");
    let mut names: Vec<String> = rules.map(|one| one["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[track_caller]
fn instruction(service: &Service, name: &str) -> Value {
    let instructions = service.get("/instructions").expect(200);
    let found = instructions.as_array().unwrap().iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("there is no `{name}`")).clone()
}

/// Returns the stored module of an instruction.
#[track_caller]
fn module(service: &Service, instruction: &Value) -> Vec<u8> {
    let answer = service.get(&format!("{}/module", path(instruction)));
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/wasm")));
    answer.body
}

#[test]
fn an_upload_judges_the_next_transaction_and_no_more_when_it_is_removed() {
    let service = Service::start(&Home::new());
    let bytes = modules::rule("large", 5);
    let saved = service.upload("", &bytes).expect(201);
    for (name, value) in [
        ("name", json!("large")),
        ("description", json!("large")),
        ("script", Value::Null),
        ("rule", Value::Null),
        ("verdict", json!("block")),
        ("score", json!(0.9)),
        ("reason", json!("large matched")),
        ("source", json!({"kind": "upload"})),
        ("status", json!("active")),
        ("warnings", json!([])),
        ("refused_change", Value::Null),
    ] {
        assert_eq!(saved[name], value, "{name}: {saved}");
    }
    let cost = json!({"instructions": 1_000_000, "host_calls": 256, "history_lookups": 0});
    assert_eq!((&saved["module"]["bytes"], &saved["module"]["cost"]), (&json!(bytes.len()), &cost));
    assert_eq!(service.get(&path(&saved)).expect(200), saved);
    assert_eq!(service.get("/instructions").expect(200), json!([saved]));
    assert_eq!(module(&service, &saved), bytes, "to the byte");

    let judged = service.inject(&sample::transaction("above"));
    assert_eq!((judged.triggered(), judged.at("/verdict")), (vec!["large".to_owned()], json!("block")));
    let small = sample::with(&sample::transaction("below"), &json!({"amount": 5}));
    assert_eq!(service.inject(&small).triggered(), [""; 0]);

    assert_eq!(service.delete(&path(&saved)).status, 204);
    assert_eq!(service.inject(&sample::transaction("after")).triggered(), [""; 0]);
    let answer = service.get(&format!("{}/module", path(&saved)));
    assert_eq!((answer.status, answer.code().as_str()), (404, "instruction_not_found"));
}

#[test]
fn uploads_survive_a_stop_and_a_kill() {
    let home = Home::new();
    let service = Service::start(&home);
    let _ = service.save(&sample::rule("script", "amount > 1")).expect(201);
    let kept = service.upload("", &modules::rule("kept", 1)).expect(201);
    let before = service.get("/instructions").expect(200);
    let version = service.inject(&sample::transaction("t")).at("/rule_set_version");
    assert!(service.stop().0.success());
    for what in ["a stop", "a kill"] {
        let service = Service::start(&home);
        assert_eq!(service.get("/instructions").expect(200), before, "after {what}");
        assert_eq!(module(&service, &kept), modules::rule("kept", 1));
        let judged = service.inject(&sample::transaction(what));
        assert_eq!(judged.triggered(), ["kept", "script"]);
        assert_eq!(judged.at("/rule_set_version"), version, "the same rules are the same version");
        service.kill();
    }
}

#[test]
fn a_module_without_a_manifest_takes_it_from_the_query() {
    let service = Service::start(&Home::new());
    let bare = modules::above(5);
    let saved = service.upload(&query("bare"), &bare).expect(201);
    let with_its_own = service.upload("", &modules::rule("own", 5)).expect(201);
    for name in ["verdict", "score", "source", "status"] {
        assert_eq!(saved[name], with_its_own[name], "{name}");
    }
    assert_eq!((&saved["description"], &saved["reason"]), (&json!("bare"), &json!("bare matched")));
    let kept = module(&service, &saved);
    assert!(kept.starts_with(&bare) && kept.len() > bare.len(), "the manifest is part of it now");
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["bare", "own"]);
    // A stored module can be uploaded again unchanged.
    assert_eq!(service.delete(&path(&saved)).status, 204);
    let again = service.upload("", &kept).expect(201);
    assert_eq!(again["module"], saved["module"]);
}

#[test]
fn the_module_of_a_script_can_be_read_and_uploaded() {
    let service = Service::start(&Home::new());
    let script =
        sample::rule("script", r#"amount > 1 and count(when source == $current.source, "PT1H") >= 0"#);
    let saved = service.save(&script).expect(201);
    let compiled = module(&service, &saved);
    assert_eq!(json!(compiled.len()), saved["module"]["bytes"]);
    let answer = service.get(&format!("{}/module", path(&saved)));
    let tag = format!("\"{}\"", saved["module"]["sha256"].as_str().unwrap());
    assert_eq!(answer.header("etag"), Some(tag.as_str()));
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"script.wasm\""));
    let before = service.inject(&sample::transaction("before")).triggered();
    assert_eq!(service.delete(&path(&saved)).status, 204);
    let upload = service.upload("", &compiled).expect(201);
    assert_eq!(upload["module"]["cost"]["history_lookups"], 1, "whatever the manifest says of its cost");
    assert_eq!(upload["module"]["cost"]["instructions"], 1_000_000);
    assert_eq!(service.inject(&sample::transaction("after")).triggered(), before);
}

#[test]
fn scripts_and_modules_share_their_names() {
    let home = Home::with_rules(&[("file.ws", sample::rule("file", "amount > 1"))]);
    home.write_rule("module.wasm", modules::rule("module", 1));
    let service = Service::start(&home);
    let _ = service.save(&sample::rule("script", "amount > 1")).expect(201);
    let _ = service.upload("", &modules::rule("upload", 1)).expect(201);
    let before = service.get("/instructions").expect(200);
    for name in ["file", "module", "script", "upload"] {
        for answer in [
            service.save(&sample::rule(name, "amount > 1000")),
            service.upload("", &modules::rule(name, 1000)),
            service.upload(&query(name), &modules::above(1000)),
        ] {
            assert_eq!((answer.status, answer.code().as_str()), (409, "name_taken"), "{name}");
        }
    }
    assert_eq!(service.get("/instructions").expect(200), before);
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["file", "module", "script", "upload"]);
}

#[test]
fn an_upload_asks_the_history_as_a_script_does() {
    let service = Service::start(&Home::new());
    for n in 0..3 {
        let transaction = sample::with(&sample::transaction(&format!("t{n}")), &json!({"source": "a"}));
        assert_eq!(service.inject(&transaction).status, 200);
    }
    let counting = modules::of_text(
        r#"(module
          (import "tollgate" "aggregate" (func $aggregate (param i32) (result f64)))
          (func (export "evaluate") (result i64)
            (i64.extend_i32_u (f64.ge (call $aggregate (i32.const 0)) (f64.const 3)))))"#,
    );
    let mut manifest = modules::manifest("counting");
    let filter = json!({ "compare": { "left": { "field": "source" }, "operator": "==", "right": { "current": "source" } } });
    let count = json!({ "function": "count", "value": "amount", "filter": filter, "window": "PT1H" });
    manifest["needs"] = json!({ "aggregates": [count] });
    let saved = service.upload("", &modules::with_manifest(&counting, &manifest)).expect(201);
    assert_eq!(saved["module"]["cost"]["history_lookups"], 1);
    let judge = |id: &str, source: &str| {
        service.inject(&sample::with(&sample::transaction(id), &json!({ "source": source }))).triggered()
    };
    assert_eq!(judge("of a", "a"), ["counting"]);
    assert_eq!(judge("of b", "b"), [""; 0]);
}
