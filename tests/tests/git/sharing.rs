//! Clone, pull and push: saved rules are shared, and nothing is lost.

use std::fs;
use tollgate_tests::needs;

use super::*;

#[test]
fn a_clone_over_the_api_is_followed_from_then_on() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let server = GitServer::start(upstream.root(), Mood::Fine);
    let home = open_home();
    let service = Service::start(&home);
    assert_eq!(status(&service)["configured"], false);
    for path in ["/git/sync", "/git/pull"] {
        let answer = service.send("POST", path, &[], &[]).unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (409, "git_not_configured"));
    }
    let answer = service.post("/git/clone", &json!({"url": server.url(), "branch": "main"})).expect(200);
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["branch", "message", "path"]);
    assert_eq!(answer["branch"], "main");
    assert_eq!(answer["path"], status(&service)["local_path"]);
    assert!(local_path(&service).join("a.ws").is_file());
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["a"]);
    service.kill();
    upstream.commit(&[("b.ws", sample::rule("b", "amount > 1"))]);
    let service = Service::start(&home);
    assert_eq!(in_force(&service), ["a", "b"], "a restart goes on where it was");
    let other = Upstream::with(&[("c.ws", sample::rule("c", "amount > 1"))]);
    let url = other.path().to_string_lossy().into_owned();
    assert_eq!(service.post("/git/clone", &json!({ "url": url })).expect(200)["branch"], "main");
    assert_eq!(in_force(&service), ["c"], "another repository takes its place in one swap");
    for (body, code) in [
        (json!({}), "missing_field"),
        (json!({"url": 7}), "invalid_field"),
        (json!({"url": "no address"}), "git_address_invalid"),
        (json!({"url": server.url(), "branch": "a..b"}), "invalid_field"),
        (json!({"url": server.url(), "branch": "nowhere"}), "git_branch_not_found"),
        (json!({"url": "/nowhere/at/all.git"}), "git_remote_failed"),
    ] {
        assert_eq!(service.post("/git/clone", &body).code(), code, "{body}");
    }
    assert_eq!(in_force(&service), ["c"], "a clone that fails changes nothing");
    assert_eq!(status(&service)["url"], json!(url));
}

#[test]
fn an_empty_repository_is_no_branch() {
    needs!(Git);
    let upstream = Upstream::new();
    let service = Service::start(&open_home());
    let answer = service.post("/git/clone", &json!({"url": upstream.path().to_string_lossy()}));
    assert_eq!((answer.status, answer.code().as_str()), (404, "git_branch_not_found"));
}

#[test]
fn a_rule_saved_over_the_api_is_shown_and_pushed() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    let script = sample::rule("saved", "amount > 1");
    let id = service.save(&script).expect(201)["id"].clone();
    let list = ("content-type", "text/plain");
    assert_eq!(service.send("PUT", "/lists/stopped", &[list], b"EUR\n").unwrap().status, 201);
    assert_eq!(status(&service)["untracked"], json!(["lists/stopped.txt", "saved.ws"]));
    assert_eq!(fs::read_to_string(local_path(&service).join("saved.ws")).unwrap(), script);
    let pushed = service.post("/git/push", &json!({"message": "One more rule"})).expect(200);
    assert_eq!(pushed["files"], json!(["lists/stopped.txt", "saved.ws"]));
    assert_eq!(pushed["commit"], json!(stage.upstream.head("main")));
    assert_eq!(stage.upstream.file("saved.ws"), Some(script));
    let log = stage.upstream.git(&["log", "-1", "--format=%an <%ae> %s", "main"]);
    assert_eq!(log, "Tollgate <tollgate@localhost> One more rule");
    let after = status(&service);
    assert_eq!(
        (&after["untracked"], &after["up_to_date"], &after["failed"]),
        (&json!([]), &json!(true), &json!([]))
    );
    let instruction = service.get(&format!("/instructions/{id}")).expect(200);
    assert_eq!(instruction["source"]["kind"], "git", "it is the repository's now, under the same id");
    let again = service.post("/git/push", &json!({"message": "Nothing"})).expect(200);
    assert_eq!(again["files"], json!([]));
    // Removing the rule deletes its file locally, and a push deletes it remotely.
    assert_eq!(service.delete(&format!("/instructions/{id}")).status, 204);
    assert_eq!(status(&service)["deleted"], json!(["saved.ws"]));
    let _ = service.post("/git/push", &json!({"message": "One less"})).expect(200);
    assert_eq!(stage.upstream.file("saved.ws"), None);
    assert_eq!(in_force(&service), ["a"]);
}

#[test]
fn a_pull_is_fast_forward_and_loses_nothing() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    let pull = || service.post("/git/pull", &json!({}));
    stage.upstream.commit(&[("b.ws", sample::rule("b", "amount > 1"))]);
    assert_eq!(pull().expect(200)["loaded"], json!(["b.ws"]));
    assert_eq!(pull().expect(200)["loaded"], json!([]), "nothing new is fine");
    // Dirty: modified by a user.
    let path = local_path(&service).join("a.ws");
    let mine = sample::rule("a", "amount > 77");
    fs::write(&path, &mine).unwrap();
    stage
        .upstream
        .commit(&[("a.ws", sample::rule("a", "amount > 5")), ("c.ws", sample::rule("c", "amount > 1"))]);
    let refused = pull();
    assert_eq!((refused.status, refused.code().as_str()), (409, "git_dirty"));
    assert_eq!(in_force(&service), ["a", "b"]);
    assert_eq!(status(&service)["modified"], json!(["a.ws"]));
    // A sync loads the rules and does not touch the file.
    sync(&service);
    assert_eq!(in_force(&service), ["a", "b", "c"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), mine);
    assert_eq!(status(&service)["behind"], 1);
    let refused = service.post("/git/push", &json!({"message": "Mine"}));
    assert_eq!((refused.status, refused.code().as_str()), (409, "git_push_refused"));
    assert_eq!(fs::read_to_string(&path).unwrap(), mine);
    assert_eq!(status(&service)["ahead"], 0, "a push that fails leaves no commit");
    // After the modification is reverted, it continues.
    fs::write(&path, sample::rule("a", "amount > 1")).unwrap();
    let _ = pull().expect(200);
    assert_eq!(fs::read_to_string(&path).unwrap(), sample::rule("a", "amount > 5"));
    // Diverged: one commit by a user locally, another at the remote.
    let git = |arguments: &[&str]| by_hand(local_path(&service), arguments);
    let head = git(&["rev-parse", "HEAD"]);
    let commit = git(&["commit-tree", "HEAD^{tree}", "-p", &head, "-m", "by hand"]);
    git(&["update-ref", "refs/heads/main", &commit]);
    stage.upstream.commit(&[("d.ws", sample::rule("d", "amount > 1"))]);
    let refused = pull();
    assert_eq!((refused.status, refused.code().as_str()), (409, "git_diverged"));
    assert_eq!(git(&["rev-parse", "HEAD"]), commit, "nothing is lost");
    assert_eq!(in_force(&service), ["a", "b", "c"]);
}

#[test]
fn another_instance_that_pushes_to_the_same_branch_is_reported() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let mut other_home = Home::new();
    other_home.set("WATCH_SCRIPT_GIT_REPO", &stage.server.url());
    other_home.set("WATCH_SCRIPT_GIT_BRANCH", "main");
    let (one, other) = (Service::start(&stage.home), Service::start(&other_home));
    let git = |service: &Service| {
        service.get("/readyz").expect(200)["checks"]["git"].as_str().unwrap_or_default().to_owned()
    };
    let push = |service: &Service, name: &str| {
        let _ = service.save(&sample::rule(name, "amount > 1")).expect(201);
        service.post("/git/push", &json!({"message": format!("Add {name}")}))
    };
    // Its own commits are nothing to tell.
    for name in ["b", "c"] {
        assert_eq!(push(&one, name).status, 200);
        assert!(git(&one).starts_with("ok: "), "{}", git(&one));
    }
    let trailer =
        stage.upstream.git(&["log", "-1", "--format=%(trailers:key=Tollgate-Instance,valueonly)", "main"]);
    assert_eq!(trailer.trim().len(), 32, "{trailer}");
    // A push that is refused because of the other's commits tells it, and so does the one that follows them.
    let reported = format!("degraded: another instance, {}, pushed to this branch at ", trailer.trim());
    let refused = push(&other, "d");
    assert_eq!((refused.status, refused.code().as_str()), (409, "git_push_refused"));
    assert!(git(&other).starts_with(&reported), "{}", git(&other));
    sync(&other);
    assert!(git(&other).starts_with(&reported), "{}", git(&other));
    assert_eq!(other.post("/git/push", &json!({"message": "Add d"})).status, 200);
    assert!(git(&other).starts_with(&reported), "{}", git(&other));
    // A commit by hand is of no instance.
    stage.upstream.commit(&[("e.ws", sample::rule("e", "amount > 1"))]);
    sync(&one);
    assert_eq!(push(&one, "f").status, 200);
    assert!(git(&one).starts_with("ok: "), "{}", git(&one));
}

#[test]
fn one_operation_at_a_time() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    stage.server.set_mood(Mood::Silent);
    let clients: Vec<_> = (0..8).map(|_| service.client()).collect();
    let answers: Vec<_> = thread::scope(|scope| {
        let asking: Vec<_> =
            clients.iter().map(|client| scope.spawn(|| client.post("/git/sync", &json!({})))).collect();
        assert!(status(&service).is_object(), "status waits for nobody");
        wait_until("all but one to be told", || {
            asking.iter().filter(|asking| asking.is_finished()).count() == clients.len() - 1
        });
        stage.server.set_mood(Mood::Fine);
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    });
    let n_busy = answers.iter().filter(|answer| answer.status == 409 && answer.code() == "git_busy").count();
    assert_eq!(n_busy, 7, "{:?}", answers.iter().map(tollgate_tests::Answer::text).collect::<Vec<_>>());
    sync(&service);
}
