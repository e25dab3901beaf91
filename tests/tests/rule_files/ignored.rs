//! Files that were meant as rules or lists, and have other names: they are named wherever the rules are read.

use std::fs;

use super::*;

const WORDS: &str = "files that look like rules or lists are ignored";

fn ignored(service: &Service) -> String {
    service.get("/readyz").expect(200)["checks"]["ignored"].as_str().unwrap().to_owned()
}

/// Returns files with names that nothing reads, and with the content of a rule or list.
fn files() -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> =
        ["X.WS", "x.ws.txt", "cards/x.ws.j2", "x.rule", "x.ws ", "x.wss", "x"]
            .map(|path| (path.to_owned(), sample::rule("x", "amount > 1")))
            .into();
    for path in ["x.Wasm", "lists/l.TXT", "lists/l.tsv", "list/l.txt", "Lists/l.csv"] {
        files.push((path.to_owned(), "acc-1\n".to_owned()));
    }
    files
}

#[test]
fn a_file_that_was_meant_as_a_rule_is_named_by_log_readiness_and_check() {
    let home = Home::with_rules(&files());
    home.write_rule("a.ws", sample::rule("a", "amount > 1"));
    let service = Service::start(&home);
    let words = ignored(&service);
    assert!(words.starts_with("ok: in the rules directory, 12 files look like rules or lists"), "{words}");
    let output = home.command(&["check", home.rules().to_str().unwrap()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    for (path, _) in files() {
        assert!(words.contains(&format!("`{path}`")), "{path}: {words}");
        let warning = format!("warning: {}: ignored: ", home.rules().join(&path).display());
        assert!(said.contains(&warning), "{path}: {said}");
    }

    // A file that comes later is named, and one that gets its name is a rule.
    home.write_rule("later.ws.bak", sample::rule("later", "amount > 1"));
    service.until("it is named", || {
        ignored(&service).contains("13 files") && ignored(&service).contains("`later.ws.bak`")
    });
    for (path, _) in files() {
        fs::remove_file(home.rules().join(path)).unwrap();
    }
    fs::rename(home.rules().join("later.ws.bak"), home.rules().join("later.ws")).unwrap();
    service.until("nothing is ignored", || ignored(&service) == "ok");
    let (_, lines) = service.stop();
    let logged = lines.iter().filter(|line| log::message(line) == WORDS).count();
    assert!(logged >= 2, "{}", lines.join("\n"));
}

#[test]
fn the_first_fifty_of_many_ignored_files_are_named() {
    let home = Home::new();
    (0..53).for_each(|n| home.write_rule(&format!("{n:02}.WS"), sample::rule("x", "amount > 1")));
    let service = Service::start(&home);
    let words = ignored(&service);
    assert!(words.contains("53 files") && words.contains("`49.WS` and 3 more"), "{words}");
    let output = home.command(&["check", home.rules().to_str().unwrap()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.matches("ignored: ").count(), 50, "{said}");
    assert!(said.contains("3 more files are ignored") && said.contains("nothing to check"), "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
}

#[test]
fn files_that_lie_beside_rules_on_purpose_are_not_named() {
    let mut home = Home::with_rules(&[("a.ws", "")]);
    let shipped = tollgate_tests::repository::root().join("rules");
    home.set("WATCH_SCRIPT_DIR", shipped.to_str().unwrap());
    assert_eq!(ignored(&Service::start(&home)), "ok");
}
