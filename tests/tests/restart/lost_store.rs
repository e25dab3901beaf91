//! A store that is lost, in whole or in part, is not taken for a new one.

use std::fs;
use std::process::Output;

use tollgate_tests::{Home, Service, sample};

const N_PAYMENTS: usize = 20;

/// What is removed after the end of the service.
type Loss = fn(&Home);

fn remove(home: &Home, names: &[&str]) {
    for name in names {
        fs::remove_file(home.data().join(name)).unwrap();
    }
}

fn pay(service: &Service, prefix: &str) {
    for n in 0..N_PAYMENTS {
        assert_eq!(service.inject(&sample::transaction(&format!("{prefix}-{n}"))).status, 200);
    }
}

/// A home whose service took payments and was killed or stopped.
fn lived(is_stopped: bool) -> Home {
    let home = Home::with_rules(&[("large.ws", sample::rule("large", "amount > 1000000"))]);
    let service = Service::start(&home);
    pay(&service, "first");
    if is_stopped {
        assert_eq!(service.stop().0.code(), Some(0))
    } else {
        service.kill()
    }
    home
}

fn doctor(home: &Home) -> String {
    let Output { status, stderr, .. } = home.command(&["doctor"]).output().unwrap();
    let said = String::from_utf8_lossy(&stderr).into_owned();
    assert_eq!(status.code(), Some(1), "{said}");
    said
}

/// Returns the log of a start that must be refused, and the id that it prints.
#[track_caller]
fn refused(home: &Home) -> (String, String) {
    let Err(refusal) = Service::try_start(home) else { panic!("it starts") };
    let log = refusal.log.join("\n");
    assert_eq!(refusal.code, Some(1), "{log}");
    let after = log.split("--accept-empty-store=").nth(1).unwrap_or_else(|| panic!("no option in:\n{log}"));
    let id: String = after.chars().take_while(char::is_ascii_alphanumeric).collect();
    (log, id)
}

#[track_caller]
fn check(what: &str, is_stopped: bool, lose: Loss, words: &[&str]) {
    let mut home = lived(is_stopped);
    lose(&home);
    let (log, id) = refused(&home);
    let said = doctor(&home);
    for words in words {
        assert!(log.contains(words), "{what}: no `{words}` in:\n{log}");
        assert!(said.contains(words), "{what}: no `{words}` in:\n{said}");
    }
    assert!(said.contains("problem  mark: "), "{what}:\n{said}");
    // A start that was refused changes nothing, and no other id is accepted.
    assert_eq!(refused(&home).1, id, "{what}");
    home.serve_with("--accept-empty-store=0123456789abcdef0123456789abcdef");
    assert_eq!(refused(&home).1, id, "{what}");
    home.serve_with(&format!("--accept-empty-store={id}"));
    let service = Service::start(&home);
    pay(&service, "second");
    service.kill();
    // The option is good once.
    remove(&home, &["tollgate.db"]);
    let (_, another) = refused(&home);
    assert_ne!(another, id, "{what}");
}

#[test]
fn a_lost_database_is_not_taken_for_a_new_one() {
    let proof = ["is gone: `tollgate.mark` proves that it existed"];
    check("after a stop", true, |home| remove(home, &["tollgate.db"]), &proof);
    check("beside its log", false, |home| remove(home, &["tollgate.db"]), &proof);
    check("with its log", false, |home| remove(home, &["tollgate.db", "tollgate.db-wal"]), &proof);
}

#[test]
fn a_snapshot_proves_that_a_store_existed() {
    let words = ["is gone: `history.snapshot` proves that it existed and held the numbers up to 20"];
    check("no mark", true, |home| remove(home, &["tollgate.db", "tollgate.mark"]), &words);
}

#[test]
fn a_lost_log_is_reported_with_the_numbers_that_are_gone() {
    let words = ["ends at number 0, but number ", "the numbers 1 to "];
    check("the log", false, |home| remove(home, &["tollgate.db-wal"]), &words);
}

#[test]
fn an_older_database_is_reported_with_the_numbers_that_are_gone() {
    let put_back = |home: &Home| {
        let earlier = fs::read(home.data().join("tollgate.db")).unwrap();
        let service = Service::start(home);
        pay(&service, "more");
        assert_eq!(service.stop().0.code(), Some(0));
        fs::write(home.data().join("tollgate.db"), earlier).unwrap();
    };
    check(
        "an older one",
        true,
        put_back,
        &["ends at number 20, but number 40 was", "the numbers 21 to 40 are"],
    );
}

#[test]
fn a_database_of_another_store_does_not_replace_a_lost_one() {
    let exchange = |home: &Home| {
        fs::copy(lived(true).data().join("tollgate.db"), home.data().join("tollgate.db")).unwrap();
    };
    check("exchanged", true, exchange, &["and `tollgate.db` is of the store "]);
}

#[test]
fn a_mark_that_is_damaged_proves_a_store_and_stops_no_store_that_is_there() {
    let home = lived(true);
    let mark = home.data().join("tollgate.mark");
    fs::write(&mark, "tollgate-mark-1 of a text that is no mark and is longer than every mark that the service writes, by far").unwrap();
    let service = Service::start(&home);
    assert_eq!(service.get("/transactions/first-0").status, 200);
    assert_eq!(service.stop().0.code(), Some(0));
    assert!(fs::read_to_string(&mark).unwrap().len() < 100, "it is written again");
    fs::write(&mark, "").unwrap();
    remove(&home, &["tollgate.db"]);
    assert_eq!(refused(&home).1, "unknown");
}

#[test]
fn a_lock_and_compiled_modules_prove_no_store() {
    let home = lived(true);
    remove(&home, &["tollgate.db", "tollgate.mark", "history.snapshot"]);
    assert!(home.data().join("tollgate.lock").exists() && home.data().join("artifacts").exists());
    let service = Service::start(&home);
    assert_eq!(service.get("/transactions/first-0").status, 404);
}

#[test]
fn a_restored_backup_replaces_a_lost_store() {
    let home = lived(true);
    let file = home.at("backup");
    let run = |arguments: &[&str]| home.command(arguments).output().unwrap();
    assert_eq!(run(&["backup", file.to_str().unwrap()]).status.code(), Some(0));
    let service = Service::start(&home);
    pay(&service, "more");
    assert_eq!(service.stop().0.code(), Some(0));
    remove(&home, &["tollgate.db", "history.snapshot"]);
    refused(&home);
    assert_eq!(run(&["restore", file.to_str().unwrap()]).status.code(), Some(0));
    assert_eq!(run(&["doctor"]).status.code(), Some(0));
    let service = Service::start(&home);
    assert_eq!(service.get("/transactions/first-19").status, 200);
    assert_eq!(service.get("/transactions/more-0").status, 404);
}
