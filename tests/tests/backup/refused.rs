//! Refused operations: a restore never overwrites, leaves no partial files, and rejects damaged backups.

use std::fs;
use std::path::PathBuf;

use tollgate_tests::{Home, Service, needs, sample};

use super::{backup, check_done, check_refused, restore, run, said};

/// Returns a home with a stopped service and a transaction `t` in its store.
fn stopped() -> Home {
    let home = Home::new();
    let service = Service::start(&home);
    assert_eq!(service.inject(&sample::transaction("t")).status, 200);
    assert_eq!(service.stop().0.code(), Some(0));
    home
}

fn names_in(folder: PathBuf) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_stopped_or_killed_service_is_backed_up_as_well_and_left_as_it_is() {
    for is_killed in [false, true] {
        let home = Home::new();
        let service = Service::start(&home);
        assert_eq!(service.inject(&sample::transaction("t")).status, 200);
        let stored = service.transaction("t");
        if is_killed {
            service.kill();
        } else {
            assert_eq!(service.stop().0.code(), Some(0));
        }
        let file = home.at("backup");
        check_done(&backup(&home, &file));
        let other = Home::new();
        check_done(&restore(&other, &file));
        assert_eq!(Service::start(&other).transaction("t"), stored);
        assert_eq!(Service::start(&home).transaction("t"), stored);
    }
}

#[test]
fn a_directory_may_be_named() {
    let home = stopped();
    let elsewhere = Home::new();
    let (file, from, to) = (home.at("backup"), home.data(), elsewhere.at("new/data"));
    let [file, from, to] = [&file, &from, &to].map(|path| path.to_str().unwrap());
    check_done(&run(&elsewhere, &["backup", "--data-dir", from, file]));
    check_done(&run(&elsewhere, &["restore", "--data-dir", to, file]));
    assert!(elsewhere.at("new/data/tollgate.db").exists());
    assert_eq!(names_in(elsewhere.data()), Vec::<String>::new());
}

#[test]
fn a_backup_overwrites_nothing_and_goes_elsewhere() {
    let home = stopped();
    let before = names_in(home.data());
    let file = home.at("backup");
    fs::write(&file, "the only copy of something").unwrap();
    check_refused(&backup(&home, &file), "is not overwritten");
    assert_eq!(fs::read(&file).unwrap(), b"the only copy of something");
    check_refused(&backup(&home, &home.data().join("backup")), "write the backup elsewhere");
    fs::create_dir(home.data().join("backups")).unwrap();
    check_refused(&backup(&home, &home.data().join("backups/b")), "write the backup elsewhere");
    fs::remove_dir(home.data().join("backups")).unwrap();
    check_refused(&backup(&home, &home.at("no/such/folder/b")), "no/such/folder");
    check_refused(&backup(&Home::new(), &home.at("empty")), "there is no database");
    assert_eq!(names_in(home.data()), before, "nothing was left in the data directory");
    assert_eq!(names_in(home.at(".")), ["backup", "data", "elsewhere", "rules"]);
}

#[test]
fn leftovers_of_an_interrupted_backup_do_not_disturb_the_next() {
    let home = stopped();
    let file = home.at("backup");
    fs::write(home.at("backup.new"), "half").unwrap();
    fs::write(home.at("backup.new-journal"), "half").unwrap();
    check_done(&backup(&home, &file));
    assert_eq!(names_in(home.at(".")), ["backup", "data", "elsewhere", "rules"]);
}

#[test]
fn a_backup_is_restored_only_where_nothing_is_and_nobody_runs() {
    let home = stopped();
    let file = home.at("backup");
    check_done(&backup(&home, &file));
    check_refused(&restore(&home, &file), "move it away first");
    let running = Home::new();
    let service = Service::start(&running);
    check_refused(&restore(&running, &file), "another process uses the data directory");
    service.kill();
    for name in ["history.snapshot", "git", "tollgate.db-wal"] {
        let other = Home::new();
        fs::create_dir(other.data().join(name)).unwrap();
        check_refused(&restore(&other, &file), name);
        assert!(!other.data().join("tollgate.db").exists());
    }
}

#[test]
fn an_incomplete_or_foreign_backup_is_not_restored() {
    let home = stopped();
    let file = home.at("backup");
    check_done(&backup(&home, &file));
    let whole = fs::read(&file).unwrap();
    let mut of_another_program = whole.clone();
    of_another_program[68..72].fill(0);
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 4096].fill(0xaa);
    for (content, words) in [
        (b"".as_slice(), "it is too short"),
        (&b"words ".repeat(100), "not an SQLite database"),
        (&of_another_program, "another program created it"),
        (&damaged, "damaged"),
        (&whole[..whole.len() / 2], "damaged"),
    ] {
        let other = Home::new();
        let bad = other.at("bad");
        fs::write(&bad, content).unwrap();
        check_refused(&restore(&other, &bad), words);
        assert_eq!(names_in(other.data()).iter().filter(|name| *name != "tollgate.lock").count(), 0);
    }
    check_refused(&restore(&Home::new(), &home.at("nowhere")), "nowhere");
    fs::write(home.at("backup-wal"), "").unwrap();
    check_refused(&restore(&Home::new(), &file), "copied by hand");
}

#[test]
fn hands_work_in_the_clone_is_named_when_it_is_in_no_backup() {
    needs!(Git);
    let upstream = tollgate_tests::git::Upstream::with(&[("a.ws", sample::rule("a", "amount > 1"))]);
    let mut home = Home::new();
    home.set("WATCH_SCRIPT_GIT_REPO", upstream.path().to_str().unwrap());
    let service = Service::start(&home);
    let _ = service.save(&sample::rule("saved", "amount > 2")).expect(201);
    let by_service = home.data().join("git/rules/saved.ws");
    service.until("the saved rule is in the work tree", || by_service.exists());
    let output = backup(&home, &home.at("first"));
    assert!(!check_done(&output).contains("warning"), "{}", said(&output));
    fs::write(home.data().join("git/rules/mine.ws"), sample::rule("mine", "amount > 3")).unwrap();
    let output = backup(&home, &home.at("second"));
    assert!(check_done(&output).contains("not in the backup: 1 files changed by hand"), "{}", said(&output));
}
