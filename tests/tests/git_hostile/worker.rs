//! The worker process for untrusted Git data: its existence and its restrictions.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use tollgate_tests::home::bare_command;
use tollgate_tests::needs;
use tollgate_tests::process::{children, field};

use super::*;

/// Returns a service whose worker waits in the middle of a pack.
fn stuck() -> (Upstream, GitServer, Home, Service) {
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let server = GitServer::start(upstream.root(), Mood::Asking("Basic dXNlcjpjYW5hcnk=".to_owned()));
    let mut home = open_home();
    home.set("WATCH_SCRIPT_GIT_REPO", &server.url_as("user:canary"));
    home.set("SERVICE_LOG", "trace");
    let service = Service::start(&home);
    assert_eq!(names(&service), ["a"]);
    server.set_mood(Mood::Stuck);
    upstream.commit(&[("b.ws", sample::rule("b", "amount > 1"))]);
    (upstream, server, home, service)
}

/// Syncs on another thread. Returns the thread and its worker process.
fn worker_of(service: &Service, server: &GitServer) -> (std::thread::JoinHandle<Option<u16>>, u32) {
    let n_packs = || server.asked().iter().filter(|asked| asked.line.starts_with("POST")).count();
    let (client, before) = (service.client(), n_packs());
    let syncing = std::thread::spawn(move || {
        client.send("POST", "/git/sync", &[], &[]).map(|answer| answer.status).ok()
    });
    service.until("it asks for a pack", || n_packs() > before);
    let workers = children(service.pid());
    assert_eq!(workers.len(), 1, "{workers:?}");
    (syncing, workers[0])
}

#[test]
fn data_from_a_remote_is_processed_in_a_process_with_few_rights() {
    needs!(Git);
    let (_upstream, server, home, service) = stuck();
    let (syncing, worker) = worker_of(&service, &server);
    let of_worker = |name: &str| fs::read(format!("/proc/{worker}/{name}")).unwrap();
    let program = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).unwrap();
    assert_eq!(program(worker), program(service.pid()));
    assert_eq!(of_worker("cmdline"), b"tollgate\0git-worker\0");
    assert_eq!(of_worker("environ"), b"", "it has no environment");
    assert_eq!(field(worker, "NoNewPrivs:"), 1);
    assert_eq!(field(worker, "Seccomp:"), 2, "its calls of the system are filtered");
    let limits = String::from_utf8(of_worker("limits")).unwrap();
    for (name, limits_of_it) in [
        ("Max core file size", ["0"; 2]),
        // One second to receive the signal.
        ("Max cpu time", ["61", "62"]),
        ("Max file size", ["335544320"; 2]),
        ("Max data size", ["268435456"; 2]),
        ("Max address space", ["2147483648"; 2]),
        ("Max open files", ["4096"; 2]),
    ] {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        assert_eq!(line.split_whitespace().take(2).collect::<Vec<_>>(), limits_of_it, "{name}");
    }
    // Three pipes, the connection and its clone: no other descriptor of the service is inherited.
    let folder = fs::canonicalize(home.data()).unwrap().join("git/rules/.git");
    let inherited = held_by(std::process::id());
    let held: Vec<String> = held_by(worker)
        .into_iter()
        .filter(|target| !inherited.contains(target) && target != "/dev/null")
        .collect();
    let n_held = |start: &str| held.iter().filter(|target| target.starts_with(start)).count();
    assert_eq!((n_held("pipe:"), n_held("socket:")), (3, 1), "{held:?}");
    assert_eq!(n_held(&folder.to_string_lossy()) + 4, held.len(), "{held:?}");
    // The password is in the service's memory only.
    assert!(!memory(worker).windows(6).any(|six| six == b"canary"), "the worker does not know the password");
    let is_walled = service.log().lines().iter().any(|line| line.contains("git runs in a separate process"));
    assert!(is_walled, "it is said which walls there are");
    server.set_mood(Mood::Fine);
    assert!(syncing.join().unwrap().is_some());
    assert_eq!(children(service.pid()), [0_u32; 0]);
}

/// Returns the open files of a process.
fn held_by(pid: u32) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    files.filter_map(|file| Some(fs::read_link(file.path()).ok()?.to_string_lossy().into_owned())).collect()
}

/// Returns the writable memory of a process.
fn memory(pid: u32) -> Vec<u8> {
    use std::io::{Seek as _, SeekFrom};
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let mut file = fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let mut all = Vec::new();
    for line in
        maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|rights| rights.starts_with("rw")))
    {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [from, to] = [from, to].map(|number| u64::from_str_radix(number, 16).unwrap());
        file.seek(SeekFrom::Start(from)).unwrap();
        let _ = std::io::Read::by_ref(&mut file).take(to - from).read_to_end(&mut all);
    }
    assert!(all.len() > 64 * 1024, "{} bytes", all.len());
    all
}

/// Runs a worker that fetches into an empty repository. Returns its reply, and whether it fetched.
fn fetched(url: &str, port: Option<u16>, neighbour: Option<&Path>) -> (Value, bool) {
    let here = Upstream::new();
    let request = json!({
        "git_directory": here.path(), "objects": here.path().join("objects"), "url": url, "port": port,
        "neighbour": neighbour, "login": "Nothing", "task": { "Fetch": { "reference": "HEAD" } }, "time_max_ms": 10_000,
    });
    let mut worker = bare_command(here.root(), &["git-worker"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Kept open until the reply, because closing it ends the worker.
    let mut questions = worker.stdin.take().unwrap();
    questions.write_all(format!("{request}\n").as_bytes()).unwrap();
    let mut said = Vec::new();
    worker.stdout.take().unwrap().read_to_end(&mut said).unwrap();
    assert_eq!(worker.wait().unwrap().code(), Some(0));
    drop(questions);
    let reply: Value = serde_json::from_slice(&said).unwrap();
    let is_fetched = !reply["outcome"]["Fetched"].is_null();
    (reply, is_fetched)
}

#[test]
fn a_worker_opens_no_other_file_and_no_other_connection_than_it_was_given() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let (path, server) = (upstream.path(), GitServer::start(upstream.root(), Mood::Fine));
    let text = path.to_string_lossy().into_owned();
    let port = server.address().rsplit_once(':').unwrap().1.parse::<u16>().unwrap();
    let (reply, is_fetched) = fetched(&text, None, Some(&path));
    assert!(is_fetched, "{reply}");
    assert!(fetched(&server.url(), Some(port), None).1, "the port was given");
    if reply["walls"]["landlock"] != "Whole" {
        println!("this kernel has no Landlock, or an old one: {reply}");
        return;
    }
    let n_asked = server.asked().len();
    for (url, port, what) in [
        (text, Some(port), "a repository that it was not given"),
        (server.url(), None, "a port, without any that was given"),
        (server.url(), Some(port ^ 1), "a port beside the one that was given"),
    ] {
        let (reply, is_fetched) = fetched(&url, port, None);
        assert!(!is_fetched, "{what}: {reply}");
    }
    assert_eq!(server.asked().len(), n_asked, "nobody came");
}

#[test]
fn a_worker_that_is_asked_for_nothing_ends() {
    let home = Home::new();
    for request in ["", "\n", "{}\n", "nonsense"] {
        let mut worker =
            bare_command(&home.current(), &["git-worker"]).stdin(Stdio::piped()).spawn().unwrap();
        worker.stdin.take().unwrap().write_all(request.as_bytes()).unwrap();
        assert_eq!(worker.wait().unwrap().code(), Some(3), "{request:?}");
    }
    let help = bare_command(&home.current(), &["--help"]).stdout(Stdio::piped()).output().unwrap();
    assert!(!String::from_utf8_lossy(&help.stdout).contains("worker"), "it is not for people");
}

#[test]
fn a_worker_does_not_outlive_its_service() {
    needs!(Git);
    let (_upstream, server, home, service) = stuck();
    let (syncing, worker) = worker_of(&service, &server);
    let is_there = || {
        fs::read_to_string(format!("/proc/{worker}/cmdline")).is_ok_and(|line| line.contains("git-worker"))
    };
    assert!(is_there());
    service.kill();
    assert_eq!(syncing.join().unwrap(), None);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while is_there() {
        assert!(std::time::Instant::now() < deadline, "the worker is still there");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // The next operation removes its remains.
    server.set_mood(Mood::Fine);
    let service = Service::start(&home);
    service.until("the new rule is in force", || names(&service).len() == 2);
    assert!(!home.data().join("git/rules/.git/incoming").exists());
}

#[test]
fn words_of_a_remote_are_short_and_plain_in_the_log() {
    needs!(Git);
    let upstream = Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let server = GitServer::start(upstream.root(), Mood::Fine);
    let service = Service::start(&open_home());
    let begun = service.log().lines().len();
    for words in [
        "200 OK\r\nContent-Type: text/\u{1b}[31m{\"message\":\"listening\"}\u{202e}evil\r\nContent-Length: 0\r\n\r\n",
        "500 \u{1b}]0;evil\u{7}\r\nContent-Length: 0\r\n\r\n",
        "200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\nContent-Length: 60000\r\n\r\nfff0ERR \u{1b}[31mevil\n",
    ] {
        server.set_mood(Mood::Saying(words));
        let answer = clone(&service, &server.url());
        assert_eq!(answer.code(), "git_remote_failed", "{words:?}: {}", answer.text());
        assert!(!answer.text().contains("evil"), "{}", answer.text());
    }
    for line in service.log().lines().iter().skip(begun) {
        assert!(line.len() < 1500 && !line.contains("\\u001b") && !line.contains('\u{1b}'), "{line}");
    }
}
