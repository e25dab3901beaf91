//! New sources: a rules directory or repository of which nothing was ever in force.

use std::fs;

use serde_json::{Value, json};
use tollgate_tests::{Home, Service, audit, sample};

/// Files that look like rules and are none, each with its reason.
fn refused_files() -> [(&'static str, Vec<u8>); 5] {
    let utf16: Vec<u8> = sample::rule("a", "amount > 1").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    [
        ("utf16.ws", utf16),
        ("other.ws", b"when Transaction(amount > 1) then block(); end\n".to_vec()),
        ("empty.ws", Vec::new()),
        ("pointer.ws", pointer.into()),
        ("pointer.wasm", pointer.into()),
    ]
}

fn readiness(service: &Service) -> (u16, String) {
    let answer = service.get("/readyz");
    (answer.status, answer.at("/checks/rules").as_str().unwrap().to_owned())
}

#[track_caller]
fn verdict(service: &Service, id: &str) -> Value {
    service.inject_admitted(&sample::transaction(id)).expect(200)["verdict"].clone()
}

/// Returns the sources that are quarantined because their file is refused.
fn placeholders(service: &Service) -> Vec<String> {
    let instructions = service.get("/instructions").expect(200);
    let refused =
        instructions.as_array().unwrap().iter().filter(|one| one["quarantine"]["cause"] == "refused");
    refused.map(|one| one["source"]["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_new_directory_all_of_whose_files_are_refused_is_not_ready() {
    for (path, content) in refused_files() {
        let home = Home::new();
        home.write_rule(path, &content);
        let service = Service::listen(&home);
        let (status, rules) = readiness(&service);
        assert_eq!(status, 503, "{path}: {rules}");
        assert!(rules.starts_with("failing: no file of the rules directory was ever in force"), "{rules}");
        assert!(rules.contains(path), "{rules}");
        assert_eq!((verdict(&service, "t"), placeholders(&service)), (json!("review"), Vec::new()), "{path}");
    }
}

#[test]
fn a_new_directory_stays_new_over_a_restart_until_something_of_it_is_in_force() {
    let home = Home::new();
    home.write_rule("a.ws", "");
    home.write_rule("lists/l.txt", "<!DOCTYPE html><html></html>\n");
    Service::listen(&home).kill();
    let service = Service::listen(&home);
    assert_eq!((readiness(&service).0, verdict(&service, "t1")), (503, json!("review")));
    home.write_rule("a.ws", sample::rule("a", "amount > 1000"));
    service.until("the rule is in force", || readiness(&service).0 == 200);
    let (_, n_sent) = service.inject_until_approved("t2");
    // It is no longer new.
    home.write_rule("a.ws", "");
    home.write_rule("b.ws", "");
    service.until("the files are refused", || readiness(&service).1.starts_with("degraded: 3 rule files"));
    assert_eq!((verdict(&service, "t3"), placeholders(&service)), (json!("approve"), Vec::new()));
    assert_eq!(audit::replay(&home).all_follow(), 2 + n_sent as u64);
}

fn partly_good() -> Home {
    let home = Home::with_rules(&[("good.ws", sample::rule("good", "amount > 1000"))]);
    home.write_rule("sub/bad.ws", "rule bad {");
    home
}

#[test]
fn a_rule_that_fails_stands_for_each_refused_file_of_a_partly_good_new_directory() {
    let home = partly_good();
    let service = Service::start(&home);
    let judged = service.inject(&sample::transaction("t1")).expect(200);
    let failures = json!([{"instruction_id": 2, "name": "file:sub/bad.ws", "failure": "quarantined"}]);
    assert_eq!((&judged["verdict"], &judged["failures"]), (&json!("review"), &failures), "{judged}");
    assert!(
        readiness(&service).1.starts_with("degraded: 1 rule files or lists"),
        "{:?}",
        readiness(&service)
    );
    service.kill();
    let service = Service::start(&home);
    assert_eq!(
        (verdict(&service, "t2"), placeholders(&service)),
        (json!("review"), vec!["sub/bad.ws".to_owned()])
    );
    home.write_rule("sub/bad.ws", sample::rule("bad", "amount > 1000"));
    service.until("the file is corrected", || placeholders(&service).is_empty());
    assert_eq!(verdict(&service, "t3"), "approve");
    service.kill();
    // A file that is removed is not refused either.
    fs::remove_dir_all(home.data()).unwrap();
    fs::create_dir(home.data()).unwrap();
    home.write_rule("sub/bad.ws", "rule bad {");
    let service = Service::start(&home);
    assert_eq!(verdict(&service, "t4"), "review");
    fs::remove_file(home.rules().join("sub/bad.ws")).unwrap();
    service.until("the file is gone", || placeholders(&service).is_empty());
    assert_eq!(verdict(&service, "t5"), "approve");
    assert_eq!(audit::replay(&home).all_follow(), 2);
}

#[test]
fn a_partly_good_new_directory_is_not_ready_or_in_force_in_part_where_the_operator_wants_that() {
    let mut home = partly_good();
    home.set("SERVICE_SOURCES_STRICT", "true");
    let service = Service::listen(&home);
    let (status, rules) = readiness(&service);
    assert!(status == 503 && rules.contains("SERVICE_SOURCES_STRICT"), "{rules}");
    service.kill();
    let service = Service::listen(&home);
    assert_eq!((readiness(&service).0, verdict(&service, "t")), (503, json!("review")));
    service.kill();
    home.set("SERVICE_SOURCES_STRICT", "false");
    home.set("SERVICE_SOURCES_PARTIAL", "true");
    let service = Service::start(&home);
    assert_eq!((verdict(&service, "partial"), placeholders(&service)), (json!("approve"), Vec::new()));
    assert!(readiness(&service).1.starts_with("degraded: 1 rule files"), "{:?}", readiness(&service));
}

#[test]
fn a_source_without_files_is_ready() {
    let home = Home::new();
    fs::create_dir(home.rules().join("..2026_01_01")).unwrap();
    std::os::unix::fs::symlink("..2026_01_01", home.rules().join("..data")).unwrap();
    let service = Service::start(&home);
    assert_eq!((verdict(&service, "t"), readiness(&service).1), (json!("approve"), "ok".to_owned()));
    service.kill();
    // The binary in an empty folder, with the default directory.
    let mut home = Home::new();
    home.set("WATCH_SCRIPT_DIR", "");
    let service = Service::start(&home);
    assert_eq!((verdict(&service, "t"), readiness(&service).1), (json!("approve"), "ok".to_owned()));
}
