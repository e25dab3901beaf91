//! Diverging histories: content that exists on one side only is never lost silently.

use std::fs;
use tollgate_tests::needs;

use super::*;

/// Commits a new file in the work tree, on top of the local branch.
fn commit_by_hand(service: &Service, name: &str) -> String {
    let git = |arguments: &[&str]| by_hand(local_path(service), arguments);
    fs::write(local_path(service).join(format!("{name}.ws")), sample::rule(name, "amount > 1")).unwrap();
    git(&["read-tree", "HEAD"]);
    git(&["add", "."]);
    let tree = git(&["write-tree"]);
    let head = git(&["rev-parse", "HEAD"]);
    let commit = git(&["commit-tree", &tree, "-p", &head, "-m", "by hand"]);
    git(&["update-ref", "refs/heads/main", &commit]);
    commit
}

#[test]
fn a_forced_sync_keeps_local_commits_under_a_name() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    let mut kept = Vec::new();
    for round in 0..18 {
        let commit = commit_by_hand(&service, &format!("mine{round}"));
        stage.upstream.rewrite(&[("a.ws", sample::rule("a", &format!("amount > {round}")))]);
        let synced = service.post("/git/sync", &json!({ "force": true })).expect(200);
        let name = synced["replaced"].as_str().expect("the answer names the reference").to_owned();
        assert!(name.starts_with("refs/tollgate/replaced/"), "{name}");
        kept.push((name, commit));
        assert_eq!(status(&service)["ahead"], 0);
    }
    let named = by_hand(
        local_path(&service),
        &["for-each-ref", "--format=%(refname) %(objectname)", "refs/tollgate/replaced/"],
    );
    let expected: Vec<String> = kept.iter().map(|(name, commit)| format!("{name} {commit}")).collect();
    assert_eq!(named.lines().collect::<Vec<_>>(), expected[2..], "the latest 16 are kept");
    let mine = by_hand(local_path(&service), &["show", &format!("{}:mine17.ws", kept[17].0)]);
    assert_eq!(mine, sample::rule("mine17", "amount > 1").trim());
    let _ = stage.upstream.commit(&[("b.ws", sample::rule("b", "amount > 1"))]);
    assert_eq!(sync(&service)["replaced"], Value::Null, "nothing gave way");
    let (_, lines) = service.stop();
    assert!(lines.iter().any(|line| line.contains(&kept[0].0)), "and so does the log");
}

#[test]
fn a_push_does_not_bring_back_what_the_remote_took_back() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let before = stage.upstream.head("main").unwrap();
    stage.upstream.commit(&[("bad.ws", sample::rule("bad", "amount > 1"))]);
    let service = Service::start(&stage.home);
    assert_eq!(in_force(&service), ["a", "bad"]);
    let _ = service.save(&sample::rule("saved", "amount > 1")).expect(201);
    // The remote branch is reset, so a push would restore the commits removed there.
    stage.upstream.git(&["update-ref", "refs/heads/main", &before]);
    let push = || service.post("/git/push", &json!({"message": "Mine"}));
    for seen in ["not", "already"] {
        let refused = push();
        assert_eq!((refused.status, refused.code().as_str()), (409, "git_history_rewritten"), "{seen} seen");
        assert_eq!(stage.upstream.head("main"), Some(before.clone()), "{seen} seen");
        assert_eq!(status(&service)["history_rewritten"], true);
        assert_eq!(service.post("/git/sync", &json!({})).code(), "git_history_rewritten");
    }
    let _ = service.post("/git/sync", &json!({ "force": true })).expect(200);
    assert_eq!(push().expect(200)["files"], json!(["saved.ws"]));
    assert_eq!(stage.upstream.file("bad.ws"), None);
    assert_eq!(in_force(&service), ["a", "saved"]);
    // A push does not recreate a deleted branch.
    let _ = service.save(&sample::rule("more", "amount > 1")).expect(201);
    stage.upstream.delete_branch("main");
    assert_eq!(push().code(), "git_branch_not_found");
    assert_eq!(stage.upstream.head("main"), None);
}

#[test]
fn a_push_names_everything_that_is_new_at_the_remote() {
    needs!(Git);
    let stage = Stage::with_a_rule();
    let service = Service::start(&stage.home);
    commit_by_hand(&service, "mine");
    let _ = service.save(&sample::rule("saved", "amount > 1")).expect(201);
    let pushed = service.post("/git/push", &json!({"message": "Both"})).expect(200);
    assert_eq!(pushed["files"], json!(["mine.ws", "saved.ws"]));
    assert_eq!(in_force(&service), ["a", "mine", "saved"]);
}
