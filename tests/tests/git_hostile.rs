//! Malicious repositories, remotes and addresses: each is rejected without side effects.

mod addresses;
mod authorities;
mod bombs;
mod remotes;
mod trees;
mod worker;

use serde_json::{Value, json};
use tollgate_tests::git::{GitServer, Mood, Upstream};
use tollgate_tests::{Answer, Home, Service, sample};

/// Creates a home whose API may clone over plain HTTP from this machine.
fn open_home() -> Home {
    let mut home = Home::new();
    home.set("SERVICE_GIT_ALLOW_SCHEMES", "http");
    home.set("SERVICE_GIT_ALLOW_PRIVATE", "true");
    home.set("WATCH_SCRIPT_GIT_POLL_INTERVAL", "1h");
    home
}

#[track_caller]
fn clone(service: &Service, url: &str) -> Answer {
    service.post("/git/clone", &json!({ "url": url }))
}

#[track_caller]
fn names(service: &Service) -> Vec<String> {
    let instructions = service.get("/instructions").expect(200);
    // Rules that stand for refused files are none.
    let rules = instructions.as_array().unwrap().iter().filter(|one| one["quarantine"]["cause"] != "refused");
    rules.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn failed_paths(service: &Service) -> Vec<Value> {
    let status = service.get("/git/status").expect(200);
    status["failed"].as_array().unwrap().iter().map(|failed| failed["path"].clone()).collect()
}
