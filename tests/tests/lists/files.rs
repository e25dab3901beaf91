//! List files: invalid ones are rejected, tables are read, and no list becomes empty by mistake.

use std::fs;

use super::*;

/// Creates a home with a list of two entries and a rule that uses it.
fn home() -> Home {
    Home::with_rules(&[
        ("a.ws", sample::rule("a", "source in $watched")),
        ("lists/watched.txt", "acc-1\nacc-2 # OFAC\n".to_owned()),
    ])
}

fn check_of(service: &Service, name: &str) -> String {
    service.get("/readyz").at(&format!("/checks/{name}")).as_str().unwrap_or_default().to_owned()
}

fn is_ready(service: &Service) -> bool {
    service.get("/readyz").status == 200
}

/// Returns invalid list files and a phrase of the log message for each.
fn no_lists() -> Vec<(Vec<u8>, &'static str)> {
    vec![
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n".to_vec(),
            "`git_lfs_pointer`",
        ),
        (b"<!DOCTYPE html>\n<html><body>Not Found</body></html>\n".to_vec(), "`markup`"),
        (b"<?xml version=\"1.0\"?>\n<list/>\n".to_vec(), "`markup`"),
        (b"[\"acc-1\", \"acc-2\"]".to_vec(), "`json`"),
        (b"{\"message\": \"not fou".to_vec(), "`json`"),
        ("x".repeat(1025).into_bytes(), "`long_line`"),
        (b"acc-1\racc-2\r".to_vec(), "`carriage_return`"),
        (b"acc-1\n\xff\n".to_vec(), "not UTF-8"),
        (b"a\0c\0c\0".to_vec(), "`nul`"),
        (b"<<<<<<< HEAD\nacc-1\n=======\nacc-3\n>>>>>>> other\n".to_vec(), "`merge_conflict`"),
        (b"".to_vec(), "falls from 2 entries to none"),
        (b"# acc-1\n#acc-2\n".to_vec(), "falls from 2 entries to none"),
    ]
}

#[test]
fn an_invalid_list_file_never_replaces_a_list() {
    let home = home();
    let service = Service::start(&home);
    let file = home.rules().join("lists/watched.txt");
    for (number, (content, words)) in no_lists().into_iter().enumerate() {
        fs::write(&file, &content).unwrap();
        service.until(words, || service.log().lines().iter().any(|line| line.contains(words)));
        service.until("degraded", || check_of(&service, "rules").starts_with("degraded: 1 "));
        assert!(is_ready(&service));
        assert!(service.get("/metrics").text().contains("\ntollgate_rule_files_refused 1\n"));
        assert_eq!(judge(&service, &format!("t{number}"), "acc-2"), ["a"], "{words}");
        // The next invalid content is rejected again.
        fs::write(&file, "acc-1\nacc-2\n").unwrap();
        service.until("cured", || check_of(&service, "rules") == "ok");
    }
    fs::write(&file, "# empty on purpose\n").unwrap();
    service.until("emptied", || service.get("/lists/watched").at("/count") == 0);
    assert_eq!(judge(&service, "emptied", "acc-2"), [""; 0]);
}

#[test]
fn a_list_that_never_was_good_makes_its_rules_fail() {
    for (content, words) in no_lists().into_iter().take(10) {
        let home = Home::with_rules(&[("a.ws", sample::rule("a", "source in $watched"))]);
        home.write_rule("lists/watched.txt", &content);
        let service = Service::start(&home);
        let answer = service.inject(&sample::transaction("t"));
        assert_eq!(answer.at("/verdict"), "review", "{words}");
        assert_eq!(answer.at("/failures/0/failure"), "list", "{words}");
        assert!(
            check_of(&service, "lists").starts_with("degraded: these lists are not set: `$watched`"),
            "{words}"
        );
        assert!(is_ready(&service), "{words}");
    }
}

#[test]
fn a_pointer_instead_of_a_rule_is_refused_by_name() {
    let home = Home::with_rules(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n";
    home.write_rule("b.ws", pointer);
    home.write_rule("c.wasm", pointer);
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["a"]);
    let (_, lines) = service.stop();
    for path in ["b.ws", "c.wasm"] {
        let of_path = |line: &&String| line.contains(path) && line.contains("Git LFS pointer");
        assert!(lines.iter().any(|line| of_path(&line)), "{path}:\n{}", lines.join("\n"));
    }
    let output = home.command(&["check", "rules/b.ws"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_table_gives_its_first_column() {
    let home = Home::with_rules(&[("a.ws", sample::rule("a", "source in $watched"))]);
    home.write_rule("lists/watched.csv", "Account,reason\n\"Smith, John\",OFAC\nacc-2,\"x, y\"\n");
    home.write_rule("lists/watched.txt", "acc-3\n");
    let service = Service::start(&home);
    assert_eq!(service.get("/lists/watched").at("/entries"), json!(["Smith, John", "acc-2"]));
    assert_eq!(judge(&service, "t1", "Smith, John"), ["a"]);
    // If two files define a list, the first one wins.
    assert!(check_of(&service, "rules").starts_with("degraded: 1 "));
    fs::remove_file(home.rules().join("lists/watched.csv")).unwrap();
    service.until("the other has its turn", || {
        service.get("/lists/watched").at("/source/path") == "lists/watched.txt"
    });
}

#[test]
fn a_list_that_loses_more_than_half_is_reported_or_held_back() {
    for (setting, is_held) in [("warn", false), ("hold", true)] {
        let mut home = Home::with_rules(&[("a.ws", sample::rule("a", "source in $watched"))]);
        home.set("SERVICE_LISTS_SHRINK", setting);
        home.write_rule("lists/watched.txt", "acc-1\nacc-2\nacc-3\n");
        let service = Service::start(&home);
        home.write_rule("lists/watched.txt", "acc-1\n");
        let words = if is_held { "falls from 3 entries to 1" } else { "loses more than half" };
        service.until(words, || service.log().lines().iter().any(|line| line.contains(words)));
        service.until("in force or not", || {
            service.get("/lists/watched").at("/count") == if is_held { 3 } else { 1 }
        });
        assert_eq!(check_of(&service, "rules").starts_with("degraded: "), is_held);
        home.write_rule("lists/watched.txt", "# shorter on purpose\nacc-1\n");
        service.until("in force", || service.get("/lists/watched").at("/count") == 1);
    }
}

#[test]
fn an_invisible_character_in_an_entry_is_a_warning_with_its_line() {
    let home = home();
    home.write_rule("lists/watched.txt", "acc-1\nacc\u{200b}-2\n");
    let service = Service::start(&home);
    let (_, lines) = service.stop();
    let warned = lines.iter().find(|line| line.contains("invisible")).expect("a warning");
    let fields = tollgate_tests::log::fields(warned).unwrap();
    assert_eq!((&fields["line"], &fields["character"]), (&json!(2), &json!("U+200B")));
    let said = home.command(&["doctor"]).output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        said.contains("warning  list: lists/watched.txt: line 2 has the invisible character U+200B"),
        "{said}"
    );
}

/// Lists that were read by the wrong column: the file, its content, the line, and a part of the warning.
const WRONG_COLUMNS: [(&str, &str, u64, &str); 5] = [
    (
        "lists/watched.csv",
        "36,\"AERO\",-0- ,\"CUBA\"\n173,\"ANGLO\",-0- ,\"CUBA\"\n306,X,-0- ,\"CUBA\"\n",
        1,
        "count up",
    ),
    ("lists/watched.csv", "id,name\n1,Smith\n2,Jones\n3,Miller\n", 2, "count up"),
    ("lists/watched.csv", "fileDate;Name\n28/10/2022;Smith\n28/10/2022;Jones\n", 1, "names no known column"),
    ("lists/watched.txt", "# listed\n2024-01-31\n2024-02-01\n", 2, "dates"),
    ("lists/watched.txt", "acc-1\n6.21E+18\n=\"0123\"\n", 2, "spreadsheet"),
];

#[test]
fn a_list_of_the_wrong_column_is_a_warning_with_its_line() {
    for (path, content, line, words) in WRONG_COLUMNS {
        let home = Home::with_rules(&[("a.ws", sample::rule("a", "source in $watched"))]);
        home.write_rule(path, content);
        let output = home.command(&["check", home.rules().to_str().unwrap()]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        let warned =
            said.lines().any(|said| said.contains(&format!("{path}:{line}: ")) && said.contains(words));
        assert!(warned, "{content:?}: {said}");
        let service = Service::start(&home);
        if path.ends_with(".txt") {
            let saved = service.put("/lists/other", "text/plain", content.as_bytes()).expect(201);
            assert_eq!(saved["warnings"][0]["position"], line, "{saved}");
            assert!(saved["warnings"][0]["message"].as_str().unwrap().contains(words), "{saved}");
        }
        let (_, lines) = service.stop();
        let logged = lines.iter().filter_map(|line| tollgate_tests::log::fields(line));
        let is_logged = logged.into_iter().any(|fields| {
            fields["line"] == line && fields["reason"].as_str().is_some_and(|reason| reason.contains(words))
        });
        assert!(is_logged, "{content:?}:\n{}", lines.join("\n"));
    }
}

#[test]
fn the_first_line_of_a_table_chooses_its_column() {
    let home = Home::with_rules(&[("a.ws", sample::rule("a", "source in $watched"))]);
    home.write_rule("lists/watched.csv", "# column=Full Name\nid;full_name\n1;\"Smith; John\"\n2;Jones\n");
    let service = Service::start(&home);
    assert_eq!(service.get("/lists/watched").at("/entries"), json!(["Smith; John", "Jones"]));
    assert_eq!(judge(&service, "t", "Jones"), ["a"]);
    // A column that is not there makes no other list: the last good one stays.
    home.write_rule("lists/watched.csv", "# column=fullname\nid;full_name\n1;Miller\n");
    service.until("it is refused", || check_of(&service, "rules").contains("`no_column`"));
    assert_eq!(judge(&service, "t2", "Jones"), ["a"]);
    let output = home.command(&["check", home.rules().to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}
