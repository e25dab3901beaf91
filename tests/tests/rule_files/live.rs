//! Changes of rule files take effect in a running service.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_tests::poll::PATIENCE;
use tollgate_tests::{Home, Service, log, proof, sample};

/// Enough time for all noticed changes to take effect.
const SETTLED: Duration = Duration::from_secs(5);

/// Returns the names of active rules.
fn names(service: &Service) -> Vec<String> {
    let instructions = service.get("/instructions").expect(200);
    let names = instructions.as_array().unwrap().iter().filter(|one| one["status"] == "active");
    let mut names: Vec<String> = names.map(|one| one["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

fn instruction(service: &Service, name: &str) -> Value {
    let instructions = service.get("/instructions").expect(200);
    let found = instructions.as_array().unwrap().iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("there is no `{name}`")).clone()
}

#[track_caller]
fn check(service: &Service, event: &str, expected: &[&str]) {
    let took = service.until(event, || names(service) == expected);
    println!("{:>6} ms  {event}", took.as_millis());
}

/// Waits until the service has processed all earlier changes, by adding and removing a marker file.
fn settle(home: &Home, service: &Service) {
    home.write_rule("zz_marker.ws", sample::rule("zz_marker", "amount > 1"));
    service.until("the marker is in force", || names(service).contains(&"zz_marker".to_owned()));
    fs::remove_file(home.rules().join("zz_marker.ws")).unwrap();
    service.until("the marker is gone", || !names(service).contains(&"zz_marker".to_owned()));
}

#[test]
fn every_kind_of_event_takes_effect_without_a_restart() {
    let home = Home::with_rules(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let service = Service::start(&home);
    let rules = home.rules();
    home.write_rule("b.ws", sample::rule("b", "amount > 1"));
    check(&service, "a file is saved", &["a", "b"]);
    assert_eq!(service.inject(&sample::transaction("t1")).triggered(), ["a", "b"]);

    home.write_rule("b.ws", sample::rule("b2", "amount > 1"));
    check(&service, "a file is changed in place", &["a", "b2"]);
    fs::write(rules.join("b.ws.new"), sample::rule("b3", "amount > 1")).unwrap();
    fs::rename(rules.join("b.ws.new"), rules.join("b.ws")).unwrap();
    check(&service, "a file is replaced by another", &["a", "b3"]);
    let id = instruction(&service, "b3")["id"].clone();
    fs::rename(rules.join("b.ws"), rules.join("c.ws")).unwrap();
    service.until("a renamed file is known under its new path", || {
        instruction(&service, "b3")["source"]["path"] == "c.ws"
    });
    assert_eq!(instruction(&service, "b3")["id"], id, "and keeps its id");
    fs::remove_file(rules.join("c.ws")).unwrap();
    check(&service, "a file is removed", &["a"]);

    home.write_rule("new/deep/d.ws", sample::rule("d", "amount > 1"));
    check(&service, "a file is saved in a new folder", &["a", "d"]);
    home.write_rule("new/deep/e.ws", sample::rule("e", "amount > 1"));
    check(&service, "another one beside it", &["a", "d", "e"]);
    fs::rename(rules.join("new"), home.current().join("aside")).unwrap();
    check(&service, "a folder is moved away", &["a"]);
    fs::rename(home.current().join("aside"), rules.join("back")).unwrap();
    check(&service, "a folder is moved in", &["a", "d", "e"]);
    fs::remove_dir_all(rules.join("back")).unwrap();
    check(&service, "a folder is removed", &["a"]);

    fs::write(home.current().join("other.ws"), sample::rule("f", "amount > 1")).unwrap();
    fs::hard_link(home.current().join("other.ws"), rules.join("f.ws")).unwrap();
    check(&service, "a file gets a second name", &["a", "f"]);
    let (_, lines) = service.stop();
    let errors: Vec<_> = lines.iter().filter(|line| line.contains("\"ERROR\"")).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn a_temporary_file_of_an_editor_is_no_rule() {
    let home = Home::with_rules(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let service = Service::start(&home);
    settle(&home, &service);
    let version = |service: &Service| service.inject(&sample::transaction("t")).at("/rule_set_version");
    let before = version(&service);
    for name in
        [".foo.ws.swp", ".foo.ws", "foo.ws~", "#foo.ws#", "4913", "foo.ws.bak", "foo.txt", ".git/foo.ws"]
    {
        home.write_rule(name, sample::rule("foo", "amount > 1"));
    }
    settle(&home, &service);
    assert_eq!(names(&service), ["a"]);
    let after = service.inject(&sample::transaction("t2")).at("/rule_set_version");
    assert_eq!(after.as_u64(), before.as_u64().map(|before| before + 2), "the marker alone came and went");
}

#[test]
fn a_file_is_taken_when_it_is_whole() {
    let home = Home::with_rules(&[
        ("a.ws", sample::rule("a", "currency in $stopped")),
        ("lists/stopped.txt", "EUR\n".to_owned()),
    ]);
    let service = Service::start(&home);
    settle(&home, &service);
    // A truncated list would be a valid list.
    let mut list = File::create(home.rules().join("lists/stopped.txt")).unwrap();
    writeln!(list, "USD").unwrap();
    let mut half = File::create(home.rules().join("half.ws")).unwrap();
    write!(half, "{}", sample::rule("half", "amount > 1")).unwrap();
    settle(&home, &service);
    assert_eq!(service.inject(&sample::transaction("t1")).triggered(), ["a"], "as before");
    assert_eq!(service.get("/lists/stopped").at("/count"), 1);
    write!(half, "# the end").unwrap();
    writeln!(list, "EUR").unwrap();
    drop((half, list));
    check(&service, "a file is closed", &["a", "half"]);
    service.until("the list is whole", || service.get("/lists/stopped").at("/count") == 2);
    assert_eq!(service.inject(&sample::transaction("t2")).triggered(), ["a", "half"]);
}

#[test]
fn one_broken_file_of_a_hundred_keeps_its_last_good_version() {
    let file = |number: usize, limit: usize| {
        (format!("f{number:02}.ws"), sample::rule(&format!("f{number:02}"), &format!("amount > {limit}")))
    };
    let home = Home::with_rules(&(0..100).map(|number| file(number, 1)).collect::<Vec<_>>());
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("before")).triggered().len(), 100);
    home.write_rule("f42.ws", "rule f42 {\n  when amount > 1\n  then maybe\n}");
    let found = |line: &str| line.contains(r#""path":"f42.ws""#).then(|| line.to_owned());
    let line = service.log().wait_for(proof::time_limit(SETTLED), found);
    let line = line.expect("the broken file is reported");
    assert_eq!(
        log::message(&line),
        "parse error at line 3, column 8: expected verdict (allow, block, review)"
    );
    let fields = log::fields(&line).unwrap();
    assert_eq!((&fields["line"], &fields["column"]), (&json!(3), &json!(8)));
    service.until("the check says so", || {
        service
            .get("/readyz")
            .at("/checks/rules")
            .as_str()
            .is_some_and(|word| word.starts_with("degraded: 1 ") && word.contains("`f42.ws` line 3: "))
    });
    assert!(service.get("/metrics").text().contains("\ntollgate_rule_files_refused 1\n"));
    assert_eq!(instruction(&service, "f42")["refused_change"]["line"], 3);
    for (path, text) in (0..100).filter(|number| *number != 42).map(|number| file(number, 50)) {
        home.write_rule(&path, &text);
    }
    service.until("the others follow", || {
        service.inject(&json!({"amount": 10, "currency": "EUR", "reference": "r"})).triggered() == ["f42"]
    });
    let (path, text) = file(42, 50);
    home.write_rule(&path, &text);
    service.until("it is cured", || instruction(&service, "f42")["refused_change"] == Value::Null);
    service.until("nothing is refused", || service.get("/readyz").at("/checks/rules") == "ok");
    let (_, lines) = service.stop();
    let n_reports = lines.iter().filter(|line| line.contains("parse error at line 3")).count();
    assert_eq!(n_reports, 1, "it is said once");
}

#[test]
fn rules_stay_while_their_directory_is_away_and_follow_the_one_that_comes() {
    let home = Home::with_rules(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let service = Service::start(&home);
    settle(&home, &service);
    let aside = home.current().join("aside");
    fs::rename(home.rules(), &aside).unwrap();
    let said = |line: &str| line.contains("its rules stay in force").then_some(());
    service.log().wait_for(PATIENCE, said).expect("the missing directory is reported");
    assert_eq!(service.inject(&sample::transaction("t1")).triggered(), ["a"]);
    fs::create_dir(home.rules()).unwrap();
    home.write_rule("b.ws", sample::rule("b", "amount > 1"));
    check(&service, "another directory stands in its place", &["b"]);
    home.write_rule("c.ws", sample::rule("c", "amount > 1"));
    check(&service, "a file is saved there", &["b", "c"]);
}

#[test]
fn a_link_instead_of_the_directory_may_be_turned_to_another() {
    let home = Home::new();
    fs::remove_dir(home.rules()).unwrap();
    for version in ["v1", "v2"] {
        fs::create_dir(home.at(version)).unwrap();
        fs::write(home.at(version).join("a.ws"), sample::rule(version, "amount > 1")).unwrap();
    }
    symlink(home.at("v1"), home.rules()).unwrap();
    let service = Service::start(&home);
    check(&service, "the directory is a link", &["v1"]);
    symlink(home.at("v2"), home.at("next")).unwrap();
    fs::rename(home.at("next"), home.rules()).unwrap();
    check(&service, "the link is turned", &["v2"]);
    fs::write(home.at("v2").join("b.ws"), sample::rule("b", "amount > 1")).unwrap();
    check(&service, "a file is saved behind it", &["b", "v2"]);
}

#[test]
fn an_instruction_removed_over_the_api_stays_away_until_its_file_changes() {
    let home = Home::with_rules(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let service = Service::start(&home);
    let id = instruction(&service, "a")["id"].clone();
    assert_eq!(service.delete(&format!("/instructions/{id}")).status, 204);
    settle(&home, &service);
    assert_eq!(names(&service), [""; 0]);
    home.write_rule("a.ws", sample::rule("a", "amount > 2"));
    check(&service, "the file of a removed instruction changes", &["a"]);
}

#[test]
fn where_the_system_gives_no_notices_changes_are_found_by_looking() {
    let mut home = Home::with_rules(&[("a.ws", sample::rule("a", "amount > 1"))]);
    home.set("WATCH_SCRIPT_DIR_NOTICES", "false");
    let service = Service::start(&home);
    home.write_rule("b.ws", sample::rule("b", "amount > 1"));
    check(&service, "a file is saved", &["a", "b"]);
    let opened = fs::read_dir(format!("/proc/{}/fd", service.pid())).unwrap();
    let is_inotify = |link: std::path::PathBuf| link.to_string_lossy().contains("inotify");
    let asks = opened.filter_map(Result::ok).any(|file| fs::read_link(file.path()).is_ok_and(is_inotify));
    assert!(!asks, "the system is not asked");
    home.write_rule("b.ws", sample::rule("b2", "amount > 1"));
    fs::rename(home.rules().join("a.ws"), home.rules().join("c.ws")).unwrap();
    check(&service, "a file is changed in place, another renamed", &["a", "b2"]);
    service.until("the renamed file is known", || instruction(&service, "a")["source"]["path"] == "c.ws");
    fs::remove_dir_all(home.rules()).unwrap();
    let said = |line: &str| line.contains("its rules stay in force").then_some(());
    service.log().wait_for(PATIENCE, said).expect("the missing directory is reported");
    fs::create_dir(home.rules()).unwrap();
    home.write_rule("d.ws", sample::rule("d", "amount > 1"));
    check(&service, "another directory stands in its place", &["d"]);
    let (_, lines) = service.stop();
    assert!(!lines.iter().any(|line| line.contains("no notices")), "it is as configured, and no warning");
}
