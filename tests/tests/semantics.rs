//! Stores with earlier semantics: existing verdicts are derived as they were given, and new ones use the current
//! semantics.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tollgate_tests::{Home, RuleNames, Service, audit, repository};

/// Number of verdicts in each kept store.
const N_VERDICTS_OF_1: u64 = 48;
const N_VERDICTS_OF_2: u64 = 36;
const N_VERDICTS_OF_3: u64 = 24;
const N_VERDICTS_OF_4: u64 = 36;

/// Returns a home with the kept store of these semantics and its rules.
fn home(semantics: u32) -> Home {
    let fixture = repository::root().join(format!("tests/fixtures/semantics-{semantics}"));
    let home = Home::new();
    fs::copy(fixture.join("tollgate.db"), home.data().join("tollgate.db")).unwrap();
    copy_rules(&home, &fixture.join("rules"), Path::new(""));
    home
}

fn copy_rules(home: &Home, folder: &Path, below: &Path) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = below.join(entry.file_name());
        if entry.path().is_dir() {
            copy_rules(home, &entry.path(), &path);
        } else {
            home.write_rule(path.to_str().unwrap(), fs::read(entry.path()).unwrap());
        }
    }
}

/// Returns which of the named rules match a transaction with these fields, in order.
fn matching(service: &Service, id: &str, fields: &Value, of: &[&str]) -> Vec<String> {
    let mut transaction = json!({
        "transaction_id": id, "amount": 1, "currency": "EUR", "reference": id, "source": "acc-new",
        "created_at": "2026-12-01T12:00:00Z",
    });
    for (name, value) in fields.as_object().unwrap() {
        transaction[name] = value.clone();
    }
    let client = service.client();
    let answer = client.inject(&transaction);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let mut names = RuleNames::fetch(&client).in_member(&answer, "triggered");
    names.retain(|name| of.contains(&name.as_str()));
    names.sort();
    names
}

#[test]
fn a_store_of_the_first_semantics_replays_as_it_was_given() {
    let home = home(1);
    let service = Service::start(&home);
    assert_eq!(audit::replay(&home).all_follow(), N_VERDICTS_OF_1);
    let deciding = [
        "equal_literal",
        "in_written_list",
        "in_named_list",
        "amount_above",
        "expired_document",
        "hour_of_document",
    ];
    for (id, fields, expected) in [
        ("n1", json!({"meta_data": {"id": 9_007_199_254_740_992_u64}}), vec![]),
        (
            "n2",
            json!({"meta_data": {"id": 9_007_199_254_740_993_u64}}),
            vec!["equal_literal", "in_named_list", "in_written_list"],
        ),
        ("n3", json!({"amount": 1_000_000_000_000_000_001_u64}), vec!["amount_above"]),
        ("n4", json!({"amount": 1_000_000_000_000_000_000_u64}), vec![]),
        (
            "n5",
            json!({"meta_data": {"document": {"expires_on": "2020-01-31"}}}),
            vec!["expired_document", "hour_of_document"],
        ),
        ("n6", json!({"meta_data": {"document": {"expires_on": "2026-12-01"}}}), vec!["hour_of_document"]),
        (
            "n7",
            json!({"meta_data": {"document": {"expires_on": "2026-12-01T11:59"}}}),
            vec!["expired_document"],
        ),
    ] {
        assert_eq!(matching(&service, id, &fields, &deciding), expected, "{id}");
    }
    service.stop();
    assert_eq!(audit::replay(&home).all_follow(), N_VERDICTS_OF_1 + 7);
}

/// The rules of the second store, and the uploaded module.
const RULES_OF_2: [&str; 15] = [
    "expected_in_status",
    "expected_key",
    "left_out",
    "many_statuses",
    "same_status_matched",
    "status_beside_field",
    "status_counted",
    "status_equal",
    "status_in_named_list",
    "status_in_written_list",
    "status_key",
    "status_matched",
    "status_pattern",
    "status_unequal",
    "uploaded_status",
];

/// Transactions of one account, one hour apart, and the rules that match each. The module counts the status `applied`
/// case-sensitively, because it keeps the semantics it was built with.
#[rustfmt::skip]
const CASELESS: [(&str, &[&str]); 6] = [
    (r#"{"status": "Applied", "meta_data": {"expected": "VOID"}}"#,
        &["status_equal", "status_in_named_list"]),
    (r#"{"status": "APPLIED", "meta_data": {"expected": "applied"}}"#,
        &["expected_in_status", "same_status_matched", "status_beside_field", "status_equal", "status_in_named_list",
          "status_matched", "status_pattern"]),
    (r#"{"status": "void"}"#,
        &["expected_key", "left_out", "status_counted", "status_in_written_list", "status_matched", "status_unequal"]),
    (r#"{"status": "applied"}"#,
        &["expected_key", "left_out", "many_statuses", "same_status_matched", "status_counted", "status_equal",
          "status_in_named_list", "status_key", "status_matched"]),
    (r#"{"status": "APPLIED"}"#,
        &["expected_key", "left_out", "many_statuses", "same_status_matched", "status_counted", "status_equal",
          "status_in_named_list", "status_key", "status_matched", "status_pattern", "uploaded_status"]),
    ("{}", &["left_out", "many_statuses", "status_counted", "status_matched"]),
];

#[test]
fn a_store_of_the_second_semantics_replays_as_it_was_given_and_statuses_are_caseless_from_then_on() {
    let home = home(2);
    let service = Service::start(&home);
    assert_eq!(audit::replay(&home).all_follow(), N_VERDICTS_OF_2);
    for (n, (fields, expected)) in CASELESS.into_iter().enumerate() {
        let mut fields: Value = serde_json::from_str(fields).unwrap();
        fields["amount"] = json!(100);
        fields["created_at"] = json!(format!("2026-12-01T{:02}:00:00Z", 10 + n));
        assert_eq!(matching(&service, &format!("c{n}"), &fields, &RULES_OF_2), expected, "{n}: {fields}");
    }
    service.stop();
    assert_eq!(audit::replay(&home).all_follow(), N_VERDICTS_OF_2 + 6);
}

#[test]
fn a_store_of_the_third_semantics_replays_as_it_was_given_and_searches_are_paid_for_from_then_on() {
    let home = home(3);
    let service = Service::start(&home);
    assert_eq!(audit::replay(&home).all_follow(), N_VERDICTS_OF_3);
    let digits = "01".repeat(2_000);
    for (id, description, failed) in [("d1", format!("{digits}2"), true), ("d2", "0101".to_owned(), false)] {
        let answer = service.client().inject(&json!({
            "transaction_id": id, "amount": 1, "currency": "EUR", "reference": id, "source": "acc-0",
            "created_at": "2026-11-02T12:00:00Z", "description": description,
        }));
        let failures = answer.json()["failures"].clone();
        let found: Vec<(&str, &str)> = failures
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["name"].as_str().unwrap(), one["failure"].as_str().unwrap()))
            .collect();
        assert_eq!(found, if failed { vec![("large_pattern", "fuel")] } else { vec![] }, "{id}");
    }
    service.stop();
    assert_eq!(audit::replay(&home).all_follow(), N_VERDICTS_OF_3 + 2);
}

/// The rules of the fourth store that compare currencies, and the uploaded module.
const RULES_OF_4: [&str; 13] = [
    "currency_beside_field",
    "currency_equal",
    "currency_filtered",
    "currency_in_named_list",
    "currency_in_written_list",
    "currency_key",
    "currency_matched",
    "currency_pattern",
    "currency_unequal",
    "expected_in_currency",
    "many_currencies",
    "same_currency_key",
    "uploaded_currency",
];

/// Transactions of one account, one hour apart, and the rules that match each. The module compares case-sensitively,
/// because it keeps the semantics it was built with.
#[rustfmt::skip]
const CASELESS_CURRENCIES: [(&str, &[&str]); 4] = [
    (r#"{"currency": "usd", "meta_data": {"expected": "USD"}}"#,
        &["currency_beside_field", "currency_equal", "currency_in_named_list", "currency_in_written_list"]),
    (r#"{"currency": "Usd"}"#,
        &["currency_equal", "currency_in_named_list", "currency_in_written_list", "currency_key", "currency_matched",
          "expected_in_currency"]),
    (r#"{"currency": "USD"}"#,
        &["currency_equal", "currency_in_named_list", "currency_in_written_list", "currency_key", "currency_matched",
          "currency_pattern", "expected_in_currency", "same_currency_key"]),
    (r#"{"currency": "EUR"}"#, &["currency_key", "currency_unequal", "uploaded_currency"]),
];

#[test]
fn a_store_of_the_fourth_semantics_replays_as_it_was_given_and_currencies_are_caseless_from_then_on() {
    let home = home(4);
    let service = Service::start(&home);
    assert_eq!(audit::replay(&home).all_follow(), N_VERDICTS_OF_4);
    for (n, (fields, expected)) in CASELESS_CURRENCIES.into_iter().enumerate() {
        let mut fields: Value = serde_json::from_str(fields).unwrap();
        fields["created_at"] = json!(format!("2026-12-01T{:02}:00:00Z", 10 + n));
        assert_eq!(matching(&service, &format!("c{n}"), &fields, &RULES_OF_4), expected, "{n}: {fields}");
    }
    service.stop();
    assert_eq!(audit::replay(&home).all_follow(), N_VERDICTS_OF_4 + 4);
}

#[test]
fn lists_are_read_and_missed_by_the_current_semantics_from_the_first_start_on() {
    let home = home(1);
    let before = home.command(&["doctor"]).output().unwrap();
    let service = Service::start(&home);
    let shop = |name: &str| json!({ "description": name });
    for (id, fields, expected) in
        [("m1", shop("WALMART #1234"), vec!["merchant_listed"]), ("m2", shop("WALMART"), vec![])]
    {
        assert_eq!(matching(&service, id, &fields, &["merchant_listed"]), expected, "{id}");
    }
    let answer = service.client().get("/transactions/m1").json();
    let failed = answer["failures"].as_array().unwrap();
    assert!(failed.iter().any(|one| one["name"] == "list_never_set" && one["failure"] == "list"), "{answer}");
    let (_, lines) = service.stop();
    let warned = lines.iter().filter(|line| line.contains("is read differently")).count();
    assert!(warned > 0, "no line is told:\n{}", lines.join("\n"));
    for said in [before, home.command(&["doctor"]).output().unwrap()] {
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.contains("lists/merchants.txt: line "), "{said}");
    }
    assert_eq!(audit::replay(&home).all_follow(), N_VERDICTS_OF_1 + 2);
    let (_, lines) = Service::start(&home).stop();
    assert!(!lines.iter().any(|line| line.contains("is read differently")), "once is enough");
}

#[test]
fn the_first_start_stores_a_version_of_the_current_semantics() {
    let home = home(1);
    let version_of = |service: &Service, id: &str| {
        let answer = service.client().inject(&json!({
            "transaction_id": id, "amount": 1, "currency": "EUR", "reference": id,
        }));
        answer.json()["rule_set_version"].as_u64().unwrap()
    };
    let service = Service::start(&home);
    let old = service.client().get("/transactions/t47").json()["rule_set_version"].as_u64().unwrap();
    let new = version_of(&service, "first");
    assert_eq!(new, old + 1);
    service.stop();
    let service = Service::start(&home);
    assert_eq!(version_of(&service, "second"), new, "nothing changed since");
}
