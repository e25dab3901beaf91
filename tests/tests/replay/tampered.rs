//! Modified stores: verdicts that no longer follow are identified, and no others.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;
use tollgate_tests::audit::{self, Replayed};
use tollgate_tests::{Home, Service, modules, sample, tampering};

use crate::replay::{home, traffic, transaction};

const N: usize = 24;

/// A home with several rule set versions. Its store is copied and never modified.
fn life() -> &'static Home {
    static LIFE: OnceLock<Home> = OnceLock::new();
    LIFE.get_or_init(|| {
        let home = home();
        let service = Service::start(&home);
        traffic(&service, "first", N);
        assert_eq!(service.save(&sample::rule("large", "amount > 5")).status, 201);
        let module = modules::of_text(
            r#"(module
              (import "tollgate" "number" (func $number (param i32) (result f64)))
              (func (export "evaluate") (result i64)
                (if (f64.gt (call $number (i32.const 0)) (f64.const 15)) (then (unreachable)))
                (i64.const 0)))"#,
        );
        let trapping = modules::with_manifest(&module, &modules::manifest("trapping"));
        assert_eq!(service.upload("", &trapping).status, 201);
        traffic(&service, "second", N);
        assert_eq!(service.put("/lists/other", "application/json", br#"["s1"]"#).status, 201);
        traffic(&service, "third", N);
        service.stop();
        assert_eq!(audit::replay(&home).all_follow(), 3 * N as u64);
        home
    })
}

/// Returns the findings after these statements changed this many rows.
#[track_caller]
fn changed(statements: &str, n_rows: u64) -> Replayed {
    let copy = tampering::copy(life());
    assert_eq!(tampering::sql(copy.path(), statements), n_rows, "{statements}");
    replayed(copy.path())
}

fn replayed(directory: &Path) -> Replayed {
    audit::replay_in(life(), directory)
}

/// Returns the ids of differing transactions and the differing field.
fn found(replayed: &Replayed) -> BTreeSet<(String, String)> {
    assert_eq!(replayed.code, 1, "{replayed:#?}");
    let each = replayed.findings.iter().flat_map(|finding| {
        let id = finding["transaction_id"].as_str().unwrap().to_owned();
        let differs = finding["differs"].as_array().cloned().unwrap_or_default();
        differs.into_iter().map(move |found| (id.clone(), found["what"].as_str().unwrap().to_owned()))
    });
    each.collect()
}

#[track_caller]
fn check(statements: &str, expected: &[(&str, &str)]) {
    let replayed = changed(statements, 1);
    let expected = expected.iter().map(|(id, what)| ((*id).to_owned(), (*what).to_owned())).collect();
    assert_eq!(found(&replayed), expected, "{replayed:#?}");
}

#[test]
fn a_verdict_that_was_changed_is_found_by_name() {
    for (from, to, what) in [
        (
            r#""verdict":"block","score":0.9,"reason""#,
            r#""verdict":"approve","score":0.9,"reason""#,
            "verdict",
        ),
        (r#""score":0.9,"reason":"#, r#""score":0.8999999999999999,"reason":"#, "score"),
        (r#""triggered":[{"#, r#""triggered":[ {"#, "spelling"),
        (r#""rule_set_version":3"#, r#""rule_set_version":2"#, "rule_set_version"),
    ] {
        // Only the first occurrence is changed, even if rules have equal texts.
        let statement = format!(
            "UPDATE transactions SET assessment = substr(assessment, 1, instr(assessment, '{from}') - 1) || '{to}' || \
             substr(assessment, instr(assessment, '{from}') + {}) WHERE transaction_id = 'second-9'",
            from.len()
        );
        check(&statement, &[("second-9", what)]);
    }
    check("UPDATE transactions SET assessment = 'x' WHERE sequence = 1", &[("first-0", "assessment")]);
    let id = "UPDATE transactions SET transaction_id = 'other' WHERE transaction_id = 'third-2'";
    check(id, &[("other", "row of transaction_id")]);
    let event = "UPDATE transactions SET event_micros = event_micros + 1 WHERE transaction_id = 'third-2'";
    check(event, &[("third-2", "row of created_at")]);
}

#[test]
fn versions_that_were_swapped_are_found() {
    let swap = "UPDATE transactions SET rule_set_version = CASE WHEN transaction_id = 'first-23' THEN 3 ELSE 1 END \
                WHERE transaction_id IN ('first-23', 'second-0');";
    let replayed = changed(swap, 2);
    let ids: BTreeSet<String> = found(&replayed).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["first-23", "second-0"].map(str::to_owned).into(), "{replayed:#?}");
    // Changing the assessments as well is detected by their order.
    let answers = [("first-23", 1, 3), ("second-0", 3, 1)].map(|(id, from, to)| {
        format!(
            "UPDATE transactions SET assessment = replace(assessment, '\"rule_set_version\":{from}', \
             '\"rule_set_version\":{to}') WHERE transaction_id = '{id}';"
        )
    });
    let replayed = changed(&format!("{swap}{}", answers.concat()), 4);
    let order = ("second-0".to_owned(), "order of versions".to_owned());
    assert!(found(&replayed).contains(&order), "{replayed:#?}");
}

/// Checks that all findings, at least one, belong to these sources.
#[track_caller]
fn check_sources(replayed: &Replayed, sources: &[usize]) {
    let found = found(replayed);
    assert!(!found.is_empty());
    for (id, _) in &found {
        let n: usize = id.rsplit('-').next().unwrap().parse().unwrap();
        let source = transaction("", n)["source"].clone();
        assert!(sources.iter().any(|known| source == format!("s{known}")), "{id} of {source}: {found:?}");
    }
}

#[test]
fn a_past_that_was_changed_is_found_by_the_verdicts_that_saw_it() {
    // A transaction of source `s1`.
    check_sources(&changed("DELETE FROM transactions WHERE transaction_id = 'first-1'", 1), &[1]);
    let source =
        "UPDATE transactions SET body = replace(body, '\"s2\"', '\"s1\"') WHERE transaction_id = 'first-2'";
    check_sources(&changed(source, 1), &[1, 2]);
    let status = "DELETE FROM status_updates WHERE target = (SELECT sequence FROM transactions WHERE transaction_id = 'first-3')";
    check_sources(&changed(status, 1), &[3]);
    let word = "UPDATE status_updates SET after = 'void' WHERE target = (SELECT sequence FROM transactions WHERE transaction_id = 'first-0')";
    check_sources(&changed(word, 1), &[0]);
    let replayed = changed("UPDATE transactions SET body = '{' WHERE transaction_id = 'first-5'", 1);
    assert!(found(&replayed).contains(&("first-5".to_owned(), "body".to_owned())), "{replayed:#?}");
}

#[test]
fn rule_sets_that_were_changed_are_found() {
    // An additional entry with the previous digest: the version cannot be rebuilt.
    let replayed = changed(
        "UPDATE lists SET entries = 's1' || char(10) || 's2' || char(10) || 's3' \
                            WHERE digest = (SELECT list_digest FROM rule_set_lists WHERE name = 'watched')",
        1,
    );
    assert_eq!(found(&replayed).len(), 3 * N, "{replayed:#?}");
    assert!(replayed.findings.iter().all(|finding| says(finding, "`watched` does not match its digest")));
    // A replaced list.
    let other = "UPDATE rule_set_lists SET list_digest = (SELECT list_digest FROM rule_set_lists WHERE name = 'other') \
                 WHERE name = 'watched'";
    check_sources(&changed(other, 1), &[2]);
    // A rule that came into force one version late.
    let later = "UPDATE rule_set_members SET since_version = since_version + 1 WHERE instruction_id = \
                 (SELECT id FROM instructions WHERE name = 'large')";
    let replayed = changed(later, 1);
    assert!(replayed.code == 0, "nobody was judged by that version: {replayed:#?}");
    let later = later.replace("+ 1", "+ 2");
    assert!(found(&changed(&later, 1)).iter().all(|(id, _)| id.starts_with("second-")));
    // A replaced module.
    let module = "UPDATE rule_set_members SET module_digest = (SELECT module_digest FROM instructions WHERE name = 'total') \
                  WHERE instruction_id = (SELECT id FROM instructions WHERE name = 'large')";
    assert!(found(&changed(module, 1)).iter().all(|(id, _)| !id.starts_with("first-")));
    let bytes = "UPDATE modules SET bytes = zeroblob(length(bytes)) WHERE digest = \
                 (SELECT module_digest FROM instructions WHERE name = 'large')";
    let replayed = changed(bytes, 1);
    assert!(replayed.findings.iter().all(|finding| says(finding, "module of rule `large`")), "{replayed:#?}");
    assert_eq!(replayed.number("differ"), 2 * N as u64);
    // A rule marked as not run.
    let quarantine = "UPDATE rule_set_members SET quarantine = \
        '{\"since\":\"2026-01-01T00:00:00Z\",\"cause\":\"failures\",\"reason\":\"r\"}' \
        WHERE instruction_id = (SELECT id FROM instructions WHERE name = 'large')";
    assert_eq!(changed(quarantine, 1).number("differ"), 2 * N as u64);
    let gone = changed("DELETE FROM rule_sets WHERE version = 1", 1);
    assert_eq!(gone.number("differ"), N as u64, "{gone:#?}");
}

fn says(finding: &Value, words: &str) -> bool {
    finding["differs"][0]["derived"].as_str().is_some_and(|derived| derived.contains(words))
}

#[test]
fn a_failure_that_nobody_can_derive_again_is_believed_and_counted() {
    let replayed = changed(
        "UPDATE transactions SET assessment = replace(assessment, '\"failure\":\"trap\"', '\"failure\":\"timeout\"') \
         WHERE transaction_id = 'second-15'",
        1,
    );
    assert_eq!((replayed.code, replayed.number("taken_over")), (0, 1), "{replayed:#?}");
    let finding = &replayed.findings[0];
    assert_eq!(finding["transaction_id"], "second-15");
    assert_eq!(finding["taken_over"][0]["name"], "trapping");
    assert_eq!(finding["taken_over"][0]["failure"], "timeout");
}
