//! Deliberate bugs in a running service: database triggers, and rules that differ from their names. The checker must
//! find each. A trigger also makes commits fail, which is not a bug: no verdict has counted the rolled-back
//! transactions.

use std::fs;
use std::process::Stdio;

use tollgate_tests::durability::Tally;
use tollgate_tests::programs::sqlite;
use tollgate_tests::{DurabilityChecker, Home, Service, needs, proof};

use crate::crashes::pace;

/// Description, trigger, and phrases of which the checker must report one.
const BUGS: [(&str, &str, &[&str]); 5] = [
    (
        "one transaction of a group is acknowledged and not kept",
        "AFTER INSERT ON transactions WHEN NEW.sequence % 13 = 0 \
         BEGIN DELETE FROM transactions WHERE sequence = NEW.sequence; END",
        &["follows"],
    ),
    (
        "a transaction is kept twice",
        // At least one in a range of numbers belongs to a transaction.
        "AFTER INSERT ON transactions WHEN NEW.sequence BETWEEN 40 AND 60 \
         BEGIN INSERT INTO transactions (sequence, transaction_id, fingerprint, event_micros, accepted_micros, rule_set_version, body, assessment) SELECT 1000000 + NEW.sequence, NEW.transaction_id || ' ', NEW.fingerprint, NEW.event_micros, NEW.accepted_micros, NEW.rule_set_version, NEW.body, NEW.assessment; END",
        &["nobody sent"],
    ),
    (
        "another version of the rules is kept with a verdict",
        "AFTER INSERT ON transactions WHEN NEW.sequence % 7 = 0 \
         BEGIN UPDATE transactions SET rule_set_version = rule_set_version + 1 WHERE sequence = NEW.sequence; END",
        // The next version never existed, or has different rules.
        &["version", "had to be"],
    ),
    (
        "a verdict is kept that nobody was told",
        "AFTER INSERT ON transactions WHEN NEW.sequence % 11 = 0 BEGIN UPDATE transactions \
         SET assessment = replace(assessment, 'evaluated_at\":\"2', 'evaluated_at\":\"3') WHERE sequence = NEW.sequence; END",
        &["stored as"],
    ),
    (
        "a status update is acknowledged and not kept",
        "AFTER INSERT ON status_updates BEGIN DELETE FROM status_updates WHERE sequence = NEW.sequence; END",
        &["follows"],
    ),
];

/// Returns a home with an initialised database that contains a trigger.
fn with_trigger(trigger: &str) -> Home {
    let home = DurabilityChecker::home();
    assert_eq!(Service::start(&home).stop().0.code(), Some(0));
    let mut sqlite = sqlite(&home.data().join("tollgate.db"));
    let seeded = sqlite.arg(format!("CREATE TRIGGER seeded {trigger}")).stdin(Stdio::null()).status();
    assert!(seeded.unwrap().success(), "{trigger}");
    home
}

/// Runs a load and kills the service during it.
/// Lives of a service in which a bug must show.
const LIVES_MAX: usize = 4;

fn live(home: &Home, witness: &mut DurabilityChecker, n_answers: usize) -> Tally {
    let service = Service::start(home);
    let pid = service.pid();
    let tally = witness.load(&service, pace(n_answers), || tollgate_tests::process::kill(pid));
    assert_eq!(service.wait().0.code(), None);
    tally
}

#[track_caller]
fn check_found(what: &str, home: &Home, complaints: &[&str]) {
    let mut witness = DurabilityChecker::of_seed(proof::seed(what));
    let is_met = |fault: &String| complaints.iter().any(|complaint| fault.contains(complaint));
    let mut lives = Vec::new();
    // A bug shows where answers meet the edge of a window: on a busy machine few do in one life.
    while lives.len() < LIVES_MAX {
        let tally = live(home, &mut witness, 250);
        let faults = witness.faults(&home.data());
        if faults.iter().any(is_met) {
            return;
        }
        lives.push((tally, faults));
    }
    panic!("{what}: {lives:#?}");
}

#[test]
fn the_witness_finds_bugs_of_a_service_that_runs() {
    needs!(Sqlite);
    for (what, trigger, complaints) in BUGS {
        check_found(what, &with_trigger(trigger), complaints);
    }
}

#[test]
fn the_witness_finds_windows_and_counts_that_are_off_by_one() {
    needs!(Sqlite);
    for (what, right, wrong) in [
        ("windows that are short by a second", "PT1H", "PT59M59S"),
        ("windows that are long by a second", "PT1H", "PT1H1S"),
        ("counts that begin late", ") >= ", ") > "),
    ] {
        let home = DurabilityChecker::home();
        for entry in fs::read_dir(home.rules()).unwrap() {
            let path = entry.unwrap().path();
            fs::write(&path, fs::read_to_string(&path).unwrap().replace(right, wrong)).unwrap();
        }
        check_found(what, &home, &["had to be"]);
    }
}

#[test]
fn no_verdict_counts_a_transaction_of_a_failed_commit() {
    needs!(Sqlite);
    let home = with_trigger(
        "BEFORE INSERT ON transactions WHEN abs(random()) % 10 = 0 BEGIN SELECT RAISE(ABORT, 'seeded'); END",
    );
    let mut witness = DurabilityChecker::of_seed(proof::seed("failed commits"));
    for round in 0..proof::rounds(2, 40) {
        let tally = live(&home, &mut witness, 200);
        assert!(tally.n_unavailable > 0, "no commit failed: {tally:?}");
        witness.check(&home.data(), &format!("failed commits, round {round}"));
        println!("failed commits: {tally:?}, {} stored, 0 faults", witness.n_stored());
    }
}
