//! `*.wasm` in a repository, and uploads that are pushed to one.

use std::fs;
use std::path::PathBuf;

use tollgate_tests::git::upstream::Step;
use tollgate_tests::git::{GitServer, Mood, Upstream};
use tollgate_tests::needs;

use super::*;

/// A repository, a server for it, and a service that follows it.
struct Stage {
    upstream: Upstream,
    _server: GitServer,
    home: Home,
    service: Service,
}

impl Stage {
    fn with(files: &[(&str, Vec<u8>)]) -> Self {
        let upstream = Upstream::new();
        commit(&upstream, files);
        let server = GitServer::start(upstream.root(), Mood::Fine);
        let mut home = Home::new();
        home.set("WATCH_SCRIPT_GIT_REPO", &server.url());
        home.set("WATCH_SCRIPT_GIT_BRANCH", "main");
        home.set("WATCH_SCRIPT_GIT_POLL_INTERVAL", "1h");
        let service = Service::start(&home);
        Self { upstream, _server: server, home, service }
    }

    fn sync(&self) -> Value {
        self.service.post("/git/sync", &json!({})).expect(200)
    }

    fn status(&self) -> Value {
        self.service.get("/git/status").expect(200)
    }

    fn push(&self) -> Value {
        self.service.post("/git/push", &json!({"message": "From here"})).expect(200)
    }

    fn work_tree(&self) -> PathBuf {
        self.home.data().join("git/rules")
    }

    /// Returns a file of the upstream branch.
    fn blob(&self, path: &str) -> Vec<u8> {
        let arguments = ["show", &format!("main:{path}")];
        let output =
            tollgate_tests::git::upstream::command(self.upstream.path(), &arguments).output().unwrap();
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }
}

fn commit(upstream: &Upstream, files: &[(&str, Vec<u8>)]) -> String {
    let steps: Vec<_> =
        files.iter().map(|(path, bytes)| (*path, Step::Put("100644", bytes.clone()))).collect();
    upstream.steps("main", &steps)
}

#[test]
fn a_module_of_a_commit_is_in_force_and_swapped_with_the_next() {
    needs!(Git);
    let stage = Stage::with(&[
        ("a.ws", sample::rule("a", "amount > 1").into_bytes()),
        ("cards/m.wasm", modules::rule("m", 1000)),
    ]);
    assert_eq!(in_force(&stage.service), ["a", "m"]);
    assert_eq!(stage.service.inject(&sample::transaction("t1")).triggered(), ["a"]);
    let id = instruction(&stage.service, "m")["id"].clone();
    // An invalid module keeps its last valid version, and the others take effect in one swap.
    let next = commit(
        &stage.upstream,
        &[
            ("a.ws", sample::rule("a", "amount > 1000").into_bytes()),
            ("bad.wasm", modules::above(1)),
            ("cards/m.wasm", modules::rule("m", 1)),
            ("n.wasm", modules::rule("n", 1)),
        ],
    );
    let synced = stage.sync();
    assert_eq!(
        (&synced["loaded"], &synced["changed"]),
        (&json!(["n.wasm"]), &json!(["a.ws", "cards/m.wasm"]))
    );
    let failed = &synced["failed"][0];
    assert_eq!(
        (&failed["path"], &failed["line"], &failed["column"]),
        (&json!("bad.wasm"), &Value::Null, &Value::Null)
    );
    assert!(failed["message"].as_str().unwrap().contains("manifest"), "{failed}");
    let judged = stage.service.inject(&sample::transaction("t2"));
    assert_eq!(
        (judged.triggered(), judged.at("/rule_set_version")),
        (vec!["m".to_owned(), "n".to_owned()], synced["rule_set_version"].clone())
    );
    let swapped = instruction(&stage.service, "m");
    assert_eq!((&swapped["id"], &swapped["source"]["commit"]), (&id, &json!(next)));
    commit(&stage.upstream, &[("cards/m.wasm", b"broken".to_vec())]);
    assert_eq!(stage.sync()["failed"].as_array().map(Vec::len), Some(2));
    assert_eq!(stage.service.inject(&sample::transaction("t3")).triggered(), ["m", "n"]);
    stage.upstream.remove(&["cards/m.wasm"]);
    assert_eq!(stage.sync()["removed"], json!(["cards/m.wasm"]));
    assert_eq!(in_force(&stage.service), ["a", "n"]);
}

#[test]
fn links_and_large_files_are_no_modules_and_an_executable_file_is_ordinary() {
    needs!(Git);
    let stage = Stage::with(&[("good.wasm", modules::rule("good", 1))]);
    stage.upstream.steps(
        "main",
        &[
            ("link.wasm", Step::Put("120000", b"good.wasm".to_vec())),
            ("program.wasm", Step::Put("100755", modules::rule("program", 1))),
            (
                "wide.wasm",
                Step::Put("100644", modules::with_section(&modules::rule("wide", 1), "x", &[0; 70_000])),
            ),
            (".hidden.wasm", Step::Put("100644", modules::rule("hidden", 1))),
        ],
    );
    let synced = stage.sync();
    let failed: Vec<&Value> = synced["failed"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert_eq!(failed, ["link.wasm", "wide.wasm"]);
    assert_eq!(in_force(&stage.service), ["good", "program"]);
}

#[test]
fn an_upload_is_written_pushed_and_comes_back_as_the_repositorys() {
    needs!(Git);
    let stage = Stage::with(&[("a.ws", sample::rule("a", "amount > 1").into_bytes())]);
    let bytes = modules::rule("saved", 1);
    let id = stage.service.upload("", &bytes).expect(201)["id"].clone();
    assert_eq!(stage.status()["untracked"], json!(["saved.wasm"]));
    assert_eq!(fs::read(stage.work_tree().join("saved.wasm")).unwrap(), bytes);
    assert_eq!(stage.push()["files"], json!(["saved.wasm"]));
    assert_eq!(stage.blob("saved.wasm"), bytes);
    let after = stage.status();
    assert_eq!(
        (&after["untracked"], &after["failed"], &after["not_written"]),
        (&json!([]), &json!([]), &json!([]))
    );
    let adopted = instruction(&stage.service, "saved");
    assert_eq!((&adopted["id"], &adopted["source"]["kind"]), (&id, &json!("git")));
    assert_eq!(stage.push()["files"], json!([]));
    // Removing the rule deletes its file locally, and a push deletes it remotely.
    assert_eq!(stage.service.delete(&path(&adopted)).status, 204);
    assert_eq!(stage.status()["deleted"], json!(["saved.wasm"]));
    stage.push();
    assert_eq!(stage.upstream.file("saved.wasm"), None);
    assert_eq!(in_force(&stage.service), ["a"]);
}

#[test]
fn the_service_removes_its_own_files_and_leaves_those_of_others() {
    needs!(Git);
    let stage = Stage::with(&[("a.ws", sample::rule("a", "amount > 1").into_bytes())]);
    let theirs = stage.work_tree().join("saved.wasm");
    fs::write(&theirs, b"theirs").unwrap();
    let bytes = modules::rule("saved", 1);
    let saved = stage.service.upload("", &bytes).expect(201);
    assert_eq!(stage.status()["untracked"], json!(["saved.wasm", "saved/saved.wasm"]));
    assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
    fs::remove_file(theirs).unwrap();
    // A script replaces the module: one file is removed and another added.
    assert_eq!(stage.service.delete(&path(&saved)).status, 204);
    let _ = stage.service.save(&sample::rule("saved", "amount > 1")).expect(201);
    assert_eq!(stage.status()["untracked"], json!(["saved.ws"]));
    // And back, with a restart in between.
    let script = instruction(&stage.service, "saved");
    assert_eq!(stage.service.delete(&path(&script)).status, 204);
    let _ = stage.service.upload("", &bytes).expect(201);
    let Stage { home, service, upstream, _server } = stage;
    service.kill();
    let service = Service::start(&home);
    let stage = Stage { upstream, _server, home, service };
    assert_eq!(stage.status()["untracked"], json!(["saved.wasm"]));
    assert_eq!(stage.push()["files"], json!(["saved.wasm"]));
    assert_eq!(stage.blob("saved.wasm"), bytes);
}
