//! Every environment: start, readiness, evaluation, saving a script, uploading a module, cloning a repository, stop.
//! Each operation works or is refused with a cause and a remedy.

use std::process::Command;

use serde_json::json;
use syscalls::Sysno;
use tollgate_tests::git::{GitServer, Mood, Upstream};
use tollgate_tests::programs::{Program, require, skip};
use tollgate_tests::{Home, Service, modules, needs, process, sample};

use super::deploy::of_unit;
use super::within::{
    Kind, NOBODY, Otherwise, Refused, UNCONFINED, calls_of, can, give_to_nobody, home_behind_filter,
    home_that_is_refused, home_within, innermost,
};

/// Expected behaviour of a service.
enum Expected {
    /// Everything works. Readiness contains this text.
    Works(&'static str),
    /// Transactions are evaluated; modules and Git are refused with this text in responses and readiness.
    JudgesAlone(&'static str),
    /// The service does not start and reports this text.
    DoesNotStart(&'static str),
}

use Expected::{DoesNotStart, JudgesAlone, Works};

fn run(home: &Home, expected: &Expected) {
    match (Service::try_start(home), expected) {
        (Ok(service), Works(words)) => check_life(service, words, None),
        (Ok(service), JudgesAlone(words)) => check_life(service, words, Some(words)),
        (Err(refusal), DoesNotStart(words)) => {
            assert_eq!(refusal.code, Some(1), "{:#?}", refusal.log);
            assert!(refusal.log.iter().any(|line| line.contains(words)), "{:#?}", refusal.log);
        }
        (Ok(_), DoesNotStart(words)) => panic!("it starts, though {words}"),
        (Err(refusal), _) => panic!("it does not start: {:#?}", refusal.log),
    }
}

/// Checks all operations. `refused` is the text with which modules and Git are refused, if they are.
pub(crate) fn check_life(service: Service, words: &str, refused: Option<&str>) {
    let ready = service.get("/readyz").text();
    assert!(ready.contains(words), "{ready}");
    let judged =
        service.inject(&sample::with(&sample::transaction("large"), &json!({"amount": 500}))).expect(200);
    assert_eq!(judged["verdict"], "block");
    let saved = service.save(&sample::rule("small", "amount < 2")).expect(201);
    let judged =
        service.inject(&sample::with(&sample::transaction("small"), &json!({"amount": 1}))).expect(200);
    assert_eq!((&judged["verdict"], &saved["name"]), (&json!("block"), &json!("small")));
    let upload = service.upload("", &modules::rule("uploaded", 5));
    let upstream = Upstream::with(&[("cloned.ws", sample::rule("cloned", "amount > 7000"))]);
    let server = GitServer::start(upstream.root(), Mood::Fine);
    let clone = service.post("/git/clone", &json!({ "url": server.url(), "branch": "main" }));
    match refused {
        None => assert_eq!((upload.status, clone.status), (201, 200), "{} {}", upload.text(), clone.text()),
        Some(words) => {
            assert_eq!(
                (upload.status, upload.code().as_str()),
                (503, "compiler_unavailable"),
                "{}",
                upload.text()
            );
            assert!(upload.text().contains(words), "{}", upload.text());
            assert!(clone.status >= 400, "{}", clone.text());
        }
    }
    let quarantined = service.get("/instructions").text().contains("\"quarantine\":{");
    assert!(!quarantined, "{}", service.get("/instructions").text());
    process::signal(innermost(&service), "TERM");
    let (status, log) = service.wait();
    assert_eq!(status.code(), Some(0), "{log:#?}");
}

/// Runs the check if this machine can create the environment.
#[track_caller]
fn check(name: &str, can_be_made: bool, before: &str, settings: &[(&str, &str)], expected: &Expected) {
    check_home(name, can_be_made, || home_within(before), settings, expected);
}

#[track_caller]
fn check_home(
    name: &str,
    can_be_made: bool,
    home: impl FnOnce() -> Home,
    settings: &[(&str, &str)],
    expected: &Expected,
) {
    if !can_be_made {
        return skip(&format!("an environment that cannot be made here: {name}"));
    }
    let mut home = home();
    for (name, value) in settings {
        home.set(name, value);
    }
    home.set("SERVICE_GIT_ALLOW_PRIVATE", "true");
    home.set("SERVICE_GIT_ALLOW_SCHEMES", "http");
    run(&home, expected);
    println!("held: {name}");
}

fn has_bwrap() -> bool {
    require(Program::Bubblewrap);
    can("bwrap --bind / / true")
}

/// Runs the check with a filter of the system calls that this unit setting names.
#[track_caller]
fn check_filter(name: &str, setting: &str, without: &[&str], otherwise: Otherwise, expected: &Expected) {
    let can_be_made = has_bwrap();
    let home = || {
        let is_left = |name: &String| !without.contains(&name.as_str());
        home_behind_filter(calls_of(setting).into_iter().filter(is_left).collect(), otherwise)
    };
    check_home(name, can_be_made, home, &[], expected);
}

#[test]
fn nothing_around_it() {
    needs!(Git);
    check("nothing", true, "exec", &[], &Works("\"confinement\":\"ok: Landlock "));
}

#[test]
fn a_user_without_name_or_capability() {
    needs!(Git);
    let home = || {
        let home = home_within(&format!(
            "exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all"
        ));
        give_to_nobody(&home);
        home
    };
    let can_be_made = can("setpriv --reuid 65532 --regid 65532 --clear-groups --bounding-set=-all true");
    check_home("uid 65532, no capability", can_be_made, home, &[], &Works(""));
}

#[test]
fn a_root_that_cannot_be_written() {
    needs!(Bubblewrap, Git);
    let before = "exec bwrap --die-with-parent --ro-bind / / --dev /dev --proc /proc --bind \"$HOME_OF_TEST\" \"$HOME_OF_TEST\"";
    check("read-only root, /tmp too", has_bwrap(), before, &[], &Works(""));
}

#[test]
fn the_first_process_of_a_container() {
    needs!(Bubblewrap, Git);
    let before = format!("{UNCONFINED} --unshare-pid --as-pid-1 --proc /proc --");
    check("process 1", has_bwrap(), &before, &[], &Works(""));
}

#[test]
fn no_directory_for_temporary_files() {
    needs!(Git);
    check("no directory for temporary files", true, "exec", &[("TMPDIR", "/nowhere")], &Works(""));
}

#[test]
fn temporary_files_cannot_be_run() {
    needs!(Git);
    let can_be_made = can("unshare -m true");
    let before = "exec unshare -m sh -c 'mkdir -p \"$0/noexec\" && mount -t tmpfs -o noexec,nosuid none \"$0/noexec\" && TMPDIR=\"$0/noexec\" exec \"$@\"' \"$HOME_OF_TEST\"";
    check("noexec directory for temporary files", can_be_made, before, &[], &Works(""));
}

#[test]
fn a_store_in_memory_or_on_layers() {
    needs!(Git);
    let can_be_made = can("unshare -m true");
    let before = "exec unshare -m sh -c 'mount -t tmpfs none \"$SERVICE_DATA_DIR\" && exec \"$@\"' -";
    check("tmpfs", can_be_made, before, &[], &Works(""));
    let layers = "unshare -m sh -c 'd=$(mktemp -d) && mount -t tmpfs none $d && mkdir $d/l $d/u $d/w $d/m && mount -t overlay -o lowerdir=$d/l,upperdir=$d/u,workdir=$d/w none $d/m'";
    let before = "exec unshare -m sh -c 'd=\"$0/layers\" && mkdir -p $d && mount -t tmpfs none $d && mkdir $d/l $d/u $d/w && mount -t overlay -o lowerdir=$d/l,upperdir=$d/u,workdir=$d/w none \"$SERVICE_DATA_DIR\" && exec \"$@\"' \"$HOME_OF_TEST\"";
    check("overlayfs", can(layers), before, &[], &Works(""));
}

#[test]
fn no_notices_of_changes_of_files() {
    needs!(Git);
    let can_be_made = can("unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_inotify_instances'");
    let before = "exec unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_inotify_instances && exec \"$@\"' -";
    check("inotify exhausted", can_be_made, before, &[], &Works(""));
}

#[test]
fn the_newer_protocol_alone() {
    needs!(Git);
    check("IPv6 alone", can("test -e /proc/net/if_inet6"), "exec", &[("SERVICE_HOST", "::1")], &Works(""));
}

#[test]
fn no_newer_protocol() {
    needs!(Bubblewrap, Git);
    const FAMILY_NOT_SUPPORTED: u32 = 97;
    let family = Kind::Is(10);
    let refused = Refused { call: Sysno::socket, argument: 0, kind: family, error: FAMILY_NOT_SUPPORTED };
    let home = || home_that_is_refused(&[refused]);
    check_home("no IPv6", has_bwrap(), home, &[], &Works(""));
    let words = DoesNotStart("Address family not supported");
    check_home("no IPv6, and its address", has_bwrap(), home, &[("SERVICE_HOST", "::1")], &words);
}

#[test]
fn a_file_system_without_shared_maps_or_locks() {
    needs!(Bubblewrap);
    const NO_DEVICE: u32 = 19;
    const NO_LOCKS: u32 = 37;
    let shared = Kind::HasBit(1);
    let map = Refused { call: Sysno::mmap, argument: 3, kind: shared, error: NO_DEVICE };
    let words = DoesNotStart("lacks shared memory maps or file locks");
    check_home("no shared maps", has_bwrap(), || home_that_is_refused(&[map]), &[], &words);
    // F_SETLK and F_SETLKW.
    let locks = [6, 7].map(|command| Refused {
        call: Sysno::fcntl,
        argument: 1,
        kind: Kind::Is(command),
        error: NO_LOCKS,
    });
    check_home("no locks of ranges", has_bwrap(), || home_that_is_refused(&locks), &[], &words);
    // LOCK_EX | LOCK_NB.
    let lock = Refused { call: Sysno::flock, argument: 1, kind: Kind::Is(6), error: NO_LOCKS };
    check_home("no locks of files", has_bwrap(), || home_that_is_refused(&[lock]), &[], &words);
}

#[test]
fn a_mask_that_takes_every_right() {
    needs!(Git);
    let home = || {
        let home = home_within(&format!(
            "umask 0777; exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups --bounding-set=-all --inh-caps=-all"
        ));
        give_to_nobody(&home);
        home
    };
    let can_be_made = can("setpriv --reuid 65532 --regid 65532 --clear-groups --bounding-set=-all true");
    check_home("umask 0777", can_be_made, home, &[], &Works(""));
}

#[test]
fn clocks_far_away() {
    needs!(Git, LibFaketime);
    let library = "/usr/lib/$(uname -m)-linux-gnu/faketime/libfaketime.so.1";
    require(Program::LibFaketime);
    for clock in ["@1970-01-02 00:00:00", "@2200-01-01 00:00:00"] {
        let before =
            format!("exec env LD_PRELOAD={library} FAKETIME='{clock}' FAKETIME_DONT_FAKE_MONOTONIC=1");
        check(clock, true, &before, &[], &Works(""));
    }
}

#[test]
fn no_memory_that_can_be_executed() {
    needs!(Git);
    // PR_SET_MDWE by number, as MemoryDenyWriteExecute= sets it in newer systemd.
    let deny = "perl -e 'syscall(157, 65, 1, 0, 0, 0) == 0 or exit 9; exec @ARGV'";
    let can_be_made = cfg!(target_arch = "x86_64") && can(&format!("{deny} true"));
    check(
        "PR_SET_MDWE",
        can_be_made,
        &format!("exec {deny}"),
        &[],
        &DoesNotStart("remove MemoryDenyWriteExecute="),
    );
    check(
        "PR_SET_MDWE, rules interpreted",
        can_be_made,
        &format!("exec {deny}"),
        &[("SERVICE_EXECUTION", "interpreted")],
        &Works(""),
    );
}

#[test]
fn filters_of_system_calls() {
    needs!(Bubblewrap, Git);
    let unit = of_unit("SystemCallFilter");
    let died = "ended by SIGSYS while setting up confinement";
    check_filter(
        "@system-service, killed otherwise",
        "@system-service",
        &[],
        Otherwise::Kill,
        &JudgesAlone(died),
    );
    check_filter(
        "the unit of deploy/, killed otherwise",
        &unit,
        &[],
        Otherwise::Kill,
        &Works("\"confinement\":\"ok: Landlock "),
    );
    check_filter(
        "no Landlock",
        &unit,
        &["landlock_create_ruleset"],
        Otherwise::Refuse,
        &Works("degraded: Landlock missing (the kernel does not support it, or a system call filter"),
    );
    check_filter(
        "no setpriority",
        &unit,
        &["setpriority", "nice"],
        Otherwise::Refuse,
        &Works("\"confinement\":\"ok: Landlock "),
    );
}

#[test]
fn file_systems_of_the_kernel_that_are_not_mounted() {
    needs!(Bubblewrap, Git);
    let before = "exec bwrap --die-with-parent --bind / / --dev-bind /dev /dev --tmpfs /proc --";
    check(
        "no /proc",
        has_bwrap(),
        before,
        &[],
        &JudgesAlone("there is no /proc, which this program needs to find its own executable: mount it"),
    );
    let before = "exec bwrap --die-with-parent --bind / / --proc /proc --tmpfs /dev --";
    check("no /dev", has_bwrap(), before, &[], &Works("\"confinement\":\"ok: Landlock "));
}

#[test]
fn a_data_directory_that_cannot_be_written() {
    needs!(Bubblewrap);
    let before = "exec bwrap --die-with-parent --bind / / --dev-bind /dev /dev --ro-bind \"$SERVICE_DATA_DIR\" \"$SERVICE_DATA_DIR\" --";
    check(
        "read-only data directory",
        has_bwrap(),
        before,
        &[],
        &DoesNotStart("(os error 30); mount it writable"),
    );
    let home = || {
        let before = format!("exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups");
        let home = home_within(&before);
        let opened = Command::new("chmod").args(["-R", "a+rX"]).arg(home.at("")).status();
        assert!(opened.unwrap().success());
        home
    };
    let can_be_made = can("setpriv --reuid 65532 --regid 65532 --clear-groups true");
    check_home(
        "data directory of somebody else",
        can_be_made,
        home,
        &[],
        &DoesNotStart("give the user of the service access to it"),
    );
}

#[test]
fn a_twentieth_of_a_core() {
    needs!(Git);
    let group = format!("/sys/fs/cgroup/cpu/tollgate-{}", std::process::id());
    // A debug build takes several times as long for everything.
    let quota = if cfg!(debug_assertions) { 20_000 } else { 5_000 };
    let can_be_made = can(&format!("mkdir {group} && echo {quota} > {group}/cpu.cfs_quota_us"));
    let name = format!("{quota} µs of a core in 100,000");
    check(&name, can_be_made, &format!("echo $$ > {group}/cgroup.procs; exec"), &[], &Works(""));
    let _ = std::fs::remove_dir(group);
}

#[test]
fn fewer_threads_than_it_needs() {
    // With this capability, the user reaches a program below directories that only their owner may enter.
    let before = format!(
        "setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups --inh-caps=+dac_read_search \
         --ambient-caps=+dac_read_search prlimit --nproc=1"
    );
    let home = || {
        let home = home_within(&format!("exec {before}"));
        give_to_nobody(&home);
        home
    };
    let can_be_made = can(&format!("{before} true"));
    check_home("RLIMIT_NPROC", can_be_made, home, &[], &DoesNotStart("raise TasksMax= of the unit"));
}

#[test]
fn walls_that_are_required() {
    needs!(Bubblewrap, Git);
    let home = || {
        let names =
            calls_of(&of_unit("SystemCallFilter")).into_iter().filter(|name| !name.starts_with("landlock"));
        home_behind_filter(names.collect(), Otherwise::Refuse)
    };
    let can_be_made = has_bwrap();
    let expected = JudgesAlone("SERVICE_CONFINEMENT is `required`");
    check_home(
        "no Landlock, and it is required",
        can_be_made,
        home,
        &[("SERVICE_CONFINEMENT", "required")],
        &expected,
    );
}
