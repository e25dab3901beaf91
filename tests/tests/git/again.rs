//! Resuming after a previous run, whatever state it left.

use std::fs;
use tollgate_tests::needs;

use super::*;

#[test]
fn a_start_goes_on_from_the_rule_set_in_force_though_the_process_ended_before_the_mark() {
    needs!(Git);
    for (what, is_forced) in [("followed", false), ("taken by force", true)] {
        let stage = Stage::with_a_rule();
        let service = Service::start(&stage.home);
        let first = stage.upstream.head("main").unwrap();
        let files = [("b.ws", sample::rule("b", "amount > 1"))];
        let second = if is_forced { stage.upstream.rewrite(&files) } else { stage.upstream.commit(&files) };
        let _ = service.post("/git/sync", &json!({ "force": is_forced })).expect(200);
        let after = in_force(&service);
        let version = service.inject(&sample::transaction("t1")).at("/rule_set_version");
        let work_tree = local_path(&service);
        service.kill();
        // The state of the clone between the swap of the rule set and the ref update.
        by_hand(work_tree, &["update-ref", "refs/tollgate/in-force", &first]);
        stage.server.set_mood(Mood::Down);
        let service = Service::start(&stage.home);
        assert_eq!(in_force(&service), after, "the commit was {what}");
        assert_eq!(service.inject(&sample::transaction("t2")).at("/rule_set_version"), version);
        assert_eq!(status(&service)["current_commit"], json!(second));
    }
}

#[test]
fn the_mark_counts_where_a_commit_changed_no_rule() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    let commit = stage.upstream.commit(&[("README.md", "ours")]);
    sync(&service);
    service.kill();
    stage.server.set_mood(Mood::Down);
    let service = Service::start(&stage.home);
    assert_eq!(status(&service)["current_commit"], json!(commit));
}

#[test]
fn changes_made_without_a_recorded_commit_are_written_after_a_sync() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    let work_tree = local_path(&service);
    service.kill();
    // A clone without a recorded commit.
    by_hand(work_tree.clone(), &["update-ref", "-d", "refs/tollgate/in-force"]);
    by_hand(work_tree, &["update-ref", "-d", "refs/tollgate/taking"]);
    stage.server.set_mood(Mood::Down);
    let service = Service::start(&stage.home);
    let _ = service.save(&sample::rule("saved", "amount > 1")).expect(201);
    remove(&service, "a");
    stage.server.set_mood(Mood::Fine);
    sync(&service);
    let status = status(&service);
    assert_eq!((&status["untracked"], &status["deleted"]), (&json!(["saved.ws"]), &json!(["a.ws"])));
    assert_eq!(in_force(&service), ["saved"]);
}

#[test]
fn a_clone_that_was_replaced_is_not_taken_up_again() {
    needs!(Git);
    let one = Upstream::with(&[("one.ws", sample::rule("one", "amount > 1"))]);
    let other = Upstream::with(&[("other.ws", sample::rule("other", "amount > 1"))]);
    let home = open_home();
    let service = Service::start(&home);
    let url = |upstream: &Upstream| upstream.path().to_string_lossy().into_owned();
    let _ = service.post("/git/clone", &json!({ "url": url(&one) })).expect(200);
    let _ = service.post("/git/clone", &json!({ "url": url(&other) })).expect(200);
    service.kill();
    fs::remove_dir_all(home.data().join("git/rules")).unwrap();
    let service = Service::start(&home);
    assert_eq!(in_force(&service), ["other"]);
    assert_eq!(status(&service)["url"], json!(url(&other)), "it is cloned again");
    assert_eq!(status(&service)["up_to_date"], true);
    assert!(home.data().join("git/rules.replaced/one.ws").is_file(), "and the one before stays aside");
}

#[test]
fn a_damaged_clone_that_was_named_over_the_api_is_cloned_again() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let home = open_home();
    let service = Service::start(&home);
    let url = upstream.path().to_string_lossy().into_owned();
    let _ = service.post("/git/clone", &json!({ "url": url })).expect(200);
    service.kill();
    let git = home.data().join("git/rules/.git");
    for damaged in ["HEAD", "config"] {
        fs::write(git.join(damaged), "[nonsense").unwrap();
        let name = damaged.to_lowercase();
        upstream.commit(&[(format!("{name}.ws"), sample::rule(&name, "amount > 1"))]);
        let service = Service::start(&home);
        wait_until("it is cloned again", || status(&service)["up_to_date"] == true);
        assert!(in_force(&service).contains(&name), "{damaged}");
        service.kill();
    }
}

#[test]
fn a_rule_removed_while_the_clone_is_lost_is_removed_from_the_next_clone() {
    needs!(Git);
    let stage = Stage::new(Upstream::with(&[
        ("a.ws", sample::rule("a", "amount > 1")),
        ("b.ws", sample::rule("b", "amount > 1")),
    ]));
    Service::start(&stage.home).kill();
    fs::remove_dir_all(stage.home.data().join("git/rules")).unwrap();
    stage.server.set_mood(Mood::Down);
    let service = Service::start(&stage.home);
    remove(&service, "a");
    let _ = service.save(&sample::rule("saved", "amount > 1")).expect(201);
    let waiting = status(&service)["not_written"].clone();
    let names: Vec<&Value> = waiting.as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["a", "saved"], "{waiting}");
    stage.server.set_mood(Mood::Fine);
    sync(&service);
    let status = status(&service);
    assert_eq!((&status["deleted"], &status["untracked"]), (&json!(["a.ws"]), &json!(["saved.ws"])));
    assert_eq!(status["not_written"], json!([]));
    assert_eq!(in_force(&service), ["b", "saved"]);
}

#[test]
fn another_repository_may_be_configured_while_the_clone_is_lost() {
    needs!(Git);
    let mut stage = Stage::with_a_rule();
    Service::start(&stage.home).kill();
    fs::remove_dir_all(stage.home.data().join("git/rules")).unwrap();
    let other = Upstream::with(&[("other.ws", sample::rule("other", "amount > 1"))]);
    stage.home.set("WATCH_SCRIPT_GIT_REPO", &other.path().to_string_lossy());
    assert_eq!(in_force(&Service::start(&stage.home)), ["other"]);
}

#[test]
fn locks_that_a_killed_process_left_lock_nobody_out() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    let git = local_path(&service).join(".git");
    service.kill();
    for name in [
        "refs/tollgate/in-force",
        "refs/tollgate/taking",
        "refs/heads/main",
        "refs/remotes/origin/main",
        "HEAD",
    ] {
        fs::write(git.join(format!("{name}.lock")), "").unwrap();
    }
    stage.upstream.commit(&[("b.ws", sample::rule("b", "amount > 1"))]);
    let service = Service::start(&stage.home);
    sync(&service);
    let status = status(&service);
    assert_eq!(in_force(&service), ["a", "b"]);
    assert_eq!((&status["up_to_date"], &status["behind"]), (&json!(true), &json!(0)));
}
