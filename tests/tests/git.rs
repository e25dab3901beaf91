//! Rules in a Git repository, with a real server and a real remote: the rules in force after every event there.

mod again;
mod bounds;
mod failures;
mod life;
mod lists;
mod renamed;
mod rewritten;
mod sharing;
mod sources;
mod speed;
mod ssh;
mod table;
mod work_tree;

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_tests::git::{GitServer, Mood, Upstream};
use tollgate_tests::poll::PATIENCE;
use tollgate_tests::{Home, Service, log, poll, process, sample};

/// A repository, a server for it, and a home whose service follows it.
struct Stage {
    upstream: Upstream,
    server: GitServer,
    home: Home,
}

impl Stage {
    fn new(upstream: Upstream) -> Self {
        let server = GitServer::start(upstream.root(), Mood::Fine);
        let mut home = Home::new();
        home.set("WATCH_SCRIPT_GIT_REPO", &server.url());
        home.set("WATCH_SCRIPT_GIT_BRANCH", "main");
        // No polling unless a test enables it.
        home.set("WATCH_SCRIPT_GIT_POLL_INTERVAL", "1h");
        Self { upstream, server, home }
    }

    /// Creates a stage with a rule `a`.
    fn with_a_rule() -> Self {
        Self::new(Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]))
    }
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
fn status(service: &Service) -> Value {
    service.get("/git/status").expect(200)
}

#[track_caller]
fn sync(service: &Service) -> Value {
    service.post("/git/sync", &json!({})).expect(200)
}

/// Creates a home that may clone from loopback over the API and configures no repository.
fn open_home() -> Home {
    let mut home = Home::new();
    home.set("SERVICE_GIT_ALLOW_SCHEMES", "http,file");
    home.set("SERVICE_GIT_ALLOW_PRIVATE", "true");
    home.set("WATCH_SCRIPT_GIT_POLL_INTERVAL", "1h");
    home.set("SERVICE_GIT_AUTHOR", "Risk Desk <risk@bank.example>");
    home
}

fn local_path(service: &Service) -> PathBuf {
    PathBuf::from(status(service)["local_path"].as_str().unwrap())
}

/// Runs `git` in a work tree as a user would.
#[track_caller]
fn by_hand(work_tree: PathBuf, arguments: &[&str]) -> String {
    let output = tollgate_tests::git::upstream::command(work_tree, arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns the id of a rule in force.
#[track_caller]
fn id_of(service: &Service, name: &str) -> Value {
    let instructions = service.get("/instructions").expect(200);
    let found = instructions.as_array().unwrap().iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("there is no `{name}`"))["id"].clone()
}

/// Removes a rule over the API.
#[track_caller]
fn remove(service: &Service, name: &str) {
    let id = id_of(service, name);
    assert_eq!(service.delete(&format!("/instructions/{id}")).status, 204);
}

/// Polls until something happens.
#[track_caller]
fn wait_until(what: &str, happened: impl FnMut() -> bool) {
    poll::until(what, PATIENCE, happened);
}
