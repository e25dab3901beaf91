//! A repository as a source of rules: the service is not ready before it was read, and never has fewer rules than
//! required.

use super::*;
use tollgate_tests::needs;

fn readiness(service: &Service) -> (u16, String) {
    let answer = service.get("/readyz");
    (answer.status, answer.at("/checks").to_string())
}

#[test]
fn a_repository_that_cannot_be_fetched_at_the_first_start_keeps_the_service_from_being_ready() {
    needs!(Git);
    let mut stage = Stage::with_a_rule();
    stage.home.set("WATCH_SCRIPT_GIT_POLL_INTERVAL", "200ms");
    stage.server.set_mood(Mood::Down);
    let service = Service::listen(&stage.home);
    let (status, checks) = readiness(&service);
    assert_eq!(status, 503, "{checks}");
    assert!(
        checks.contains("\"git\":\"failing: ") && checks.contains("no success since the start"),
        "{checks}"
    );
    stage.server.set_mood(Mood::Fine);
    service.until("it is read", || readiness(&service).0 == 200);
    assert_eq!(in_force(&service), ["a"]);
    service.kill();

    // Rules that were read once are in force and suffice.
    stage.server.set_mood(Mood::Down);
    let service = Service::start(&stage.home);
    assert!(readiness(&service).1.contains("\"git\":\"degraded: "), "{}", readiness(&service).1);
    assert_eq!(in_force(&service), ["a"]);
}

#[test]
fn a_repository_may_be_missing_where_the_operator_says_so() {
    needs!(Git);
    let mut stage = Stage::with_a_rule();
    stage.home.set("SERVICE_SOURCES_OPTIONAL", "true");
    stage.server.set_mood(Mood::Down);
    let service = Service::start(&stage.home);
    assert!(readiness(&service).1.contains("SERVICE_SOURCES_OPTIONAL"), "{}", readiness(&service).1);
}

#[test]
fn a_commit_that_leaves_fewer_rules_than_required_is_held_back() {
    needs!(Git);
    let mut stage = Stage::new(Upstream::with(&[
        ("a.ws", sample::rule("a", "amount > 1")),
        ("b.ws", sample::rule("b", "amount > 1")),
    ]));
    stage.home.set("SERVICE_RULES_REQUIRED", "2");
    let service = Service::start(&stage.home);
    stage.upstream.commit(&[("a.ws", "rule".to_owned())]);
    assert_eq!(sync(&service)["failed"][0]["path"], "a.ws", "a broken file keeps its last good version");
    stage.upstream.remove(&["a.ws"]);
    let refused = service.post("/git/sync", &json!({}));
    assert_eq!((refused.status, refused.code().as_str()), (409, "too_few_rules"), "{}", refused.text());
    assert_eq!(in_force(&service), ["a", "b"]);
    let (status, checks) = readiness(&service);
    assert_eq!(status, 200, "{checks}");
    assert!(checks.contains("a change of the repository is held back"), "{checks}");
    stage.upstream.commit(&[("c.ws", sample::rule("c", "amount > 1"))]);
    sync(&service);
    assert_eq!(in_force(&service), ["b", "c"]);
}

#[test]
fn a_committed_file_that_was_meant_as_a_rule_is_named() {
    needs!(Git);
    let rule = || sample::rule("x", "amount > 1");
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    let ignored = || service.get("/readyz").at("/checks/ignored").as_str().unwrap_or_default().to_owned();
    assert_eq!(ignored(), "ok");
    stage.upstream.commit(&[
        ("X.WS", rule()),
        ("cards/x.ws.txt", rule()),
        ("x.rule", rule()),
        ("lists/l.TXT", "acc-1".to_owned()),
    ]);
    sync(&service);
    let words = ignored();
    assert!(words.starts_with("ok: in the repository, 4 files look like rules or lists"), "{words}");
    for path in ["X.WS", "cards/x.ws.txt", "x.rule", "lists/l.TXT"] {
        assert!(words.contains(&format!("`{path}`")), "{path}: {words}");
    }
    stage.upstream.remove(&["X.WS", "cards/x.ws.txt", "x.rule", "lists/l.TXT"]);
    sync(&service);
    assert_eq!(ignored(), "ok");
}

#[track_caller]
fn verdict(service: &Service, id: &str) -> Value {
    service.inject_admitted(&sample::transaction(id)).expect(200)["verdict"].clone()
}

#[test]
fn a_new_repository_all_of_whose_files_are_refused_is_not_ready() {
    needs!(Git);
    let mut stage =
        Stage::new(Upstream::with(&[("a.ws", "rule".to_owned()), ("lists/l.txt", "{}".to_owned())]));
    stage.home.set("WATCH_SCRIPT_GIT_POLL_INTERVAL", "200ms");
    let service = Service::listen(&stage.home);
    service.until("it is read", || {
        readiness(&service).1.contains("no file of the repository was ever in force")
    });
    assert_eq!((readiness(&service).0, verdict(&service, "t1")), (503, json!("review")));
    stage.upstream.commit(&[("a.ws", sample::rule("a", "amount > 1000")), ("lists/l.txt", "EUR".to_owned())]);
    service.until("it is ready", || readiness(&service).0 == 200);
    let _ = service.inject_until_approved("t2");
}

#[test]
fn a_repository_without_rules_is_ready() {
    needs!(Git);
    let stage = Stage::new(Upstream::with(&[("README.md", "no rules yet".to_owned())]));
    let service = Service::start(&stage.home);
    let _ = service.inject_until_approved("t");
}

#[test]
fn a_repository_that_is_named_over_the_api_never_makes_the_service_unready() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", "rule".to_owned())]);
    let server = GitServer::start(upstream.root(), Mood::Fine);
    let home = open_home();
    let service = Service::start(&home);
    drop(service.post("/git/clone", &json!({"url": server.url(), "branch": "main"})).expect(200));
    let (status, checks) = readiness(&service);
    assert!(status == 200 && checks.contains("\"rules\":\"degraded: 1 rule files"), "{checks}");
    assert_eq!(verdict(&service, "t1"), "approve");
    service.kill();
    server.set_mood(Mood::Down);
    let service = Service::start(&home);
    let (status, checks) = readiness(&service);
    assert!(status == 200 && checks.contains("\"git\":\"degraded: "), "{checks}");
    assert_eq!(verdict(&service, "t2"), "approve");
}

#[test]
fn a_rule_that_fails_stands_for_each_refused_file_of_a_partly_good_new_repository() {
    needs!(Git);
    let files = [("a.ws", sample::rule("a", "amount > 1000")), ("bad.ws", "rule".to_owned())];
    let stage = Stage::new(Upstream::with(&files));
    let service = Service::start(&stage.home);
    let judged = service.inject_admitted(&sample::transaction("t1")).expect(200);
    assert_eq!(judged["verdict"], "review", "{judged}");
    // Beside it, payments may still be held because the repository was not read.
    let failures = judged["failures"].as_array().unwrap();
    let failed = failures.iter().find(|failed| failed["name"] == "git:bad.ws");
    assert_eq!(failed.map(|failed| &failed["failure"]), Some(&json!("quarantined")), "{judged}");
    stage.upstream.remove(&["bad.ws"]);
    sync(&service);
    assert_eq!((verdict(&service, "t2"), in_force(&service)), (json!("approve"), vec!["a".to_owned()]));
}
