//! Tests of the oracle: one line per sentence of the language reference that could be read in two ways.

use serde_json::{Value as Json, json};
use tollgate_compiler::{CompileOptions, compile};

use super::{Oracle, Subject};
use crate::generator;

/// Returns transactions one hour apart; the last one is evaluated.
fn stream(entries: &[Json]) -> Vec<Json> {
    let transaction = |(hour, entry): (usize, &Json)| {
        let mut transaction = json!({
            "transaction_id": format!("t{hour}"), "amount": 10, "currency": "EUR", "reference": "r",
            "created_at": format!("2026-03-01T{hour:02}:00:00Z"),
        });
        if let (Json::Object(fields), Json::Object(given)) = (&mut transaction, entry) {
            fields.extend(given.clone());
        }
        transaction
    };
    entries.iter().enumerate().map(transaction).collect()
}

#[track_caller]
fn check(when: &str, entries: &[Json], expected: bool) {
    let script = format!("rule Judged {{ when {when} then review }}");
    let compiled = compile(&script, &CompileOptions::default());
    let rule = compiled.rule.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    let answers = Oracle::new(generator::lists()).judge(&[rule], &stream(entries)).unwrap();
    assert_eq!(answers.last(), Some(&vec![expected]), "{when}");
}

#[test]
fn nothing_holds_of_a_missing_value_but_its_negation() {
    let here = [json!({"meta_data": {"none": null, "flat": 1}})];
    for when in [
        "metadata.a == 1",
        "metadata.a != 1",
        "metadata.none != 1",
        "metadata.flat.deep not_in (1)",
        "source not_regex \"x\"",
        "amount not_in $unset",
        "amount / 0 != 1",
        "metadata.a + 1 != 1",
    ] {
        check(when, &here, false);
        check(&format!("not ({when})"), &here, true);
    }
}

#[test]
fn texts_and_numbers_compare_by_the_table() {
    let here = [json!({"source": "0042", "hash": "x", "meta_data": {"n": 42, "list": ["a", 42], "t": true}})];
    for (when, expected) in [
        ("source == 42", true),
        ("source == \"42\"", false),
        ("source >= \"42\"", true),
        ("source == metadata.n", true),
        ("hash != 42", true),
        ("hash > 42", false),
        ("metadata.t == \"true\"", true),
        ("metadata.t != 1", true),
        ("metadata.list == \"a\"", false),
        ("metadata.list != \"a\"", true),
        ("source in $current.metadata.list", true),
        ("\"a\" in $current.metadata.list", true),
        ("metadata.list not_in (\"a\")", true),
        ("metadata.n regex \"^42$\"", true),
        ("timestamp == \"2026-03-01T01:00:00+01:00\"", true),
        ("timestamp > 5", false),
    ] {
        check(when, &here, expected);
    }
}

#[test]
fn windows_have_both_ends_and_history_has_no_future() {
    let three = [json!({"amount": 0.1}), json!({"amount": 0.1}), json!({"amount": 0.1}), json!({})];
    check("count(when amount > 0, \"PT2H\") == 2", &three, true);
    check("count(when amount > 0, \"PT3H\") == 3", &three, true);
    check("sum(amount when amount > 0, \"P1D\") == 0.3", &three, true);
    check("stddev(amount when amount > 0, \"P1D\") == 0", &three, true);
    check("min(metadata.a when amount > 0, \"P1D\") == 0", &three, true);
    // Accepted earlier with a later event time: outside the window.
    let late = [json!({"created_at": "2026-03-01T02:00:00Z"}), json!({})];
    check("count(when amount > 0, \"P1D\") == 0", &late, true);
}

#[test]
fn a_missing_current_empties_the_whole_filter() {
    let two = [json!({"source": "a"}), json!({})];
    check("count(when not (source == $current.source), \"P1D\") == 0", &two, true);
    check("count(when amount > 0 or source == $current.source, \"P1D\") == 0", &two, true);
    check("previous_transaction(within: \"P1D\", match: { source: \"$current.source\" })", &two, false);
    check("previous_transaction(within: \"P1D\", match: { source: \"a\", amount: 10 })", &two, true);
}

#[test]
fn clocks_of_a_zone_show_its_time() {
    let here = [json!({"created_at": "2026-03-07T23:30:00Z", "meta_data": {"when": "soon"}})];
    check("hour_of_day(timestamp) == 23 and day_of_week(timestamp) == \"saturday\"", &here, true);
    check(
        "hour_of_day(timestamp, \"Africa/Lagos\") == 0 and day_of_week(timestamp, \"Africa/Lagos\") == 0",
        &here,
        true,
    );
    check("hour_of_day(metadata.when) != 5", &here, false);
}
