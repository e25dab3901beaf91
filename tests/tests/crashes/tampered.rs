//! Tests of the checker itself: it must find everything that a bug of the service could leave behind.

use std::fs;
use std::process::Stdio;

use tempfile::TempDir;
use tollgate_tests::programs::sqlite;
use tollgate_tests::{DurabilityChecker, Service, needs, proof};

use crate::crashes::{home, pace};

/// Description, change of the database, and the expected report.
const TAMPERINGS: [(&str, &str, &str); 12] = [
    (
        "the last transactions were acknowledged before they were committed",
        "CREATE TEMP TABLE last AS SELECT max(sequence) - 12 AS sequence FROM transactions; \
         DELETE FROM status_updates WHERE sequence > (SELECT sequence FROM last) OR target > (SELECT sequence FROM last); \
         DELETE FROM transactions WHERE sequence > (SELECT sequence FROM last)",
        "lost",
    ),
    (
        "one of a group is dropped",
        "DELETE FROM transactions WHERE sequence = (SELECT max(sequence) FROM transactions WHERE sequence NOT IN \
         (SELECT target FROM status_updates) AND sequence < 60)",
        "follows",
    ),
    (
        "a transaction is stored twice under two names",
        "INSERT INTO transactions (sequence, transaction_id, fingerprint, event_micros, accepted_micros, rule_set_version, body, assessment) \
         SELECT max(sequence, (SELECT max(sequence) FROM status_updates)) + 1, 't-twice', fingerprint, event_micros, accepted_micros, rule_set_version, body, assessment FROM transactions \
         WHERE sequence = (SELECT max(sequence) FROM transactions)",
        "nobody sent",
    ),
    (
        "a verdict is stored with another version of the rules",
        "UPDATE transactions SET rule_set_version = rule_set_version - 1 \
         WHERE sequence = (SELECT max(sequence) FROM transactions)",
        "",
    ),
    (
        "a verdict becomes another",
        "UPDATE transactions SET assessment = replace(assessment, '\"block\"', '\"review\"') \
         WHERE sequence = (SELECT max(sequence) FROM transactions WHERE assessment LIKE '%count_2%')",
        "the verdict should be",
    ),
    (
        "a conflict overwrites what it should not",
        "UPDATE transactions SET body = replace(body, '\"amount\":', '\"amount\":1000,\"was\":') \
         WHERE sequence = (SELECT max(sequence) FROM transactions WHERE sequence < 20)",
        "",
    ),
    (
        "a window is a microsecond short",
        "UPDATE transactions SET event_micros = event_micros - 1 \
         WHERE sequence = (SELECT max(sequence) FROM transactions WHERE body LIKE '%.000001Z%')",
        "as of",
    ),
    (
        "half a transaction is stored",
        "UPDATE transactions SET body = json_remove(body, '$.meta_data') \
         WHERE sequence = (SELECT max(sequence) FROM transactions WHERE sequence < 25)",
        "not whole",
    ),
    (
        "a status update is lost",
        "DELETE FROM status_updates WHERE sequence = (SELECT min(sequence) FROM status_updates)",
        "follows",
    ),
    (
        "a status goes back",
        "UPDATE status_updates SET after = 'pending' WHERE sequence = (SELECT min(sequence) FROM status_updates)",
        "status",
    ),
    (
        "a verdict counted what is not there",
        "UPDATE transactions SET assessment = replace(assessment, '\"count_1\"', '\"count_3\"') \
         WHERE sequence = (SELECT max(sequence) FROM transactions WHERE assessment LIKE '%count_1\"%' \
         AND assessment NOT LIKE '%count_3%')",
        "had to be",
    ),
    (
        "an index lost its entries",
        "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema \
         WHERE name = 'alerts_due') WHERE name = 'status_updates_of'",
        "damaged",
    ),
];

#[test]
fn the_checker_finds_whatever_is_not_as_it_was_answered() {
    needs!(Sqlite);
    let home = home();
    let mut witness = DurabilityChecker::of_seed(proof::seed("the checker"));
    let service = Service::start(&home);
    let tally = witness.load(&service, pace(300), || service.terminate());
    assert_eq!(service.wait().0.code(), Some(0), "{tally:?}");
    assert_eq!(
        witness.faults_at_first_sight(&home.data()),
        [""; 0],
        "without a bug there is nothing to find"
    );
    for (what, tampering, complaint) in TAMPERINGS {
        let copy = TempDir::new().unwrap();
        let database = copy.path().join("tollgate.db");
        fs::copy(home.data().join("tollgate.db"), &database).unwrap();
        let changed = sqlite(&database).arg(tampering).stdin(Stdio::null()).status();
        assert!(changed.unwrap().success(), "{what}");
        let faults = witness.faults_at_first_sight(copy.path());
        assert!(faults.iter().any(|fault| fault.contains(complaint)), "{what} is not found: {faults:#?}");
    }
}
