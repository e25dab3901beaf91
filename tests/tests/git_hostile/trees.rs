//! Commits with invalid contents.

use std::fs;
use std::path::Path;

use tollgate_tests::git::upstream::Step;
use tollgate_tests::needs;

use super::*;

fn file(text: &str) -> Step {
    Step::Put("100644", text.as_bytes().to_vec())
}

/// Serves and clones a repository. Returns the home, the service and the response.
fn cloned(upstream: &Upstream) -> (Home, Service, Answer) {
    let server = GitServer::start(upstream.root(), Mood::Fine);
    let home = open_home();
    let service = Service::start(&home);
    let answer = clone(&service, &server.url());
    (home, service, answer)
}

/// Returns every path below a folder, without following links and without `.git`.
fn everything_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            assert!(!entry.file_type().unwrap().is_symlink(), "a link: {:?}", entry.path());
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                found.push(entry.path().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

/// Returns the files of the work tree.
fn work_tree(home: &Home) -> Vec<String> {
    let rules = home.data().join("git/rules");
    let start = format!("{}/", rules.to_string_lossy());
    let below = everything_below(&rules);
    let names = below.iter().map(|path| path.trim_start_matches(&start).to_owned());
    names.filter(|path| !path.starts_with(".git/")).collect()
}

#[test]
fn links_and_submodules_are_nothing_and_are_said_and_an_executable_file_is_ordinary() {
    needs!(Git);
    let upstream = Upstream::new();
    upstream.steps(
        "main",
        &[
            ("good.ws", file(&sample::rule("good", "amount > 1"))),
            ("link.ws", Step::Put("120000", b"/etc/passwd".to_vec())),
            ("lists/link.txt", Step::Put("120000", b"/etc/passwd".to_vec())),
            ("program.ws", Step::Put("100755", sample::rule("program", "amount > 1").into_bytes())),
            ("hooks/post-checkout", Step::Put("100755", b"#!/bin/sh\ntouch /tmp/hooked".to_vec())),
            (
                ".gitattributes",
                file("*.ws filter=evil diff=evil working-tree-encoding=UTF-16 ident text eol=crlf\n"),
            ),
            (".gitmodules", file("[submodule \"x\"]\n\tpath = x\n\turl = file:///etc\n")),
            (".hidden/a.ws", file(&sample::rule("hidden", "amount > 1"))),
        ],
    );
    let head = upstream.head("main").unwrap();
    let listing = upstream.git(&["ls-tree", &head]);
    let with_module = format!("{listing}\n160000 commit {head}\tmodule.ws\n");
    let tree = upstream.run(&["mktree", "--missing"], with_module.as_bytes());
    let commit = upstream.git(&["commit-tree", &tree, "-p", &head, "-m", "a submodule"]);
    upstream.git(&["update-ref", "refs/heads/main", &commit]);
    let (home, service, answer) = cloned(&upstream);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(names(&service), ["good", "program"]);
    assert_eq!(failed_paths(&service), ["lists/link.txt", "link.ws", "module.ws"]);
    assert_eq!(work_tree(&home), ["good.ws", "program.ws"]);
    let text = fs::read_to_string(home.data().join("git/rules/good.ws")).unwrap();
    assert_eq!(text, sample::rule("good", "amount > 1"), "no filter, no line ends");
    assert!(!Path::new("/tmp/hooked").exists());
    let status = service.get("/git/status").expect(200);
    assert_eq!((&status["modified"], &status["deleted"]), (&json!([]), &json!([])));
}

#[test]
fn links_and_submodules_with_rules_behind_them_are_said() {
    needs!(Git);
    for list in ["names/stopped.txt", "names/stopped.csv"] {
        check_links(list);
    }
}

/// Checks the links of a repository in which only `list` is a list behind a link.
#[track_caller]
fn check_links(list: &str) {
    let upstream = Upstream::new();
    let link = |target: &str| Step::Put("120000", target.as_bytes().to_vec());
    upstream.steps(
        "main",
        &[
            ("shared/good.ws", file(&sample::rule("good", "amount > 1"))),
            ("names/deep/stopped.txt", file("EUR\n")),
            (list, file("EUR\n")),
            ("docs/page.md", file("ours")),
            (".old/gone.ws", file(&sample::rule("gone", "amount > 1"))),
            // Links to rules, or possibly to rules.
            ("linked", link("shared")),
            ("sub/also", link(".././shared/")),
            ("through", link("linked/../linked")),
            ("everything", link(".")),
            ("current", link(".old")),
            ("lists", link("names")),
            ("out", link("../rules")),
            ("away", link("/etc/rules")),
            ("within", link("vendor/rules")),
            // Links without rules.
            ("page", link("docs/page.md")),
            ("pages", link("docs")),
            ("same", link("names")),
            ("nowhere", link("none")),
            ("loop", link("loop")),
            (".hidden", link("shared")),
        ],
    );
    let head = upstream.head("main").unwrap();
    let listing = upstream.git(&["ls-tree", &head]);
    let with_module = format!("{listing}\n160000 commit {head}\tvendor\n160000 commit {head}\t.vendor\n");
    let tree = upstream.run(&["mktree", "--missing"], with_module.as_bytes());
    let commit = upstream.git(&["commit-tree", &tree, "-p", &head, "-m", "a submodule"]);
    upstream.git(&["update-ref", "refs/heads/main", &commit]);
    let (_home, service, answer) = cloned(&upstream);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(names(&service), ["good"]);
    let mut failed = failed_paths(&service);
    failed.sort_by_key(ToString::to_string);
    let expected = [
        "away",
        "current",
        "everything",
        "linked",
        "lists",
        "out",
        "sub/also",
        "through",
        "vendor",
        "within",
    ];
    assert_eq!(failed, expected);
    let status = service.get("/git/status").expect(200);
    assert_eq!((&status["modified"], &status["deleted"]), (&json!([]), &json!([])));
}

#[test]
fn paths_that_lead_elsewhere_are_not_written() {
    needs!(Git);
    let upstream = Upstream::new();
    let blob = upstream.run(&["hash-object", "-w", "--stdin"], sample::rule("evil", "amount > 1").as_bytes());
    let good = upstream.run(&["hash-object", "-w", "--stdin"], sample::rule("good", "amount > 1").as_bytes());
    // Created manually, because `git` itself refuses.
    let mut entries: Vec<(String, String)> = vec![("good.ws".to_owned(), good)];
    for name in ["..\\up.ws", "git~1.ws", "con:a.ws", "a\u{202e}.ws"] {
        entries.push((name.to_owned(), blob.clone()));
    }
    entries.push((format!("{}.ws", "x".repeat(300)), blob.clone()));
    let inner = raw_tree(&upstream, &[("100644", "evil.ws", &blob)]);
    let mut all: Vec<(&str, &str, &str)> =
        entries.iter().map(|(name, blob)| ("100644", name.as_str(), blob.as_str())).collect();
    all.extend([("40000", "..", inner.as_str()), ("40000", ".git", &inner), ("40000", ".GIT", &inner)]);
    let tree = raw_tree(&upstream, &all);
    let commit = upstream.git(&["commit-tree", &tree, "-m", "astray"]);
    upstream.git(&["update-ref", "refs/heads/main", &commit]);
    let (home, service, answer) = cloned(&upstream);
    if answer.status == 200 {
        assert_eq!(names(&service), ["good"]);
        assert_eq!(failed_paths(&service).len(), 4, "{:?}", failed_paths(&service));
        assert_eq!(work_tree(&home), ["good.ws"]);
    } else {
        assert_eq!(answer.code(), "git_remote_failed");
    }
    for path in everything_below(&home.data()) {
        assert!(!path.ends_with("evil.ws"), "{path}");
    }
}

/// Stores a raw tree object, valid or not.
fn raw_tree(upstream: &Upstream, entries: &[(&str, &str, &str)]) -> String {
    let mut sorted = entries.to_vec();
    let key = |(mode, name, _): &(&str, &str, &str)| {
        if *mode == "40000" { format!("{name}/") } else { (*name).to_owned() }
    };
    sorted.sort_by_key(key);
    let mut bytes = Vec::new();
    for (mode, name, id) in sorted {
        bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        let digit = |index: usize| u8::from_str_radix(id.get(index..index + 2).unwrap(), 16).unwrap();
        bytes.extend((0..40).step_by(2).map(digit));
    }
    upstream.run(&["hash-object", "-t", "tree", "-w", "--stdin", "--literally"], &bytes)
}

#[test]
fn names_that_differ_in_case_are_two() {
    needs!(Git);
    let upstream = Upstream::with(&[
        ("Twin.ws", sample::rule("upper", "amount > 1")),
        ("twin.ws", sample::rule("lower", "amount > 1")),
    ]);
    let (home, service, _) = cloned(&upstream);
    assert_eq!(names(&service).len(), 2);
    assert_eq!(work_tree(&home), ["Twin.ws", "twin.ws"]);
}

#[test]
fn a_commit_that_is_too_much_is_refused_whole() {
    needs!(Git);
    let many: Vec<_> = (0..1_001).map(|n| (format!("{n}.ws"), "rule".to_owned())).collect();
    let (home, service, answer) = cloned(&Upstream::with(&many));
    assert_eq!((answer.status, answer.code().as_str()), (422, "git_rules_over_limit"));
    assert_eq!(names(&service), [""; 0]);
    assert!(!home.data().join("git/rules").exists());
}

#[test]
fn a_file_that_is_too_large_or_no_text_is_said_and_stops_no_other() {
    needs!(Git);
    let upstream = Upstream::new();
    upstream.steps(
        "main",
        &[
            ("good.ws", file(&sample::rule("good", "amount > 1"))),
            ("bytes.ws", Step::Put("100644", vec![0xff, 0xfe, 0])),
            ("large.ws", file(&"# much too large\n".repeat(8 * 1024))),
            ("empty.ws", file("")),
            ("video.mp4", Step::Put("100644", vec![0; 4 << 20])),
        ],
    );
    let (home, service, answer) = cloned(&upstream);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(names(&service), ["good"]);
    assert_eq!(failed_paths(&service), ["bytes.ws", "empty.ws", "large.ws"]);
    assert_eq!(work_tree(&home), ["bytes.ws", "empty.ws", "good.ws"]);
}

#[test]
fn the_git_configuration_of_the_machine_is_ignored() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let server = GitServer::start(upstream.root(), Mood::Fine);
    let mut home = open_home();
    let folder = home.current();
    let trap = GitServer::start(upstream.root(), Mood::Down);
    let config = format!(
        "[url \"http://{trap}/\"]\n\tinsteadOf = http://{server}/\n[http]\n\tproxy = http://{trap}\n\
         [credential]\n\thelper = \"!touch {touched}\"\n[core]\n\thooksPath = {folder}\n\tattributesFile = {folder}/x\n\
         [init]\n\ttemplateDir = {folder}\n",
        trap = trap.address(),
        server = server.address(),
        folder = folder.display(),
        touched = folder.join("touched").display(),
    );
    fs::write(folder.join(".gitconfig"), config).unwrap();
    home.set("HOME", &folder.to_string_lossy());
    home.set("https_proxy", &format!("http://{}", trap.address()));
    home.set("http_proxy", &format!("http://{}", trap.address()));
    let service = Service::start(&home);
    assert_eq!(clone(&service, &server.url()).status, 200);
    server.set_mood(Mood::Refusing);
    assert_eq!(service.post("/git/sync", &json!({})).code(), "git_credentials_refused");
    assert!(trap.asked().is_empty() && !folder.join("touched").exists());
}
