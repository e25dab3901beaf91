//! Supervisors that start the service and check its health.

use std::fs;
use std::os::unix::net::UnixDatagram;

use tollgate_tests::poll::PATIENCE;
use tollgate_tests::programs::{Program, require, skip};
use tollgate_tests::{Home, Service, needs, process, sample};

use super::within::{can, home_within, innermost};

/// Reads the service's messages to systemd until this one arrives.
#[track_caller]
fn wait_for_word(socket: &UnixDatagram, word: &str) {
    let mut received = Vec::new();
    let mut message = [0; 4096];
    while !received.iter().any(|line: &String| line == word) {
        let n_bytes =
            socket.recv(&mut message).unwrap_or_else(|error| panic!("no {word}: {error}; {received:?}"));
        received.extend(String::from_utf8_lossy(&message[..n_bytes]).lines().map(str::to_owned));
    }
}

#[test]
fn systemd_hears_that_it_is_ready_alive_and_stopping() {
    let mut home = Home::new();
    let path = home.at("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    home.set("NOTIFY_SOCKET", path.to_str().unwrap());
    home.set("WATCHDOG_USEC", "100000");
    let service = Service::start(&home);
    for word in ["READY=1", "WATCHDOG=1", "WATCHDOG=1"] {
        wait_for_word(&socket, word);
    }
    service.terminate();
    wait_for_word(&socket, "STOPPING=1");
    assert_eq!(service.wait().0.code(), Some(0));
}

#[test]
fn a_health_check_needs_no_other_program() {
    let mut home = Home::with_rules(&[("large.ws", sample::rule("large", "amount > 100"))]);
    home.set("SERVICE_RULES_REQUIRED", "2");
    let service = Service::listen(&home);
    let port = service.address().rsplit(':').next().unwrap();
    for (host, arguments, code) in [
        ("127.0.0.1", &["healthcheck"][..], 0),
        ("0.0.0.0", &["healthcheck"], 0),
        ("127.0.0.1", &["healthcheck", "--ready"], 1),
    ] {
        let checked =
            home.command(arguments).env("SERVICE_PORT", port).env("SERVICE_HOST", host).output().unwrap();
        let said = String::from_utf8_lossy(&checked.stderr);
        assert_eq!(checked.status.code(), Some(code), "{arguments:?} {host}: {said}");
        assert_eq!(said.contains("SERVICE_RULES_REQUIRED asks for 2"), code == 1, "{said}");
    }
    let port = port.to_owned();
    drop(service);
    let checked = home.command(&["healthcheck"]).env("SERVICE_PORT", port).output().unwrap();
    assert_eq!(checked.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&checked.stderr).contains("cannot connect to 127.0.0.1:"));
}

#[test]
fn a_signal_to_stop_that_comes_before_anybody_listens_is_obeyed() {
    // The signal is blocked, sent and inherited by the service, like one that arrives in its first moments.
    let early =
        "use POSIX; sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGTERM)); kill(TERM => $$); exec @ARGV";
    let home = home_within(&format!("exec perl -e '{early}'"));
    // It may answer before it stops.
    let (status, log) = Service::listen(&home).wait();
    assert_eq!(status.code(), Some(0), "{status}: {log:#?}");
}

#[test]
fn the_first_process_of_a_container_waits_for_orphans() {
    needs!(Bubblewrap);
    require(Program::Bubblewrap);
    if !can("bwrap --bind / / true") {
        return skip("process 1");
    }
    // The second process is ended by a signal without a name.
    let before = "exec bwrap --die-with-parent --bind / / --dev-bind /dev /dev --unshare-pid --as-pid-1 --proc /proc -- \
                  sh -c '(sleep 0.5 &); (sh -c \"sleep 0.4; kill -40 \\$\\$\" &); exec \"$@\"' -";
    let service = Service::start(&home_within(before));
    let pid = innermost(&service);
    let is_orphan = |child: &u32| {
        let comm = fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
        ["sh", "sleep"].contains(&comm.trim())
    };
    service.until("the orphans have ended and are gone", || !process::children(pid).iter().any(is_orphan));
}
