//! Rule files and named lists are read at the start; broken ones are reported, and the others are in force.

mod being_written;
mod ignored;
mod links;
mod live;
mod new_sources;
mod not_ready;
mod sources;
mod speed;
mod volumes;

use std::fs;
use std::time::Duration;

use serde_json::json;
use tollgate_tests::{Home, Service, log, proof, sample};

/// Returns how long a change may take to be in force where the system reports it: in the full proof as long as documented, in
/// CI, where other tests run beside it, longer. Without the report it would be found in up to 10 s.
fn in_force_within() -> Duration {
    proof::time_limit(Duration::from_secs(1))
}

#[test]
fn rule_files_are_found_in_every_folder_and_know_where_they_come_from() {
    let home = Home::with_rules(&[
        ("top.ws", sample::rule("top", "amount > 1")),
        ("a/b/c/deep.ws", sample::rule("deep", "amount > 1")),
        ("a/notes.txt", "not a rule".to_owned()),
        ("a/old.ws.bak", "not a rule".to_owned()),
    ]);
    let service = Service::start(&home);
    let instructions = service.get("/instructions").expect(200);
    let mut sources: Vec<(String, String)> = instructions
        .as_array()
        .unwrap()
        .iter()
        .map(|instruction| (instruction["name"].to_string(), instruction["source"].to_string()))
        .collect();
    sources.sort();
    let source = |path: &str| json!({"kind": "file", "path": path}).to_string();
    let expected =
        [("\"deep\"".to_owned(), source("a/b/c/deep.ws")), ("\"top\"".to_owned(), source("top.ws"))];
    assert_eq!(sources, expected);
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["deep", "top"]);
}

#[test]
fn a_broken_file_is_logged_in_the_fixed_form_and_stops_no_other() {
    let home = Home::with_rules(&[
        ("fine.ws", sample::rule("fine", "amount > 1")),
        ("cards/broken.ws", "rule broken {\n  when amount > 1\n  then maybe\n}".to_owned()),
        ("torn.ws", "rule torn {\n  when currency == \"EUR".to_owned()),
        ("warned.ws", "rule warned {\n  when currency == EUR\n  then maybe\n}".to_owned()),
        ("empty.ws", String::new()),
    ]);
    home.write_rule("large.ws", "# much too large\n".repeat(8 * 1024));
    fs::write(home.rules().join("bytes.ws"), b"rule \xff\xfe {").unwrap();
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["fine"]);
    let instructions = service.get("/instructions").expect(200);
    let is_active = |one: &&serde_json::Value| one["status"] == "active";
    assert_eq!(instructions.as_array().unwrap().iter().filter(is_active).count(), 1);
    let (_, lines) = service.stop();
    let reported = |path: &str, text: &str| {
        assert!(
            lines.iter().any(|line| line.contains(path) && line.contains(text)),
            "no line names {path} and says `{text}`:\n{}",
            lines.join("\n")
        );
    };
    reported("cards/broken.ws", "parse error at line 3, column 8: expected verdict (allow, block, review)");
    let fixed = log::message(lines.iter().find(|line| line.contains("warned.ws")).unwrap());
    assert_eq!(fixed, "parse error at line 3, column 8: expected verdict (allow, block, review)");
    reported("torn.ws", "parse error at line 2, column 20: ");
    reported("empty.ws", "parse error at line 1, column 1: ");
    reported("large.ws", "");
    reported("bytes.ws", "");
    let fixed = lines.iter().filter(|line| log::message(line).starts_with("parse error at line ")).count();
    assert!(fixed >= 3, "the message itself is the fixed form:\n{}", lines.join("\n"));
}

#[test]
fn the_first_of_two_files_with_one_name_keeps_it() {
    let home = Home::with_rules(&[
        ("a.ws", sample::rule("same", "amount > 1").replace("same matched", "first")),
        ("b.ws", sample::rule("same", "amount > 1").replace("same matched", "second")),
    ]);
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["same"]);
    let reason = service.inject(&sample::transaction("t")).at("/reason");
    assert_eq!(reason, "first; Rule `file:b.ws` could not be evaluated");
    let (_, lines) = service.stop();
    assert!(lines.iter().any(|line| line.contains("b.ws")), "the refused file is not reported");
}

#[test]
fn a_changed_file_counts_from_the_next_start_and_a_deleted_one_no_more() {
    let home = Home::with_rules(&[
        ("changed.ws", sample::rule("changed", "amount > 1000")),
        ("deleted.ws", sample::rule("deleted", "amount > 1")),
    ]);
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("before")).triggered(), ["deleted"]);
    service.kill();

    home.write_rule("changed.ws", sample::rule("changed", "amount > 1"));
    fs::remove_file(home.rules().join("deleted.ws")).unwrap();
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("after")).triggered(), ["changed"]);
    assert_eq!(service.inject(&sample::transaction("before")).triggered(), ["deleted"], "a verdict stays");
}

#[test]
fn a_file_that_breaks_keeps_its_last_good_version_over_a_restart() {
    let home = Home::with_rules(&[("guard.ws", sample::rule("guard", "amount > 1"))]);
    Service::start(&home).kill();
    home.write_rule("guard.ws", "rule guard { when amount >");
    let service = Service::start(&home);
    assert_eq!(
        service.inject(&sample::transaction("t")).triggered(),
        ["guard"],
        "the last good set keeps serving"
    );
    let (_, lines) = service.stop();
    assert!(lines.iter().any(|line| line.contains("guard.ws") && line.contains("parse error at line")));
}

#[test]
fn a_named_list_is_read_beside_the_rules() {
    let home = Home::with_rules(&[
        ("lists/blocked.txt", "# not to be paid\nshop-1\n\n  shop-2  \n".to_owned()),
        ("listed.ws", sample::rule("listed", "destination in $blocked")),
        ("unlisted.ws", sample::rule("unlisted", "destination not_in $blocked")),
        ("unknown.ws", sample::rule("unknown", "destination in $nowhere")),
    ]);
    let service = Service::start(&home);
    let judge = |id: &str, destination: &str| {
        let fields = json!({ "destination": destination });
        service.inject(&sample::with(&sample::transaction(id), &fields)).triggered()
    };
    assert_eq!(judge("a", "shop-1"), ["listed"]);
    assert_eq!(judge("b", "shop-2"), ["listed"], "blanks around an entry do not count");
    assert_eq!(judge("c", "shop-4"), ["unlisted"]);
    assert_eq!(judge("d", "SHOP-1"), ["unlisted"], "letters count as they stand");
    assert_eq!(
        service.inject(&sample::transaction("e")).triggered(),
        [""; 0],
        "nil is in no list and out of none"
    );
    let instructions = service.get("/instructions").expect(200);
    let n_warned = instructions.as_array().unwrap().iter().filter(|one| one["warnings"] != json!([])).count();
    assert_eq!(n_warned, 1, "an unknown list is a warning");
}

#[test]
fn without_a_rules_directory_rules_come_over_the_api() {
    let mut home = Home::new();
    // An empty variable counts as unset, and the working directory contains no `rules`.
    home.set("WATCH_SCRIPT_DIR", "");
    let service = Service::start(&home);
    assert_eq!(service.get("/instructions").expect(200), json!([]));
    assert_eq!(service.save(&sample::rule("a", "amount > 1")).status, 201);
}

#[test]
fn rules_do_not_go_when_their_directory_does() {
    let home = Home::with_rules(&[("a.ws", sample::rule("a", "amount > 1"))]);
    assert!(Service::start(&home).stop().0.success());
    fs::rename(home.rules(), home.current().join("aside")).unwrap();
    let service = Service::start(&home);
    assert_eq!(
        service.inject(&sample::transaction("away")).triggered(),
        ["a"],
        "its last good rules are in force"
    );
    let check = service.get("/readyz").at("/checks/rules_directory");
    assert!(check.as_str().is_some_and(|word| word.starts_with("degraded: ")), "{check}");
    assert!(service.stop().0.success());
    fs::rename(home.current().join("aside"), home.rules()).unwrap();
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["a"]);
}

#[test]
fn a_list_that_cannot_be_read_stays_as_it_was() {
    let home = Home::with_rules(&[
        ("a.ws", sample::rule("a", "currency in $stopped")),
        ("lists/stopped.txt", "\u{feff}EUR # the first entry, behind a byte order mark\n".to_owned()),
    ]);
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t1")).triggered(), ["a"]);
    assert!(service.stop().0.success());
    fs::write(home.rules().join("lists/stopped.txt"), b"EUR\n\xff\n").unwrap();
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t2")).triggered(), ["a"]);
    let rules = service.get("/readyz").at("/checks/rules");
    assert!(rules.as_str().is_some_and(|word| word.starts_with("degraded: 1 ")), "{rules}");
}
