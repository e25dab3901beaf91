//! Misbehaving processes, and the actions that confinement refuses to a thread.

use std::fs::{self, File};
use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::*;

const LONG: Duration = Duration::from_secs(20);
/// More bytes than a pipe holds.
const LARGE: usize = 1 << 20;

fn shell(line: &str) -> Process {
    ProcessLauncher::at("/bin/sh".into(), vec!["-c".into(), line.into()]).start().unwrap()
}

#[track_caller]
fn check(line: &str, question: &[u8], time_max: Duration, expected: &ProcessOutput) {
    let begun = Instant::now();
    let mut process = shell(line);
    assert_eq!(process.ask(question, LARGE + 3, begun + time_max).unwrap(), *expected, "{line}");
    process.end().unwrap();
    assert!(begun.elapsed() < LONG, "{line}: {:?}", begun.elapsed());
}

#[test]
fn a_process_is_read_whatever_it_does_with_the_question() {
    let question = vec![b'q'; LARGE];
    let short = Duration::from_millis(100);
    check("echo yes", b"", LONG, &ProcessOutput::Whole(b"yes\n".to_vec()));
    // It never reads the question, but replies.
    check("echo yes", &question, LONG, &ProcessOutput::Whole(b"yes\n".to_vec()));
    check("exec <&-; echo yes", &question, LONG, &ProcessOutput::Whole(b"yes\n".to_vec()));
    // The reply has the length of the question; both exceed a pipe.
    let echoed = [question.as_slice(), b"end"].concat();
    check(&format!("head -c {LARGE}; printf end"), &question, LONG, &ProcessOutput::Whole(echoed));
    check("exec yes", &question, LONG, &ProcessOutput::TooMuch);
    check("exec sleep 100", &question, short, &ProcessOutput::TooLate);
    check("exec cat", b"q", short, &ProcessOutput::TooLate);
    // The deadline also ends a process that writes without pause.
    check("while :; do echo; sleep 0.01; done", b"", short, &ProcessOutput::TooLate);
}

#[test]
fn how_a_process_ended_is_known() {
    let ending = |line: &str| {
        let mut process = shell(line);
        process.ask(b"", 100, Instant::now() + LONG).unwrap();
        process.end().unwrap()
    };
    assert!(ending("exit 0").is_success());
    assert!(!ending("exit 1").is_success());
    assert!(!ending("kill -SEGV $$").is_success());
    assert_eq!(ending("ulimit -c 0; kill -XCPU $$"), ProcessExit::ProcessorTime);
    assert_eq!(ending("ulimit -c 0; kill -XFSZ $$"), ProcessExit::FileSize);
}

#[test]
fn a_process_has_no_environment() {
    let mut process = ProcessLauncher::at("/usr/bin/env".into(), Vec::new()).start().unwrap();
    assert_eq!(process.ask(b"", 100, Instant::now() + LONG).unwrap(), ProcessOutput::Whole(Vec::new()));
}

#[test]
fn a_process_is_gone_with_what_holds_it() {
    let process = shell("exec sleep 100");
    let number = process.id();
    assert!(Path::new(&format!("/proc/{number}")).exists());
    drop(process);
    assert!(!Path::new(&format!("/proc/{number}")).exists(), "it was waited for, too");
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    assert!(ProcessLauncher::at("/nowhere/tollgate".into(), Vec::new()).start().is_err());
}

/// Actions that an unconfined thread may perform, each with its result.
fn attempts(folder: &Path, port: u16) -> Vec<(&'static str, io::Result<()>)> {
    let file = folder.join("file");
    let this = std::process::id();
    let process = rustix::process::getpid();
    vec![
        ("open a file", File::open(&file).map(drop)),
        ("open one of the system", File::open("/etc/passwd").map(drop)),
        ("read a memory", File::open(format!("/proc/{this}/mem")).map(drop)),
        ("make a file", File::create(folder.join("new")).map(drop)),
        ("make a folder", fs::create_dir(folder.join("folder"))),
        ("rename a file", fs::rename(&file, folder.join("other"))),
        ("open a folder", fs::read_dir(folder).map(drop)),
        ("connect", TcpStream::connect(("127.0.0.1", port)).map(drop)),
        ("listen", TcpListener::bind(("127.0.0.1", 0)).map(drop)),
        ("send to anybody", UdpSocket::bind(("127.0.0.1", 0)).map(drop)),
        ("connect to a neighbour", UnixStream::connect(folder.join("socket")).map(drop)),
        ("have a pair of sockets", UnixStream::pair().map(drop)),
        ("start a program", Command::new("/bin/true").status().map(drop)),
        ("start a thread", thread::Builder::new().spawn(|| {}).map(drop)),
        ("signal a process", rustix::process::kill_process(process, Signal::CONT).map_err(Into::into)),
        ("remove a file", fs::remove_file(folder.join("spare"))),
    ]
}

/// Performs the attempts in a separate thread, with or without confinement.
fn in_a_thread(
    reach: Option<ProcessNeeds<'static>>,
) -> (Option<Confinement>, Vec<(&'static str, io::Result<()>)>) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["file", "spare"] {
        fs::write(folder.path().join(name), "text").unwrap();
    }
    let _neighbour = UnixListener::bind(folder.path().join("socket")).unwrap();
    let peer = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let (path, port) = (folder.path().to_owned(), peer.local_addr().unwrap().port());
    thread::spawn(move || (reach.as_ref().map(raise), attempts(&path, port))).join().unwrap()
}

#[test]
fn a_process_that_only_computes_reaches_nothing() {
    for (what, done) in in_a_thread(None).1 {
        assert!(done.is_ok(), "without walls anybody can {what}: {done:?}");
    }
    let (walls, attempts) = in_a_thread(Some(ProcessNeeds::Nothing));
    if walls.as_ref().is_none_or(|walls| !walls.seccomp.is_whole()) {
        println!("this system has no seccomp: {walls:?}");
        return;
    }
    for (what, done) in attempts {
        let error = done.expect_err(what);
        let is_refused = error.kind() == io::ErrorKind::PermissionDenied;
        assert!(is_refused, "{what}: {error}");
    }
}

#[test]
fn a_process_limited_to_paths_reaches_no_others() {
    let (walls, attempts) = in_a_thread(Some(ProcessNeeds::Paths { paths: &[], port: None }));
    if walls.as_ref().is_none_or(|walls| !walls.are_whole()) {
        println!("this system has not all walls: {walls:?}");
        return;
    }
    for (what, done) in attempts {
        assert_eq!(
            done.is_ok(),
            ["have a pair of sockets", "start a thread"].contains(&what),
            "{what}: {done:?}"
        );
    }
}
