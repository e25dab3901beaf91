//! Limits on trees and remotes: deep folders, hosts in paths, credentials of another repository.

use super::*;
use tollgate_tests::needs;

#[test]
fn rule_files_in_folders_too_deep_are_reported() {
    needs!(Git);
    let deep = |depth: usize| format!("{}deep.ws", "d/".repeat(depth));
    let rule = sample::rule("deep", "amount > 1");
    let stage = Stage::new(Upstream::with(&[
        ("a.ws".to_owned(), sample::rule("a", "amount > 1")),
        (deep(17), rule.clone()),
        (format!("{}only/a/README", "e/".repeat(16)), "no rule".to_owned()),
    ]));
    stage.home.write_rule(&deep(17), &rule);
    // A directory of which nothing can be taken is not ready.
    stage.home.write_rule("b.ws", sample::rule("b", "amount > 1"));
    let service = Service::start(&stage.home);
    let status = status(&service);
    let failed = status["failed"].as_array().unwrap();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["path"], "d/".repeat(17).trim_end_matches('/'));
    assert!(failed[0]["message"].as_str().unwrap().contains("deeper than 16 folders"), "{failed:?}");
    assert_eq!(in_force(&service), ["a", "b"]);
    let (_, lines) = service.stop();
    let is_of_check = |line: &str| log::fields(line).is_some_and(|fields| !fields["check"].is_null());
    let reported = |line: &&String| {
        line.contains(&deep(17)) && line.contains("deeper than 16 folders") && !is_of_check(line)
    };
    assert_eq!(lines.iter().filter(reported).count(), 1, "and so is the one in the rules directory");
}

#[test]
fn a_configured_path_allows_no_fewer_hosts_over_the_api() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let server = GitServer::start(upstream.root(), Mood::Fine);
    let mut home = open_home();
    home.set("WATCH_SCRIPT_GIT_REPO", &upstream.path().to_string_lossy());
    let service = Service::start(&home);
    assert_eq!(in_force(&service), ["a"]);
    let answer = service.post("/git/clone", &json!({ "url": server.url() }));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn the_configured_token_is_for_the_configured_repository_alone() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    std::os::unix::fs::symlink(upstream.path(), upstream.root().join("other.git")).unwrap();
    // `x-access-token:canary`
    let known = "Basic eC1hY2Nlc3MtdG9rZW46Y2FuYXJ5";
    let server = GitServer::start(upstream.root(), Mood::Asking(known.to_owned()));
    let mut home = open_home();
    home.set("WATCH_SCRIPT_GIT_REPO", &server.url());
    home.set("WATCH_SCRIPT_GIT_TOKEN", "canary");
    let service = Service::start(&home);
    assert_eq!(in_force(&service), ["a"]);
    let other = server.url().replace("rules.git", "other.git");
    let refused = service.post("/git/clone", &json!({ "url": other }));
    assert_eq!(refused.code(), "git_credentials_refused");
    let is_shown = |asked: &tollgate_tests::git::server::Asked| {
        asked.line.contains("other.git") && asked.headers.contains(known)
    };
    assert!(!server.asked().iter().any(is_shown), "the token is shown for another repository");
    // The server serves its own URL, and another one whose token is in the request.
    let _ = service.post("/git/clone", &json!({ "url": server.url() })).expect(200);
    let _ = service.post("/git/clone", &json!({ "url": other, "token": "canary" })).expect(200);
}
