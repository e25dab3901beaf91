//! Misbehaving workers.

use super::*;

const LONG: Duration = Duration::from_secs(20);

/// Runs a request with this shell command as the worker.
fn run(line: &str, time_max_ms: u64) -> Result<TaskOutcome, WorkerEnd> {
    let program = ProcessLauncher::at("/bin/sh".into(), vec!["-c".into(), line.into()]);
    let worker = Worker { program: Some(program), time_max: LONG };
    let request = WorkerRequest {
        git_directory: "/nowhere".into(),
        objects: "/nowhere".into(),
        url: "http://127.0.0.1:9/".to_owned(),
        port: None,
        neighbour: None,
        login: Login::Nothing,
        task: Task::Fetch { reference: "HEAD".to_owned() },
        time_max_ms,
    };
    worker.run(&request, |_| {})
}

#[track_caller]
fn check(line: &str, expected: &str) {
    let begun = Instant::now();
    let end = format!("{:?}", run(line, 10_000).unwrap_err());
    assert!(end.contains(expected), "{line}: {end}");
    assert!(begun.elapsed() < LONG, "{line}: {:?}", begun.elapsed());
}

#[test]
fn how_a_worker_ended_is_said() {
    check("exit 7", "exit status: 7");
    check("kill -9 $$", "was ended by SIGKILL while starting");
    check(
        "echo setting up confinement >&2; kill -SYS $$",
        "SIGSYS while setting up confinement; a system call filter",
    );
    check("echo the system refuses setrlimit >&2; exit 3", "cannot run: the system refuses setrlimit");
    check("kill -SEGV $$", "was ended by SIGSEGV");
    check("ulimit -c 0; kill -XFSZ $$", "OverLimit");
    check("ulimit -c 0; kill -XCPU $$", "TooSlow");
    check("echo nonsense", "exit status: 0");
    check("exec yes", "its reply is too long");
    // It closes its output but does not exit.
    check("exec >&-; exec sleep 100", "was ended by SIGKILL");
}

#[test]
fn the_reply_of_a_worker_is_its_outcome() {
    let reply =
        r#"{"walls":{"landlock":"Whole","seccomp":{"Missing":"why"}},"outcome":{"Failed":{"Other":"why"}}}"#;
    let outcome = run(&format!("head -n 1 >/dev/null; echo '{reply}'"), 10_000).unwrap();
    assert!(matches!(outcome, TaskOutcome::Failed(TaskFailure::Other(why)) if why == "why"));
}

#[test]
fn a_worker_that_does_not_end_is_ended_in_time() {
    let begun = Instant::now();
    assert!(matches!(run("exec sleep 100", 100), Err(WorkerEnd::TooSlow)));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn a_signal_for_the_group_of_the_service_is_not_for_a_worker() {
    // The fifth field is the process group; a group leader has its own id there.
    check("read -r _ _ _ _ group _ < /proc/self/stat; [ \"$group\" = $$ ] && exit 7", "exit status: 7");
}
