//! Events at the remote, and the rules in force afterwards.

use super::*;
use tollgate_tests::needs;

#[test]
fn a_sync_says_what_changed_and_a_verdict_names_the_version() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let first = stage.upstream.head("main").unwrap();
    let service = Service::start(&stage.home);
    assert_eq!(service.inject(&sample::transaction("t1")).triggered(), ["a"]);
    let second = stage.upstream.steps(
        "main",
        &[
            ("a.ws", tollgate_tests::git::upstream::Step::Drop),
            ("b.ws", put(&sample::rule("b", "currency in $stopped"))),
            ("lists/stopped.txt", put("EUR\n")),
            ("bad.ws", put("rule bad {\n  when amount > 1\n  then maybe\n}")),
        ],
    );
    let synced = sync(&service);
    assert_eq!((&synced["before"], &synced["after"]), (&json!(first), &json!(second)));
    assert_eq!(synced["loaded"], json!(["lists/stopped.txt", "b.ws"]));
    assert_eq!((&synced["changed"], &synced["removed"]), (&json!([]), &json!(["a.ws"])));
    let failed = &synced["failed"][0];
    assert_eq!(
        (&failed["path"], &failed["line"], &failed["column"]),
        (&json!("bad.ws"), &json!(3), &json!(8))
    );
    assert!(failed["message"].as_str().unwrap().contains("expected verdict"), "{failed}");
    let judged = service.inject(&sample::transaction("t2"));
    assert_eq!(judged.triggered(), ["b"]);
    assert_eq!(judged.at("/rule_set_version"), synced["rule_set_version"]);
    let instruction = &service.get("/instructions").expect(200)[0];
    assert_eq!(instruction["source"], json!({"kind": "git", "path": "b.ws", "commit": second}));
    let status = status(&service);
    for (field, expected) in [
        ("configured", json!(true)),
        ("url", json!(stage.server.url())),
        ("branch", json!("main")),
        ("current_commit", json!(second)),
        ("remote_commit", json!(second)),
        ("up_to_date", json!(true)),
        ("ahead", json!(0)),
        ("behind", json!(0)),
        ("modified", json!([])),
        ("deleted", json!([])),
        ("untracked", json!([])),
        ("last_error", Value::Null),
        ("failed", synced["failed"].clone()),
    ] {
        assert_eq!(status[field], expected, "{field}");
    }
    assert!(status["last_sync"].is_string());
    assert_eq!(sync(&service)["loaded"], json!([]), "nothing changed since");
}

fn put(text: &str) -> tollgate_tests::git::upstream::Step {
    tollgate_tests::git::upstream::Step::Put("100644", text.as_bytes().to_vec())
}

#[test]
fn a_hangup_has_the_repository_asked_at_once_and_the_directory_read() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    stage.upstream.commit(&[("b.ws", sample::rule("b", "amount > 1"))]);
    assert_eq!(in_force(&service), ["a"], "the next poll is in an hour");
    process::signal(service.pid(), "HUP");
    wait_until("the sync", || in_force(&service) == ["a", "b"]);
    stage.server.set_mood(Mood::Down);
    process::signal(service.pid(), "HUP");
    wait_until("the error", || !status(&service)["last_error"].is_null());
    assert_eq!(in_force(&service), ["a", "b"]);
}

#[test]
fn a_poll_takes_a_pushed_commit() {
    needs!(Git);
    let mut stage = Stage::with_a_rule();
    stage.home.set("WATCH_SCRIPT_GIT_POLL_INTERVAL", "200ms");
    let service = Service::start(&stage.home);
    stage.upstream.commit(&[("b.ws", sample::rule("b", "amount > 1"))]);
    wait_until("the poll", || in_force(&service) == ["a", "b"]);
    stage.server.set_mood(Mood::Down);
    wait_until("the error", || !status(&service)["last_error"].is_null());
    assert_eq!(in_force(&service), ["a", "b"]);
    stage.upstream.commit(&[("c.ws", sample::rule("c", "amount > 1"))]);
    stage.server.set_mood(Mood::Fine);
    wait_until("the recovery", || in_force(&service) == ["a", "b", "c"]);
    wait_until("the error to go", || status(&service)["last_error"].is_null());
    let (_, lines) = service.stop();
    let n_errors = lines.iter().filter(|line| line.contains("a git operation failed")).count();
    assert_eq!(n_errors, 1, "an error that stays is one line");
}

#[test]
fn the_last_good_rules_serve_when_the_remote_is_down_at_the_start() {
    needs!(Git);
    let mut stage = Stage::with_a_rule();
    assert!(Service::start(&stage.home).stop().0.success());
    stage.server.set_mood(Mood::Down);
    let service = Service::start(&stage.home);
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["a"]);
    assert_eq!(status(&service)["last_error"]["code"], "git_remote_failed");
    service.kill();
    // Also if no server listens there and the clone is lost.
    std::fs::remove_dir_all(stage.home.data().join("git")).unwrap();
    stage.home.set("WATCH_SCRIPT_GIT_REPO", "http://127.0.0.1:1/rules.git");
    let service = Service::start(&stage.home);
    assert_eq!(service.inject(&sample::transaction("t2")).triggered(), ["a"]);
    assert_eq!(status(&service)["last_error"]["code"], "git_unreachable");
}

#[test]
fn one_broken_file_in_a_hundred_stops_no_other() {
    needs!(Git);
    let names: Vec<String> = (0..100).map(|n| format!("rule_{n:03}")).collect();
    let file = |name: &String, condition: &str| (format!("{name}.ws"), sample::rule(name, condition));
    let stage =
        Stage::new(Upstream::with(&names.iter().map(|name| file(name, "amount > 1000")).collect::<Vec<_>>()));
    let service = Service::start(&stage.home);
    assert_eq!(in_force(&service).len(), 100);
    let mut files: Vec<_> = names.iter().map(|name| file(name, "amount > 1")).collect();
    files[42].1 = "rule rule_042 {\n  when amount >\n}".to_owned();
    stage.upstream.commit(&files);
    let synced = sync(&service);
    assert_eq!(synced["changed"].as_array().map(Vec::len), Some(99));
    assert_eq!(synced["failed"][0]["path"], "rule_042.ws");
    assert_eq!((in_force(&service).len(), synced["failed"].as_array().map(Vec::len)), (100, Some(1)));
    assert_eq!(service.inject(&sample::transaction("t")).triggered().len(), 99, "all in one version");
    let metrics = service.get("/metrics").text();
    assert!(metrics.contains("tollgate_rule_files_refused 1"), "{metrics}");
}

#[test]
fn a_service_that_is_killed_during_a_fetch_starts_with_the_last_good_rules() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    Service::start(&stage.home).kill();
    for round in 0..3 {
        let service = Service::start(&stage.home);
        assert_eq!(in_force(&service).len(), 1 + round);
        let name = format!("b{round}");
        stage.upstream.commit(&[(format!("{name}.ws"), sample::rule(&name, "amount > 1"))]);
        stage.server.set_mood(Mood::Stuck);
        let n_asked = stage.server.asked().len();
        let client = service.client();
        let syncing = thread::spawn(move || drop(client.try_post("/git/sync", b"{}")));
        wait_until("the pack", || {
            stage.server.asked().iter().skip(n_asked).any(|asked| asked.line.starts_with("POST"))
        });
        service.kill();
        syncing.join().unwrap();
        stage.server.set_mood(Mood::Down);
        let service = Service::start(&stage.home);
        assert_eq!(in_force(&service).len(), 1 + round, "what was fetched by half is nothing");
        stage.server.set_mood(Mood::Fine);
        sync(&service);
        assert_eq!(in_force(&service).len(), 2 + round);
        service.kill();
    }
}

#[test]
fn a_damaged_clone_is_made_again() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    let git = stage.home.data().join("git/rules/.git");
    std::fs::remove_dir_all(git.join("objects")).unwrap();
    std::fs::create_dir(git.join("objects")).unwrap();
    stage.upstream.commit(&[("b.ws", sample::rule("b", "amount > 1"))]);
    sync(&service);
    assert_eq!(in_force(&service), ["a", "b"]);
    service.kill();
    std::fs::write(git.join("HEAD"), "nonsense").unwrap();
    let service = Service::start(&stage.home);
    assert_eq!(in_force(&service), ["a", "b"]);
    assert_eq!(status(&service)["last_error"], Value::Null);
    assert_eq!(status(&service)["up_to_date"], true);
}
