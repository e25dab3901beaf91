//! What happens at the remote, and which rules are in force then.

use super::*;

/// One row of the table: what happened, what was answered, what is in force.
struct Row {
    what: &'static str,
    answered: String,
    rules: Vec<String>,
}

/// Prints the rows, and holds each against what it should be.
#[track_caller]
fn check(rows: &[Row], expected: &[(&str, &str)]) {
    println!("{:<44} {:<24} rules in force", "what happened", "answer");
    for row in rows {
        println!("{:<44} {:<24} {}", row.what, row.answered, row.rules.join(" "));
    }
    let found: Vec<(&str, String)> =
        rows.iter().map(|row| (row.answered.as_str(), row.rules.join(" "))).collect();
    let expected: Vec<(&str, String)> =
        expected.iter().map(|(code, rules)| (*code, (*rules).to_owned())).collect();
    assert_eq!(found, expected);
}

/// Syncs, and notes how that went.
fn synced(service: &Service, what: &'static str, body: &Value) -> Row {
    let answer = service.post("/git/sync", body);
    let answered = if answer.status == 200 { "ok".to_owned() } else { answer.code() };
    Row { what, answered, rules: in_force(service) }
}

#[test]
fn the_rules_in_force_are_those_of_the_last_good_commit() {
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    let (up, go) = (&stage.upstream, |what| synced(&service, what, &json!({})));
    let mut rows = vec![Row { what: "started", answered: "ok".to_owned(), rules: in_force(&service) }];
    up.commit(&[("b/b.ws", sample::rule("b", "amount > 1")), ("c.ws", sample::rule("c", "amount > 1"))]);
    rows.push(go("two files added in one commit"));
    up.commit(&[("c.ws", "rule c { when amount >")]);
    rows.push(go("one file broken: its last good version"));
    up.commit(&[("d.ws", sample::rule("d", "amount > 1"))]);
    rows.push(go("another added beside the broken one"));
    up.remove(&["b/b.ws"]);
    rows.push(go("a file removed"));
    stage.server.set_mood(Mood::Down);
    rows.push(go("the remote is down"));
    stage.server.set_mood(Mood::Babbling);
    rows.push(go("the remote is no Git server"));
    stage.server.set_mood(Mood::Refusing);
    rows.push(go("the remote asks for credentials"));
    stage.server.set_mood(Mood::Fine);
    rows.push(go("the remote is back"));
    let before = up.head("main").unwrap();
    up.rewrite(&[("z.ws", sample::rule("z", "amount > 1"))]);
    rows.push(go("force-pushed: another history"));
    assert_eq!(status(&service)["history_rewritten"], true);
    up.git(&["update-ref", "refs/heads/main", &before]);
    rows.push(go("and put back"));
    assert_eq!(status(&service)["history_rewritten"], false);
    up.delete_branch("main");
    rows.push(go("the branch deleted"));
    up.git(&["update-ref", "refs/heads/main", &before]);
    up.rewrite(&[("z.ws", sample::rule("z", "amount > 1"))]);
    rows.push(go("force-pushed again"));
    rows.push(synced(&service, "and taken by force", &json!({ "force": true })));
    up.remove(&["z.ws"]);
    rows.push(go("the last rule removed"));
    check(
        &rows,
        &[
            ("ok", "a"),
            ("ok", "a b c"),
            ("ok", "a b c"),
            ("ok", "a b c d"),
            ("ok", "a c d"),
            ("git_remote_failed", "a c d"),
            ("git_remote_failed", "a c d"),
            ("git_credentials_refused", "a c d"),
            ("ok", "a c d"),
            ("git_history_rewritten", "a c d"),
            ("ok", "a c d"),
            ("git_branch_not_found", "a c d"),
            ("git_history_rewritten", "a c d"),
            ("ok", "z"),
            ("ok", ""),
        ],
    );
}

#[test]
fn a_sync_says_what_changed_and_a_verdict_names_the_version() {
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
fn what_is_pushed_is_polled() {
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
    let mut stage = Stage::with_a_rule();
    assert!(Service::start(&stage.home).stop().0.success());
    stage.server.set_mood(Mood::Down);
    let service = Service::start(&stage.home);
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["a"]);
    assert_eq!(status(&service)["last_error"]["code"], "git_remote_failed");
    service.kill();
    // And when nobody listens there at all, and the clone is lost.
    std::fs::remove_dir_all(stage.home.data().join("git")).unwrap();
    stage.home.set("WATCH_SCRIPT_GIT_REPO", "http://127.0.0.1:1/rules.git");
    let service = Service::start(&stage.home);
    assert_eq!(service.inject(&sample::transaction("t2")).triggered(), ["a"]);
    assert_eq!(status(&service)["last_error"]["code"], "git_unreachable");
}

#[test]
fn one_broken_file_in_a_hundred_stops_no_other() {
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
fn a_damaged_clone_is_made_anew() {
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
