//! Whatever happens to standard error, the service starts, evaluates and stops, and it reports lost log lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionbio;
use serde_json::Value;
use tollgate_tests::home::bare_command;
use tollgate_tests::links::metric;
use tollgate_tests::log::{self, Log};
use tollgate_tests::poll::PATIENCE;
use tollgate_tests::{Home, Service, process, proof, sample};

const LOST: &str = "tollgate_log_lines_lost_total";
/// Maximum duration of a stop; the service waits one second for its log.
const END_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// More than a pipe and the log queue hold, at more than a kilobyte per line.
const MORE_THAN_FITS: usize = 1_500;
const CLIENTS: usize = 4;

/// Creates a home that logs more than a kilobyte for every payment.
fn home() -> Home {
    let rule = sample::rule("any", "amount > 0").replace("any matched", &"long ".repeat(200));
    let mut home = Home::with_rules(&[("any.ws", rule)]);
    home.set("SERVICE_LOG", "debug");
    home
}

/// Sends this many payments, each of which must return 200.
#[track_caller]
fn check_payments(service: &Service, name: &str, n_payments: usize) {
    let n_payments = proof::rounds(n_payments, 20 * n_payments);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let caller = service.client();
                for number in (client..n_payments).step_by(CLIENTS) {
                    let answer = caller.inject(&sample::transaction(&format!("{name}-{number}")));
                    assert_eq!(answer.status, 200, "{name}: {}", answer.text());
                }
            });
        }
    });
}

fn lost(service: &Service) -> u64 {
    metric(service, LOST)
}

/// Checks that payments succeed, lost lines are counted, and the service stops normally.
#[track_caller]
fn check_unheard(service: Service, name: &str) {
    check_payments(&service, name, MORE_THAN_FITS);
    service.until("lost lines are counted", || lost(&service) > 0);
    let page = service.get("/metrics").text();
    assert!(
        page.contains("# HELP tollgate_log_lines_lost Log lines lost because standard error was full"),
        "{page}"
    );
    let started = Instant::now();
    let (status, _) = service.stop();
    assert_eq!(status.code(), Some(0), "{name}: {status:?}");
    assert!(started.elapsed() < END_MAX, "{name}: the end took {:?}", started.elapsed());
}

fn serve(home: &Home, stderr: impl Into<Stdio>) -> Service {
    let mut command = home.command(&["serve"]);
    command.stderr(stderr);
    Service::start_unheard(home, command)
}

/// Returns a full pipe.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = io::pipe().unwrap();
    ioctl_fionbio(&writer, true).unwrap();
    while writer.write(b"\n").is_ok() {}
    ioctl_fionbio(&writer, false).unwrap();
    (reader, writer)
}

#[test]
fn a_pipe_without_a_reader_stops_nothing() {
    let home = home();
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    check_unheard(serve(&home, writer), "closed");
}

#[test]
fn a_pipe_that_is_full_at_the_start_stops_nothing() {
    let home = home();
    let (_reader, writer) = full_pipe();
    check_unheard(serve(&home, writer), "full");
}

#[test]
fn a_pipe_that_nobody_reads_stops_nothing() {
    let home = home();
    let (_reader, writer) = io::pipe().unwrap();
    check_unheard(serve(&home, writer), "unread");
}

#[test]
fn a_pipe_that_does_not_block_and_that_nobody_reads_stops_nothing() {
    let home = home();
    let (_reader, writer) = io::pipe().unwrap();
    ioctl_fionbio(&writer, true).unwrap();
    check_unheard(serve(&home, writer), "non-blocking");
}

#[test]
fn a_full_disk_stops_nothing() {
    let home = home();
    check_unheard(serve(&home, OpenOptions::new().write(true).open("/dev/full").unwrap()), "disk");
}

#[test]
fn a_log_as_long_as_a_file_may_be_stops_nothing() {
    let home = home();
    let log = OpenOptions::new().append(true).create(true).open(home.at("log")).unwrap();
    let service = serve(&home, log.try_clone().unwrap());
    // Large enough for the store to stay far below the limit.
    let n_bytes = 512 << 20;
    log.set_len(n_bytes).unwrap();
    process::limit_file_size(service.pid(), n_bytes);
    check_unheard(service, "limit");
}

#[test]
fn a_reader_that_leaves_in_the_middle_stops_nothing() {
    let home = home();
    let (reader, writer) = io::pipe().unwrap();
    let service = serve(&home, writer);
    check_payments(&service, "before", 10);
    assert_eq!(lost(&service), 0);
    drop(reader);
    check_unheard(service, "after");
}

#[test]
fn standard_descriptors_that_are_closed_are_nothing_to_write_a_log_into() {
    let home = home();
    let service = Service::start_unheard(&home, home.serve_by_shell("exec \"$0\" serve 0<&- 1>&- 2>&-"));
    for descriptor in 0..=2 {
        let file = fs::read_link(format!("/proc/{}/fd/{descriptor}", service.pid())).unwrap();
        assert_eq!(file.to_str(), Some("/dev/null"), "descriptor {descriptor}");
    }
    check_payments(&service, "nowhere", 20);
    assert_eq!(service.stop().0.code(), Some(0));
    assert_eq!(Service::start(&home).transaction("nowhere-19").status, 200);
}

/// Returns the number of lost lines according to the log.
fn n_reported(log: &Log) -> u64 {
    let counts = log.lines().into_iter().filter_map(|line| {
        let fields = log::fields(&line)?;
        let is_one = fields.get("message").and_then(Value::as_str)?.starts_with("log lines were lost");
        is_one.then(|| fields.get("lines").and_then(Value::as_u64))?
    });
    counts.sum()
}

/// Checks that every line is complete and all lost lines are reported.
#[track_caller]
fn check_reports(service: &Service, log: &Log) {
    service.until("the lost lines are told of", || n_reported(log) == lost(service));
    let broken: Vec<String> =
        log.lines().into_iter().filter(|line| !line.is_empty() && log::fields(line).is_none()).collect();
    assert!(broken.len() <= 1, "lines that are none: {broken:#?}");
}

#[test]
fn lines_that_found_no_room_are_counted_when_somebody_reads_again() {
    let home = home();
    let (reader, writer) = full_pipe();
    let service = serve(&home, writer);
    check_payments(&service, "unread", MORE_THAN_FITS);
    service.until("lines are lost", || lost(&service) > 0);
    let log = Log::new(reader);
    check_reports(&service, &log);
    let n_lost = lost(&service);
    check_payments(&service, "read", 10);
    let is_logged = |line: &str| line.contains("read-9").then_some(());
    assert!(log.wait_for(PATIENCE, is_logged).is_some());
    assert_eq!((lost(&service), n_reported(&log)), (n_lost, n_lost));
}

#[test]
fn lines_that_nobody_could_read_are_counted_when_somebody_comes() {
    let home = home();
    let path = home.at("log");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let opened = thread::spawn({
        let path = path.clone();
        move || File::open(path).unwrap()
    });
    let writer = OpenOptions::new().write(true).open(&path).unwrap();
    let reader = opened.join().unwrap();
    let service = serve(&home, writer);
    drop(reader);
    let mut n_rounds = 0;
    // A process that another test starts at this moment may keep the reader open until it runs its program.
    service.until("lines are lost", || {
        n_rounds += 1;
        check_payments(&service, &format!("unheard-{n_rounds}"), 10);
        lost(&service) >= 50
    });
    // The report needs no further event.
    let log = Log::new(File::open(&path).unwrap());
    check_reports(&service, &log);
}

#[test]
fn the_thread_of_the_log_does_not_get_signals_that_a_line_would_raise() {
    let service = Service::start(&Home::new());
    let threads = fs::read_dir(format!("/proc/{}/task", service.pid())).unwrap().flatten();
    let is_the_logs = |path: &std::path::PathBuf| {
        fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "log")
    };
    let thread = threads.map(|entry| entry.path()).find(is_the_logs).expect("it has a name");
    let status = fs::read_to_string(thread.join("status")).unwrap();
    let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap().trim();
    let blocked = u64::from_str_radix(blocked, 16).unwrap();
    let bit = |signal: u32| 1_u64 << (signal - 1);
    // SIGTTOU and SIGXFSZ.
    assert_eq!(blocked & (bit(22) | bit(25)), bit(22) | bit(25), "{blocked:x}");
}

#[test]
fn signals_that_mean_nothing_end_nothing() {
    let service = Service::start(&home());
    for signal in ["USR1", "USR2", "PIPE", "HUP", "HUP"] {
        process::signal(service.pid(), signal);
        check_payments(&service, signal, 4);
    }
    let is_reported =
        |line: &str| log::message(line).starts_with("SIGHUP: reading the rules directory").then_some(());
    assert!(service.log().wait_for(PATIENCE, is_reported).is_some());
    let (status, lines) = service.stop();
    assert_eq!((status.code(), status.signal()), (Some(0), None));
    assert_eq!(
        lines.last().map(|line| log::message(line)),
        Some("stopped".to_owned()),
        "the last line is written"
    );
}

#[test]
fn settings_that_do_not_do_end_the_start_also_where_nobody_hears_why() {
    let mut home = Home::new();
    home.set("SERVICE_PORT", "many");
    let (_kept, full) = full_pipe();
    let (reader, closed) = io::pipe().unwrap();
    drop(reader);
    for (name, stderr) in [("full", full), ("closed", closed)] {
        let started = Instant::now();
        let mut command = home.command(&["serve"]);
        let mut child = command.stderr(stderr).spawn().unwrap();
        let status = wait(&mut child);
        assert_eq!(status.code(), Some(2), "{name}: {status:?}");
        assert!(started.elapsed() < END_MAX, "{name}: {:?}", started.elapsed());
    }
    let refusal = Service::try_start(&home).err().unwrap();
    assert!(refusal.log.join("\n").contains("SERVICE_PORT"), "{:?}", refusal.log);
}

#[test]
fn no_command_panics_where_nobody_hears_it() {
    let home = Home::new();
    for arguments in [&["--help"][..], &["--version"], &["nonsense"], &["check", "nowhere.ws"], &["doctor"]] {
        let mut command = bare_command(&home.current(), arguments);
        let [stdout, stderr] = [0, 1].map(|_| io::pipe().unwrap().1);
        let mut child = command.stdout(stdout).stderr(stderr).spawn().unwrap();
        drop(command);
        let status = wait(&mut child);
        // 101 is the exit code of a panic; a nested panic ends with a signal.
        assert!(status.code().is_some_and(|code| code <= 2), "{arguments:?}: {status:?}");
    }
}

#[track_caller]
fn wait(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > deadline {
            child.kill().ok();
            panic!("it does not end");
        }
        thread::sleep(LOOK_EVERY);
    }
}
