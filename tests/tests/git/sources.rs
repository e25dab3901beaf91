//! A repository as a source of rules: the service is not ready before it was read, and never has fewer rules than
//! required.

use super::*;

fn readiness(service: &Service) -> (u16, String) {
    let answer = service.get("/readyz");
    (answer.status, answer.at("/checks").to_string())
}

#[test]
fn a_repository_that_cannot_be_fetched_at_the_first_start_keeps_the_service_from_being_ready() {
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
    let mut stage = Stage::with_a_rule();
    stage.home.set("SERVICE_SOURCES_OPTIONAL", "true");
    stage.server.set_mood(Mood::Down);
    let service = Service::start(&stage.home);
    assert!(readiness(&service).1.contains("SERVICE_SOURCES_OPTIONAL"), "{}", readiness(&service).1);
}

#[test]
fn a_commit_that_leaves_fewer_rules_than_required_is_held_back() {
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
