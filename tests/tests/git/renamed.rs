//! Without a configured branch, the service follows the repository's default branch. These tests change the default.

use std::fs;

use tollgate_tests::git::upstream::Step;
use tollgate_tests::links::link_status;
use tollgate_tests::needs;

use super::*;

/// Creates a stage that follows the default branch `main`.
fn unnamed() -> Stage {
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let server = GitServer::start(upstream.root(), Mood::Fine);
    let mut home = Home::new();
    home.set("WATCH_SCRIPT_GIT_REPO", &server.url());
    home.set("WATCH_SCRIPT_GIT_POLL_INTERVAL", "1h");
    Stage { upstream, server, home }
}

fn add(upstream: &Upstream, branch: &str, name: &str) -> String {
    let (path, rule) = (format!("{name}.ws"), sample::rule(name, "amount > 1"));
    let path: &'static str = path.leak();
    upstream.steps(branch, &[(path, Step::Put("100644", rule.into_bytes()))])
}

fn choose(upstream: &Upstream, branch: &str) {
    upstream.git(&["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")]);
}

/// Checks that the sync is refused, the rules stay, and the service stays ready and reports both names.
#[track_caller]
fn check_refused(service: &Service, last_success: &str) {
    let refused = service.post("/git/sync", &json!({}));
    assert_eq!((refused.status, refused.code().as_str()), (409, "git_branch_moved"), "{}", refused.text());
    assert_eq!(in_force(service), ["a"]);
    assert_eq!(service.get("/readyz").status, 200);
    let check = link_status(service, "git");
    let parts = ["degraded: ", "`trunk`", "`main`", "branch main", ", since ", last_success];
    let missing: Vec<_> = parts.into_iter().filter(|part| !check.contains(part)).collect();
    assert!(missing.is_empty(), "{missing:?} in {check}");
    assert_eq!(status(service)["branch"], "main");
}

#[track_caller]
fn check_followed(service: &Service, branch: &str, rules: &[&str]) {
    assert_eq!(in_force(service), rules);
    assert_eq!(status(service)["branch"], branch);
    let check = link_status(service, "git");
    assert!(check.starts_with(&format!("ok: branch {branch}, commit ")), "{check}");
}

#[test]
fn a_renamed_branch_is_followed_also_by_pushes_and_over_a_restart() {
    needs!(Git);
    let stage = unnamed();
    let service = Service::start(&stage.home);
    check_followed(&service, "main", &["a"]);
    stage.upstream.git(&["branch", "-m", "main", "trunk"]);
    add(&stage.upstream, "trunk", "b");
    sync(&service);
    check_followed(&service, "trunk", &["a", "b"]);
    let _ = service.save(&sample::rule("mine", "amount > 1")).expect(201);
    let pushed = service.post("/git/push", &json!({"message": "Mine"})).expect(200);
    assert_eq!((&pushed["branch"], &pushed["files"]), (&json!("trunk"), &json!(["mine.ws"])));
    service.kill();
    let service = Service::start(&stage.home);
    check_followed(&service, "trunk", &["a", "b", "mine"]);
    let status = status(&service);
    assert_eq!(
        (&status["ahead"], &status["behind"], &status["untracked"]),
        (&json!(0), &json!(0), &json!([]))
    );
}

#[test]
fn another_choice_beside_the_branch_that_is_followed_is_not_taken() {
    needs!(Git);
    let stage = unnamed();
    let service = Service::start(&stage.home);
    stage.upstream.git(&["branch", "trunk", "main"]);
    add(&stage.upstream, "trunk", "b");
    choose(&stage.upstream, "trunk");
    check_refused(&service, ", last success 2");
    service.kill();
    let service = Service::start(&stage.home);
    check_refused(&service, "; no success since the start");
    // Losing the clone makes no difference.
    service.kill();
    fs::remove_dir_all(stage.home.data().join("git/rules")).unwrap();
    let service = Service::start(&stage.home);
    check_refused_by_a_lost_clone(&service);
    stage.upstream.delete_branch("main");
    sync(&service);
    check_followed(&service, "trunk", &["a", "b"]);
}

#[track_caller]
fn check_refused_by_a_lost_clone(service: &Service) {
    assert_eq!(service.post("/git/sync", &json!({})).code(), "git_branch_moved");
    assert_eq!(in_force(service), ["a"]);
}

#[test]
fn a_choice_without_the_commit_in_force_is_taken_by_force_alone() {
    needs!(Git);
    let stage = unnamed();
    let service = Service::start(&stage.home);
    add(&stage.upstream, "trunk", "b");
    choose(&stage.upstream, "trunk");
    stage.upstream.delete_branch("main");
    check_refused(&service, " s ago");
    let _ = service.post("/git/sync", &json!({ "force": true })).expect(200);
    check_followed(&service, "trunk", &["b"]);
}

#[test]
fn a_repository_without_a_choice_keeps_the_last_good_rules() {
    needs!(Git);
    let stage = unnamed();
    let service = Service::start(&stage.home);
    stage.upstream.git(&["branch", "-m", "main", "trunk"]);
    choose(&stage.upstream, "main");
    let refused = service.post("/git/sync", &json!({}));
    assert_eq!(refused.code(), "git_branch_not_found");
    assert!(refused.text().contains("HEAD refers to a missing branch"), "{}", refused.text());
    assert!(link_status(&service, "git").starts_with("degraded: "));
    assert_eq!(in_force(&service), ["a"]);
}

#[test]
fn a_service_without_a_branch_setting_follows_the_default_branch() {
    needs!(Git);
    let stage = unnamed();
    add(&stage.upstream, "release", "r");
    let mut named = stage.home.clone();
    named.set("WATCH_SCRIPT_GIT_BRANCH", "release");
    let service = Service::start(&named);
    check_followed(&service, "release", &["r"]);
    service.kill();
    let service = Service::start(&stage.home);
    check_followed(&service, "main", &["a"]);
    // A configured branch is followed whatever the default is.
    service.kill();
    let mut named = stage.home.clone();
    named.set("WATCH_SCRIPT_GIT_BRANCH", "main");
    let service = Service::start(&named);
    choose(&stage.upstream, "release");
    sync(&service);
    check_followed(&service, "main", &["a"]);
}

#[test]
fn a_clone_over_the_api_that_names_no_branch_follows_the_choice_too() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let home = open_home();
    let service = Service::start(&home);
    assert_eq!(link_status(&service, "git"), "", "there is no repository");
    let url = upstream.path().to_string_lossy().into_owned();
    let cloned = service.post("/git/clone", &json!({ "url": url })).expect(200);
    assert_eq!(cloned["branch"], "main");
    upstream.git(&["branch", "-m", "main", "trunk"]);
    sync(&service);
    check_followed(&service, "trunk", &["a"]);
    service.kill();
    upstream.git(&["branch", "-m", "trunk", "third"]);
    let service = Service::start(&home);
    check_followed(&service, "third", &["a"]);
}

#[test]
fn a_remote_that_is_away_is_reported_by_the_check() {
    needs!(Git);
    let stage = unnamed();
    let service = Service::start(&stage.home);
    stage.server.set_mood(Mood::Down);
    let _ = service.post("/git/sync", &json!({}));
    let check = link_status(&service, "git");
    assert!(check.starts_with("degraded: ") && check.contains("branch main, commit "), "{check}");
    assert_eq!(service.get("/readyz").status, 200);
    stage.server.set_mood(Mood::Fine);
    sync(&service);
    check_followed(&service, "main", &["a"]);
}
