//! `*.wasm` beside scripts in the rules directory.

use std::fs::{self, File};
use std::io::Write as _;

use super::*;

#[test]
fn modules_are_found_in_every_folder_and_know_where_they_come_from() {
    let home = Home::with_rules(&[("script.ws", sample::rule("script", "amount > 1"))]);
    home.write_rule("cards/deep/module.wasm", modules::rule("module", 1));
    home.write_rule(".hidden.wasm", modules::rule("hidden", 1));
    home.write_rule("old.wasm.bak", modules::rule("old", 1));
    let service = Service::start(&home);
    assert_eq!(in_force(&service), ["module", "script"]);
    let found = instruction(&service, "module");
    assert_eq!(found["source"], json!({"kind": "file", "path": "cards/deep/module.wasm"}));
    assert_eq!((&found["script"], module(&service, &found)), (&Value::Null, modules::rule("module", 1)));
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["module", "script"]);
}

#[test]
fn a_saved_changed_renamed_or_removed_module_takes_effect_without_a_restart() {
    let home = Home::new();
    let service = Service::start(&home);
    let rules = home.rules();
    home.write_rule("a.wasm", modules::rule("a", 1000));
    service.until("a module is saved", || in_force(&service) == ["a"]);
    assert_eq!(service.inject(&sample::transaction("t1")).triggered(), [""; 0]);
    let id = instruction(&service, "a")["id"].clone();
    home.write_rule("a.wasm", modules::rule("a", 1));
    let changed = modules::rule("a", 1);
    service.until("it is changed in place", || module(&service, &instruction(&service, "a")) == changed);
    assert_eq!(service.inject(&sample::transaction("t2")).triggered(), ["a"]);
    fs::rename(rules.join("a.wasm"), rules.join("b.wasm")).unwrap();
    service.until("it is renamed", || instruction(&service, "a")["source"]["path"] == "b.wasm");
    assert_eq!(instruction(&service, "a")["id"], id, "and keeps its id");
    // From a module to a script of the same name, and back.
    fs::remove_file(rules.join("b.wasm")).unwrap();
    service.until("it is removed", || in_force(&service).is_empty());
    home.write_rule("a.ws", sample::rule("a", "amount > 1"));
    service.until("a script has its name", || in_force(&service) == ["a"]);
    assert!(instruction(&service, "a")["script"].is_string());
}

#[test]
fn a_module_that_is_refused_keeps_its_last_good_version_over_a_restart() {
    let home = Home::with_rules(&[("script.ws", sample::rule("script", "amount > 1"))]);
    home.write_rule("a.wasm", modules::rule("a", 1));
    let service = Service::start(&home);
    home.write_rule("a.wasm", modules::above(1000));
    service.until("the refusal is shown", || !instruction(&service, "a")["refused_change"].is_null());
    let check = |service: &Service, id: &str| {
        let refused = instruction(service, "a")["refused_change"].clone();
        assert_eq!((&refused["path"], &refused["line"]), (&json!("a.wasm"), &Value::Null));
        assert!(refused["message"].as_str().unwrap().contains("manifest"), "{refused}");
        assert_eq!(service.inject(&sample::transaction(id)).triggered(), ["a", "script"]);
    };
    check(&service, "t1");
    service.kill();
    let service = Service::start(&home);
    check(&service, "t2");
    home.write_rule("script.ws", sample::rule("script", "amount > 1000"));
    home.write_rule("b.wasm", modules::rule("b", 1));
    service.until("the others take effect", || service.inject(&fresh()).triggered() == ["a", "b"]);
    let (_, lines) = service.stop();
    assert!(lines.iter().any(|line| line.contains("a rule file is refused") && line.contains("a.wasm")));
}

/// Returns a new transaction.
fn fresh() -> Value {
    json!({"amount": 10, "currency": "EUR", "reference": "r"})
}

#[test]
fn a_module_is_taken_when_it_is_whole_and_of_its_size() {
    let home = Home::new();
    let service = Service::start(&home);
    let bytes = modules::rule("half", 1);
    let (head, tail) = bytes.split_at(bytes.len() / 2);
    let mut half = File::create(home.rules().join("half.wasm")).unwrap();
    half.write_all(head).unwrap();
    home.write_rule("whole.wasm", modules::rule("whole", 1));
    service.until("another is in force", || in_force(&service) == ["whole"]);
    half.write_all(tail).unwrap();
    drop(half);
    service.until("the whole file is in force", || in_force(&service) == ["half", "whole"]);
    home.write_rule("wide.wasm", modules::with_section(&modules::rule("wide", 1), "padding", &[0; 70_000]));
    service.until("the large file is refused", || {
        service.get("/metrics").text().contains("tollgate_rule_files_refused 1")
    });
    assert_eq!(in_force(&service), ["half", "whole"]);
    let (_, lines) = service.stop();
    assert!(!lines.iter().any(|line| line.contains("half.wasm") && line.contains("\"ERROR\"")), "{lines:?}");
}

#[test]
fn a_module_that_was_removed_over_the_api_stays_away_until_its_file_changes() {
    let home = Home::new();
    home.write_rule("a.wasm", modules::rule("a", 1));
    let service = Service::start(&home);
    assert_eq!(service.delete(&path(&instruction(&service, "a"))).status, 204);
    home.write_rule("b.wasm", modules::rule("b", 1));
    service.until("another is in force", || in_force(&service) == ["b"]);
    home.write_rule("a.wasm", modules::rule("a", 2));
    service.until("it is back", || in_force(&service) == ["a", "b"]);
}
