//! `tollgate doctor` prints a line per check, exits with a code for the overall result, and changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use tollgate_tests::{Home, Service, modules, sample};

/// The checks of a complete data directory, in order.
const CHECKS: [&str; 35] = [
    "settings",
    "directory",
    "files",
    "lock",
    "space",
    "policy",
    "zones",
    "words",
    "rule files",
    "spill",
    "memory",
    "machine code",
    "confinement",
    "port",
    "integrity",
    "references",
    "schema",
    "mark",
    "numbers",
    "targets",
    "verdicts",
    "rule sets",
    "members",
    "alerts",
    "dead letters",
    "name",
    "modules",
    "scripts",
    "status words",
    "lists",
    "zone data",
    "snapshot",
    "artifacts",
    "repository",
    "",
];

/// Returns a home with data of every kind, and its service.
fn started() -> (Home, Service) {
    let home = Home::with_rules(&[
        ("a.ws", sample::rule("a", r#"count(when source == $current.source, "P1D") >= 1"#)),
        ("lists/known.txt", "acc-1\n".to_owned()),
    ]);
    fs::set_permissions(home.data(), fs::Permissions::from_mode(0o700)).unwrap();
    let service = Service::start(&home);
    for n in 0..20 {
        assert_eq!(service.inject(&sample::transaction(&format!("t-{n}"))).status, 200);
    }
    let _ = service.save(&sample::rule("b", "amount > 1")).expect(201);
    let _ = service.upload("", &modules::rule("raw", 5)).expect(201);
    let id = service.save(&sample::rule("c", "amount > 1")).expect(201)["id"].clone();
    assert_eq!(service.inject(&sample::transaction("t-x")).status, 200);
    assert_eq!(service.delete(&format!("/instructions/{id}")).status, 204);
    let event = serde_json::json!({"event": "transaction.applied", "data": sample::transaction("t-1")});
    let _ = service.post("/ledgerwebhook", &event).expect(200);
    (home, service)
}

#[test]
fn all_is_well_with_a_service_that_runs_was_killed_or_stopped() {
    let (home, service) = started();
    let said = check(&home, 0);
    assert!(said.contains(&format!("ok       lock: process {} uses it", service.pid())), "{said}");
    service.kill();
    let before = content(&home);
    check_every_line(&check(&home, 0));
    assert_eq!(content(&home), before);
    assert_eq!(Service::start(&home).stop().0.code(), Some(0));
    let before = content(&home);
    let said = check(&home, 0);
    check_every_line(&said);
    assert!(said.contains("ok       snapshot: of the history up to number "), "{said}");
    assert!(said.contains("ok       artifacts: 3 compiled modules"), "{said}");
    assert_eq!(content(&home), before, "nothing is changed, and no file made");
}

#[track_caller]
fn check_every_line(said: &str) {
    let whats: Vec<&str> = said
        .lines()
        .map(|line| line.strip_prefix("ok       ").or_else(|| warned_of_space(line)).unwrap_or(""))
        .map(|line| line.split(':').next().unwrap_or(""))
        .collect();
    assert_eq!(whats, CHECKS, "{said}");
}

/// Returns what is said of the space when little is free on the disk of the machine, which is no matter of these tests.
fn warned_of_space(line: &str) -> Option<&str> {
    line.strip_prefix("warning  ").filter(|line| line.starts_with("space:"))
}

/// Returns every file of the data directory by name, except SQLite's shared-memory file.
fn content(home: &Home) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut pending = vec![home.data()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if !path.ends_with("tollgate.db-shm") {
                files.insert(path.display().to_string(), fs::read(path).unwrap());
            }
        }
    }
    files
}

#[test]
fn a_damaged_database_is_a_problem_and_the_start_says_who_can_tell_more() {
    let (home, service) = started();
    assert_eq!(service.stop().0.code(), Some(0));
    let database = home.data().join("tollgate.db");
    let whole = fs::read(&database).unwrap();
    let mut damaged = whole.clone();
    damaged[100..4096].fill(0xaa);
    fs::write(&database, damaged).unwrap();
    let said = check(&home, 1);
    assert!(said.contains("problem  database: ") && said.contains("restore a backup"), "{said}");
    let Err(refusal) = Service::try_start(&home) else { panic!("it starts") };
    assert!(refusal.log.join("\n").contains("tollgate doctor"), "{:?}", refusal.log);

    // A page in the middle, which a start does not read.
    let mut damaged = whole;
    let middle = damaged.len() / 2 / 4096 * 4096;
    damaged[middle..middle + 4096].fill(0xaa);
    fs::write(&database, damaged).unwrap();
    let said = check(&home, 1);
    assert!(said.contains("problem  "), "{said}");
}

#[test]
fn a_repairable_fault_is_a_warning() {
    let (home, service) = started();
    assert_eq!(service.stop().0.code(), Some(0));
    fs::write(home.data().join("history.snapshot"), "half").unwrap();
    fs::write(home.data().join("artifacts/key"), "short").unwrap();
    fs::set_permissions(home.data().join("tollgate.db"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(home.data(), fs::Permissions::from_mode(0o755)).unwrap();
    let said = check(&home, 0);
    let warnings: Vec<&str> = said
        .lines()
        .filter(|line| warned_of_space(line).is_none())
        .filter_map(|line| line.strip_prefix("warning  ")?.split(':').next())
        .collect();
    assert_eq!(warnings, ["directory", "files", "snapshot", "artifacts"], "{said}");
    for part in ["warning  files: other users can read tollgate.db", "0 problems, "] {
        assert!(said.contains(part), "no `{part}` in:\n{said}");
    }
}

#[test]
fn settings_that_keep_a_service_from_starting_are_problems() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (name, value, words) in [
        ("SERVICE_PORT", port.as_str(), "problem  port: "),
        ("SERVICE_PORT", "eighty", "problem  settings: `SERVICE_PORT` is set to `eighty`"),
        ("SERVICE_RULE_POLICY", "no/such/policy.json", "problem  policy: "),
        ("WATCH_SCRIPT_DIR", "no/such/rules", "problem  rule files: "),
        ("SERVICE_SPILL_DIR", "no/such/folder", "problem  spill: "),
    ] {
        let mut home = Home::new();
        home.set(name, value);
        let said = check(&home, 1);
        assert!(said.contains(words), "no `{words}` in:\n{said}");
        assert!(said.contains("ok       database: none yet"), "{said}");
    }
}

#[test]
fn where_it_cannot_look_it_says_so() {
    let home = Home::new();
    let output = home.command(&["doctor", "--data-dir", "no/such/directory"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("error: cannot check: no/such/directory"), "{}", said(&output));
}

/// Runs `tollgate doctor` on this home and returns its output.
#[track_caller]
fn check(home: &Home, code: i32) -> String {
    let output = home.command(&["doctor"]).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", said(&output));
    said(&output)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
