#![cfg(test)]
//! Rules in a Git repository, with a real server and a real remote: what is in force after whatever happens there.

#[path = "git/life.rs"]
mod life;
#[path = "git/sharing.rs"]
mod sharing;
#[path = "git/speed.rs"]
mod speed;
#[path = "git/ssh.rs"]
mod ssh;

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_tests::git::{GitServer, Mood, Upstream};
use tollgate_tests::{Home, Service, sample};

/// Nothing here takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

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
        // Nothing happens by itself unless a test says so.
        home.set("WATCH_SCRIPT_GIT_POLL_INTERVAL", "1h");
        Self { upstream, server, home }
    }

    /// With a rule `a`.
    fn with_a_rule() -> Self {
        Self::new(Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]))
    }
}

/// The names of all rules in force, sorted.
#[track_caller]
fn in_force(service: &Service) -> Vec<String> {
    let instructions = service.get("/instructions").expect(200);
    let names = instructions.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned());
    let mut names: Vec<String> = names.collect();
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

/// Waits for something that sends no word when it happens.
#[track_caller]
fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !happened() {
        assert!(Instant::now() < deadline, "{what}: it does not happen");
        thread::sleep(Duration::from_millis(10));
    }
}
