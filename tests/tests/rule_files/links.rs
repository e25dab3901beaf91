//! Rules behind symbolic links: allowed links are followed, others are reported, and neither counts as a removed rule.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, lchown, symlink};
use std::time::Instant;

use tollgate_tests::{Home, Service, sample};

use super::in_force_within;

#[track_caller]
fn triggers(service: &Service, expected: &[&str]) {
    service.until(&format!("{expected:?} are in force"), || {
        service.inject(&serde_json::json!({"amount": 10, "currency": "EUR", "reference": "r"})).triggered()
            == expected
    });
}

/// Returns the state of the rules according to `/readyz`.
fn check_of_rules(service: &Service) -> String {
    service.get("/readyz").at("/checks/rules").as_str().unwrap_or_default().to_owned()
}

#[test]
fn files_folders_and_lists_are_found_behind_links() {
    let home = Home::new();
    for (path, text) in [
        ("stow/cards/a.ws", sample::rule("a", "currency in $stopped")),
        ("stow/lists/stopped.txt", "EUR\n".to_owned()),
        ("store/hash-b.ws", sample::rule("b", "amount > 1")),
    ] {
        fs::create_dir_all(home.at(path).parent().unwrap()).unwrap();
        fs::write(home.at(path), text).unwrap();
    }
    symlink("../stow/cards", home.rules().join("cards")).unwrap();
    symlink(home.at("stow/lists"), home.rules().join("lists")).unwrap();
    symlink(home.at("store/hash-b.ws"), home.rules().join("b.ws")).unwrap();
    symlink("b.ws", home.rules().join("again.ws")).unwrap();
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["a", "b"]);
    assert_eq!(service.get("/lists/stopped").at("/count"), 1);
    assert_eq!(check_of_rules(&service), "ok", "a file that is reached twice counts once");

    // Files behind links are watched as well.
    let changes: [(&str, String, &[&str]); 4] = [
        ("stow/cards/a.ws", sample::rule("a2", "amount > 1"), &["a2", "b"]),
        ("stow/cards/new/c.ws", sample::rule("c", "amount > 1"), &["a2", "b", "c"]),
        ("stow/cards/new/d.ws", sample::rule("d", "amount > 1"), &["a2", "b", "c", "d"]),
        ("store/hash-b.ws", sample::rule("b2", "amount > 1"), &["a2", "b2", "c", "d"]),
    ];
    for (path, text, expected) in changes {
        fs::create_dir_all(home.at(path).parent().unwrap()).unwrap();
        let changed = Instant::now();
        fs::write(home.at(path), text).unwrap();
        triggers(&service, expected);
        // The folder is watched only after the file came, so the file has to stay the same for a second.
        let is_unwatched = path == "stow/cards/new/c.ws";
        let within = in_force_within() * if is_unwatched { 3 } else { 1 };
        assert!(changed.elapsed() < within, "{path}: {:?}", changed.elapsed());
    }
    fs::write(home.at("stow/lists/stopped.txt"), "EUR\nUSD\n").unwrap();
    service.until("the list is in force", || service.get("/lists/stopped").at("/count") == 2);
    let (_, lines) = service.stop();
    let found = lines.iter().find(|line| line.contains("rule files found")).expect("it says what it found");
    assert!(found.contains("\"scripts\":2") && found.contains("\"lists\":1"), "{found}");
}

#[test]
fn a_link_that_is_turned_is_one_change_and_the_old_target_may_be_gone_at_once() {
    for has_notices in [true, false] {
        let mut home = Home::new();
        home.set("WATCH_SCRIPT_DIR_NOTICES", if has_notices { "true" } else { "false" });
        let version = |n: usize, names: &[&str]| {
            let folder = home.at(&format!("trees/v{n}"));
            fs::create_dir_all(&folder).unwrap();
            for name in names {
                fs::write(
                    folder.join(format!("{name}.ws")),
                    sample::rule(&format!("{name}{n}"), "amount > 1"),
                )
                .unwrap();
            }
            symlink(&folder, home.at("next")).unwrap();
            fs::rename(home.at("next"), home.rules().join("current")).unwrap();
        };
        version(1, &["a", "b"]);
        let service = Service::start(&home);
        triggers(&service, &["a1", "b1"]);
        let before = service.inject(&sample::transaction("before")).at("/rule_set_version").as_u64();
        version(2, &["a", "c"]);
        fs::remove_dir_all(home.at("trees/v1")).unwrap();
        let took = service.until("the new tree is in force", || {
            let triggered =
                service.inject(&serde_json::json!({"amount": 10, "currency": "EUR", "reference": "r"}));
            let triggered = triggered.triggered();
            assert!(triggered == ["a1", "b1"] || triggered == ["a2", "c2"], "a mixture: {triggered:?}");
            triggered == ["a2", "c2"]
        });
        assert!(!has_notices || took < in_force_within(), "{took:?}");
        let after = service.inject(&sample::transaction("after")).at("/rule_set_version").as_u64();
        assert_eq!(after, before.map(|before| before + 1), "one version");
    }
}

#[test]
fn a_rule_stays_when_a_link_to_the_same_text_or_to_nothing_replaces_it() {
    let home = Home::with_rules(&[
        ("a.ws", sample::rule("a", "amount > 1")),
        ("b.ws", sample::rule("b", "amount > 1")),
        ("cards/c.ws", sample::rule("c", "amount > 1")),
        ("lists/l.txt", "x\n".to_owned()),
    ]);
    let service = Service::start(&home);
    let version = service.inject(&sample::transaction("t1")).at("/rule_set_version");
    let replace_with = |path: &str, target: &std::path::Path| {
        symlink(target, home.at("next")).unwrap();
        let target_path = home.rules().join(path);
        if target_path.is_dir() {
            fs::rename(&target_path, home.at("aside")).unwrap();
        }
        fs::rename(home.at("next"), target_path).unwrap();
    };
    fs::copy(home.rules().join("a.ws"), home.at("a.ws")).unwrap();
    replace_with("a.ws", &home.at("a.ws"));
    replace_with("b.ws", &home.at("nowhere.ws"));
    replace_with("lists/l.txt", &home.at("nowhere.txt"));
    replace_with("cards", &home.at("nowhere"));
    service.until("three are refused", || check_of_rules(&service).starts_with("degraded: 3 "));
    let answer = service.inject(&sample::transaction("t2"));
    assert_eq!(answer.triggered(), ["a", "b", "c"]);
    assert_eq!(service.get("/lists/l").at("/count"), 1);
    assert_eq!(answer.at("/rule_set_version"), version, "nothing changed");
    // The same after a restart.
    assert!(service.stop().0.success());
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t3")).triggered(), ["a", "b", "c"]);
    let (_, lines) = service.stop();
    for path in ["b.ws", "lists/l.txt", "cards"] {
        let is_named =
            |line: &String| line.contains(&format!("\"path\":\"{path}\"")) && line.contains("leads nowhere");
        assert!(lines.iter().any(is_named), "{path} is not named:\n{}", lines.join("\n"));
    }
}

#[test]
fn links_of_others_loops_and_what_is_no_regular_file_are_refused_by_path() {
    let home = Home::with_rules(&[("a.ws", sample::rule("a", "amount > 1")), (".pipe/x", String::new())]);
    let rules = home.rules();
    symlink(".", rules.join("loop")).unwrap();
    symlink("/dev/zero", rules.join("zero.ws")).unwrap();
    symlink("/proc/self/status", rules.join("status.ws")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(rules.join("pipe.ws")).status().unwrap();
    assert!(made.success());
    symlink(rules.join("pipe.ws"), rules.join("piped.ws")).unwrap();
    let mut refused = vec!["loop", "zero.ws", "pipe.ws", "piped.ws", "status.ws"];
    fs::write(home.at("b.ws"), sample::rule("b", "amount > 1")).unwrap();
    symlink(home.at("b.ws"), rules.join("b.ws")).unwrap();
    if fs::metadata(&rules).unwrap().uid() == 0 && lchown(rules.join("b.ws"), Some(4321), None).is_ok() {
        refused.push("b.ws");
    } else {
        println!("without the rights of root nobody can make a link of another user");
        fs::remove_file(rules.join("b.ws")).unwrap();
    }
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["a"]);
    assert!(
        check_of_rules(&service).starts_with(&format!("degraded: {} ", refused.len())),
        "{}",
        check_of_rules(&service)
    );
    let (_, lines) = service.stop();
    for path in refused {
        let is_named = |line: &String| line.contains(&format!("\"path\":\"{path}\""));
        assert!(lines.iter().any(is_named), "{path} is not named:\n{}", lines.join("\n"));
    }
}
