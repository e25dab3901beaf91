//! The files of `deploy/`, as far as they can be tested without a cluster, a registry and systemd.

use std::fs;
use std::process::Command;

use tollgate_tests::binary::binary;
use tollgate_tests::programs::{Program, require, skip};
use tollgate_tests::volume::Volume;
use tollgate_tests::{Home, Service, needs, repository, sample};

use super::table::check_life;
use super::within::{Otherwise, calls_of, can, filter, home_within};

/// The namespace of the pod.
const NAMESPACE: &str = "payments";

/// Returns the value of a setting of the unit, the last one if repeated.
pub(crate) fn of_unit(setting: &str) -> String {
    let unit = fs::read_to_string(repository::root().join("deploy/tollgate.service")).unwrap();
    let value = unit.lines().rev().find_map(|line| line.strip_prefix(setting)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("the unit has no {setting}")).to_owned()
}

/// Lays out an image in a home.
fn image(home: &Home) {
    let laid = Command::new(repository::root().join("deploy/image-root"))
        .arg(binary())
        .arg(home.at("image"))
        .status();
    assert!(laid.unwrap().success());
    let n_bytes = |path: &std::path::Path| fs::metadata(path).unwrap().len();
    let (program, symbols) = (home.at("image/usr/local/bin/tollgate"), home.at("image.debug"));
    assert!(n_bytes(&program) < n_bytes(binary()), "the symbols are still in the program");
    assert!(n_bytes(&symbols) > 1 << 20, "the symbols are in no file");
}

/// Returns the variables of the manifest, from adjacent `name` and `value` lines.
fn variables_of_manifest() -> Vec<(String, String)> {
    let manifest = fs::read_to_string(repository::root().join("deploy/kubernetes.yaml")).unwrap();
    let lines: Vec<&str> = manifest.lines().map(str::trim).collect();
    let pairs = lines.windows(2).filter_map(|pair| {
        let name = pair[0].strip_prefix("- name: ")?;
        let value = pair[1].strip_prefix("value: ")?;
        // As Kubernetes replaces it.
        Some((name.to_owned(), value.trim_matches('"').replace("$(POD_NAMESPACE)", NAMESPACE)))
    });
    pairs.collect()
}

#[test]
fn the_manifest_allows_the_names_of_the_service_in_the_cluster() {
    let mut home = Home::new();
    let (name, hosts) =
        variables_of_manifest().into_iter().find(|(name, _)| name == "SERVICE_ALLOWED_HOSTS").unwrap();
    home.set(&name, &hosts);
    let service = Service::start(&home);
    for (host, status) in [
        ("tollgate", 200),
        ("tollgate.payments", 200),
        ("tollgate.payments.svc:8081", 200),
        ("tollgate.payments.svc.cluster.local:8081", 200),
        ("tollgate.default.svc", 421),
        ("other.payments.svc", 421),
    ] {
        assert_eq!(
            service.send("GET", "/instructions", &[("host", host)], &[]).unwrap().status,
            status,
            "{host}"
        );
    }
}

#[test]
fn an_image_of_the_program_and_its_libraries_runs_as_the_manifest_has_it() {
    needs!(Bubblewrap, Git, SystemdAnalyze);
    [Program::Bubblewrap, Program::SystemdAnalyze].into_iter().for_each(require);
    let has_user = can("bwrap --unshare-user --uid 10001 --bind / / true");
    if !has_user {
        return skip("the pod of deploy/kubernetes.yaml");
    }
    // The environment of a pod: a read-only root, no capabilities, no user name, and its volumes.
    let mut home = home_within("");
    image(&home);
    let files = |limit: u32| [("large.ws", sample::rule("large", &format!("amount > {limit}")))];
    let volume = Volume::at(&home.at("rules-volume"), &home.at("rules-source"), &files(100));
    // Most runtimes' default filter allows systemd's system-service set and the sandbox calls, and refuses the rest.
    let allowed = filter(calls_of(&of_unit("SystemCallFilter")), Otherwise::Refuse);
    fs::write(home.at("filter"), allowed).unwrap();
    let pod = "exec 9<\"$HOME_OF_TEST/filter\"; exec bwrap --seccomp 9 --die-with-parent --unshare-user --uid 10001 --gid 10001 --unshare-pid --as-pid-1 --cap-drop ALL \
               --ro-bind \"$HOME_OF_TEST/image\" / --proc /proc --dev /dev --tmpfs /tmp \
               --bind \"$HOME_OF_TEST/data\" /var/lib/tollgate --ro-bind \"$HOME_OF_TEST/rules-volume\" /etc/tollgate/rules -- \
               /usr/local/bin/tollgate \"$@\"";
    let script = format!("#!/bin/sh\nHOME_OF_TEST='{}'\n{pod}\n", home.at("").display());
    fs::write(home.at("serve"), script).unwrap();
    for (name, value) in variables_of_manifest() {
        home.set(&name, &value);
    }
    home.set("SERVICE_GIT_ALLOW_PRIVATE", "true");
    home.set("SERVICE_GIT_ALLOW_SCHEMES", "http");
    let service = Service::start(&home);
    volume.swap(&files(400));
    service.until("the changed rule is in force", || {
        service.get("/instructions").text().contains("amount > 400")
    });
    check_life(service, "\"confinement\":\"ok: ", None);
}

#[test]
fn the_unit_leaves_the_service_what_it_needs() {
    needs!(Bubblewrap, Git, SystemdAnalyze);
    [Program::Bubblewrap, Program::SystemdAnalyze].into_iter().for_each(require);
    if !can("bwrap --bind / / true") {
        return skip("deploy/tollgate.service");
    }
    let mut home = home_within(
        "umask 0077; ulimit -n 65536; exec 9<\"$HOME_OF_TEST/filter\"; exec bwrap --die-with-parent --ro-bind / / --dev /dev \
         --proc /proc --tmpfs /run --cap-drop ALL --bind \"$HOME_OF_TEST\" \"$HOME_OF_TEST\" --seccomp 9 --",
    );
    let allowed = filter(calls_of(&of_unit("SystemCallFilter")), Otherwise::Kill);
    fs::write(home.at("filter"), allowed).unwrap();
    home.set("SERVICE_CONFINEMENT", "required");
    home.set("SERVICE_GIT_ALLOW_PRIVATE", "true");
    home.set("SERVICE_GIT_ALLOW_SCHEMES", "http");
    check_life(Service::start(&home), "\"confinement\":\"ok: Landlock ", None);
}

#[test]
fn systemd_finds_the_unit_sound_and_tight() {
    needs!(SystemdAnalyze);
    require(Program::SystemdAnalyze);
    let unit = repository::root().join("deploy/tollgate.service");
    let judged = Command::new("systemd-analyze")
        .args(["security", "--offline=yes", "--threshold=20"])
        .arg(&unit)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&judged.stdout);
    assert!(judged.status.success(), "{said} {}", String::from_utf8_lossy(&judged.stderr));
    println!("{}", said.lines().last().unwrap_or_default());
}
