//! Messages for missing resources name the cause and a remedy.

use std::process::Command;

use serde_json::json;
use tollgate_tests::git::{SshServer, Upstream};
use tollgate_tests::programs::{Program, require, skip};
use tollgate_tests::{Home, Service, needs, sample};

use super::within::{can, home_within};

/// Checks the messages of the service and of `tollgate doctor` with this environment variable.
#[track_caller]
fn check_environment(name: &str, value: &str, in_log: &str, by_doctor: &str) {
    let mut home = Home::with_rules(&[("large.ws", sample::rule("large", "amount > 100"))]);
    home.set(name, value);
    let (_, log) = Service::start(&home).stop();
    assert!(log.iter().any(|line| line.contains(in_log)), "{log:#?}");
    let doctor = home.command(&["doctor"]).output().unwrap();
    let said = String::from_utf8_lossy(&doctor.stderr);
    assert!(said.contains(by_doctor), "{said}");
    assert_eq!(doctor.status.code(), Some(0), "a warning is no problem: {said}");
}

#[test]
fn variables_that_are_ignored_or_lead_nowhere_are_reported() {
    check_environment(
        "HTTPS_PROXY",
        "http://127.0.0.1:9",
        "proxy settings are ignored",
        "warning  proxy: HTTPS_PROXY: ignored",
    );
    let misspelt = "`SERVICE_PROT` (did you mean `SERVICE_PORT`?)";
    check_environment(
        "SERVICE_PROT",
        "1",
        misspelt,
        &format!("warning  variables: {misspelt}: not a setting"),
    );
    let missing = "SSL_CERT_FILE names /nowhere.pem, which does not exist";
    check_environment("SSL_CERT_FILE", "/nowhere.pem", missing, &format!("warning  authorities: {missing}"));
}

#[test]
fn a_remote_whose_name_nobody_knows_differs_from_one_that_does_not_answer() {
    let mut home = Home::new();
    home.set("SERVICE_GIT_ALLOW_SCHEMES", "http");
    home.set("SERVICE_GIT_ALLOW_PRIVATE", "true");
    let service = Service::start(&home);
    for (url, words) in [
        ("http://nowhere.invalid/rules.git", "cannot be resolved"),
        ("http://127.0.0.1:9/rules.git", "cannot be reached"),
    ] {
        let answer = service.post("/git/clone", &json!({ "url": url }));
        assert_eq!((answer.status, answer.code().as_str()), (502, "git_unreachable"), "{}", answer.text());
        assert!(answer.text().contains(words), "{url}: {}", answer.text());
    }
}

#[test]
fn a_store_on_a_disk_that_cannot_be_written_is_backed_up_and_audited() {
    needs!(Bubblewrap);
    require(Program::Bubblewrap);
    if !can("bwrap --bind / / true") {
        return skip("a read-only disk");
    }
    let home = home_within("exec");
    let service = Service::start(&home);
    drop(service.inject(&sample::transaction("kept")).expect(200));
    let read_only = |arguments: &[&str]| {
        let mut command = Command::new("bwrap");
        let (data, home_at) = (home.data(), home.at(""));
        command.args(["--die-with-parent", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--ro-bind"]);
        command.args([&data, &data]).arg("--").arg(tollgate_tests::binary::binary()).args(arguments);
        let ended = command.env("SERVICE_DATA_DIR", &data).current_dir(home_at).output().unwrap();
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    let backup = home.at("backup.db").display().to_string();
    // A killed service leaves its WAL.
    service.kill();
    for command in [&["backup", backup.as_str()][..], &["audit", "replay"]] {
        let (code, said) = read_only(command);
        assert!(
            code != Some(0) && said.contains("which SQLite cannot read without write access"),
            "{command:?}: {said}"
        );
    }
    drop(Service::start(&home).stop());
    for command in [&["backup", backup.as_str()][..], &["audit", "replay"]] {
        let (code, said) = read_only(command);
        assert_eq!(code, Some(0), "{command:?}: {said}");
    }
}

#[test]
fn a_repository_is_cloned_over_ssh_where_proc_has_processes_alone() {
    needs!(Git, SshServer);
    let mount = "mount -t proc -o subset=pid proc /proc";
    if !can(&format!("unshare -m {mount}")) {
        return skip("ProcSubset=pid");
    }
    let mut home = home_within(&format!("exec unshare -m sh -c '{mount} && exec \"$@\"' -"));
    let server = SshServer::start("ed25519");
    home.set("WATCH_SCRIPT_GIT_SSH_KEY", &server.key().to_string_lossy());
    home.set("WATCH_SCRIPT_GIT_SSH_HOST_KEYS", &server.fingerprint());
    home.set("SERVICE_GIT_ALLOW_PRIVATE", "true");
    home.set("SERVICE_GIT_ALLOW_SCHEMES", "ssh");
    let service = Service::start(&home);
    let upstream = Upstream::with(&[("cloned.ws", sample::rule("cloned", "amount > 7000"))]);
    drop(service.post("/git/clone", &json!({ "url": server.url(&upstream.path()) })).expect(200));
}
