//! Tests with incomparable values are counted by test and by the type of the value.

use serde_json::{Value, json};
use tollgate_tests::{Home, Service, sample};

/// Checks the counts after one transaction with this metadata, in the form `test: field got, wanted`.
#[track_caller]
fn check(service: &Service, condition: &str, metadata: &Value, expected: &[&str]) {
    let saved = service.save(&sample::rule("watched", condition)).expect(201);
    let transaction = sample::with(
        &sample::transaction(&format!("of {}", saved["id"])),
        &json!({"source": "acc-1", "meta_data": metadata}),
    );
    assert_eq!(service.inject(&transaction).status, 200);
    let counted = counted(service, &saved["id"]);
    assert_eq!(service.delete(&format!("/instructions/{}", saved["id"])).status, 204);
    let counts: Vec<&str> = counted.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(counts, expected, "{condition} with {metadata}");
    assert!(counted.iter().all(|(_, count)| *count == 1), "{counted:?}");
}

fn counted(service: &Service, id: &Value) -> Vec<(String, u64)> {
    let instruction = service.get(&format!("/instructions/{id}")).expect(200);
    let one = |entry: &Value| {
        let word = |key: &str| entry[key].as_str().unwrap().to_owned();
        let text = format!("{}: {} {}, {}", word("test"), word("field"), word("got"), word("wanted"));
        (text, entry["count"].as_u64().unwrap())
    };
    instruction["incomparable"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn a_value_that_a_test_cannot_compare_is_counted_by_its_kind() {
    let service = Service::start(&Home::new());
    for (condition, value, expected) in [
        ("metadata.v > 5", json!("many"), &["metadata.v > 5: metadata.v text, number"][..]),
        ("metadata.v > 5", json!(true), &["metadata.v > 5: metadata.v boolean, number"]),
        ("metadata.v > 5", json!([6]), &["metadata.v > 5: metadata.v structure, number"]),
        ("metadata.v > 5", json!("6"), &[]),
        ("metadata.v > 5", json!(6), &[]),
        ("metadata.v > 5", json!(null), &[]),
        ("metadata.v == 5", json!("five"), &["metadata.v == 5: metadata.v text, number"]),
        (r#"metadata.v == "gold""#, json!(3), &[r#"metadata.v == "gold": metadata.v number, text"#]),
        (r#"metadata.v == "gold""#, json!("silver"), &[]),
        (r#""gold" != metadata.v"#, json!({}), &[r#""gold" != metadata.v: metadata.v structure, text"#]),
        ("metadata.v == true", json!("yes"), &["metadata.v == true: metadata.v text, boolean"]),
        ("metadata.v == true", json!("true"), &[]),
        ("metadata.v == true", json!(false), &[]),
        ("metadata.v < timestamp", json!("31.12.2020"), &["metadata.v < timestamp: metadata.v text, time"]),
        ("metadata.v < timestamp", json!(20_201_231), &["metadata.v < timestamp: metadata.v number, time"]),
        ("metadata.v < timestamp", json!("2020-12-31"), &[]),
        (
            "hour_of_day(metadata.v) > 5",
            json!("noon"),
            &["hour_of_day(metadata.v) > 5: metadata.v text, time"],
        ),
        ("hour_of_day(metadata.v) > 5", json!("2026-01-01T12:00:00Z"), &[]),
        (
            "hour_of_day(metadata.v) > 5 or year(metadata.v) > 2000 or metadata.v > 7",
            json!("noon"),
            &[
                "hour_of_day(metadata.v) > 5: metadata.v text, time",
                "year(metadata.v) > 2000: metadata.v text, time",
                "metadata.v > 7: metadata.v text, number",
            ],
        ),
        ("metadata.v * 2 > amount", json!("x"), &["metadata.v * 2 > amount: metadata.v text, number"]),
        ("metadata.v == source", json!(7), &["metadata.v == source: metadata.v number, text"]),
        ("metadata.v > metadata.w", json!("b"), &["metadata.v > metadata.w: metadata.v text, number"]),
        ("metadata.v != metadata.w", json!("b"), &[]),
        ("metadata.v between 1 and 9", json!("x"), &["metadata.v between 1 and 9: metadata.v text, number"]),
        (r#"metadata.v in ("a", "b")"#, json!(1), &[r#"metadata.v in ("a", "b"): metadata.v number, text"#]),
        (r#"metadata.v in ("a", 1)"#, json!(2), &[]),
        (
            r#"metadata.v regex "^a""#,
            json!({"a": 1}),
            &[r#"metadata.v regex "^a": metadata.v structure, text"#],
        ),
    ] {
        check(&service, condition, &json!({"v": value, "w": "a"}), expected);
    }
}

#[test]
fn a_test_that_is_not_reached_is_not_counted() {
    let service = Service::start(&Home::new());
    for (condition, expected) in [
        (r#"metadata.kind == "card" and metadata.v > 5"#, &[][..]),
        (r#"metadata.kind == "bank" and metadata.v > 5"#, &["metadata.v > 5: metadata.v text, number"]),
        (
            r#"(metadata.kind == "card" and metadata.v > 5) or not (metadata.kind == "bank" and metadata.v < 9)"#,
            &["metadata.v < 9: metadata.v text, number"],
        ),
        (r#"count(when source == $current.source, "P1D") >= 0 or metadata.v > 5"#, &[]),
        (
            r#"count(when source == $current.source, "P1D") > 100 or metadata.v > 5"#,
            &["metadata.v > 5: metadata.v text, number"],
        ),
    ] {
        check(&service, condition, &json!({"kind": "bank", "v": "x"}), expected);
    }
}

#[test]
fn counts_go_on_over_other_changes_and_stop_at_a_thousand_and_metrics_show_them() {
    let service = Service::start(&Home::new());
    let condition = "amount > 1 and\n    metadata.limit > 5";
    let saved = service.save(&sample::rule("watched", condition)).expect(201);
    let spoilt = |n: usize| {
        let fields = json!({"meta_data": {"limit": format!("secret-{n}")}});
        let transaction = sample::with(&sample::transaction(&format!("t{n}")), &fields);
        assert_eq!(service.inject(&transaction).status, 200);
    };
    (0..3).for_each(spoilt);
    assert_eq!(service.save(&sample::rule("other", "amount > 1000000")).status, 201);
    (3..5).for_each(spoilt);
    let test = "metadata.limit > 5: metadata.limit text, number".to_owned();
    assert_eq!(counted(&service, &saved["id"]), [(test.clone(), 5)]);
    let instruction = service.get(&format!("/instructions/{}", saved["id"])).expect(200);
    assert_eq!(
        (&instruction["incomparable"][0]["line"], &instruction["incomparable"][0]["column"]),
        (&json!(4), &json!(5))
    );
    let metrics = service.get("/metrics").text();
    let series = format!(
        "tollgate_rule_incomparable_values_total{{instruction=\"{}\",rule=\"watched\",test=\"metadata.limit > 5\",\
         field=\"metadata.limit\",got=\"text\",wanted=\"number\"}} 5\n",
        saved["id"]
    );
    assert!(metrics.contains(&series), "{metrics}");
    assert!(!metrics.contains("secret") && !instruction.to_string().contains("secret"));
    (5..1_100).for_each(spoilt);
    assert_eq!(counted(&service, &saved["id"]), [(test, 1_000)]);
}

#[test]
fn rules_that_answer_together_are_counted_each_and_more_than_thirty_two_take_turns() {
    let service = Service::start(&Home::with_rules(
        &(0..64)
            .map(|n| (format!("r{n}.ws"), sample::rule(&format!("r{n}"), &format!("metadata.v > {n}"))))
            .collect::<Vec<_>>(),
    ));
    for n in 0..10 {
        let fields = json!({"meta_data": {"v": "x"}});
        assert_eq!(
            service.inject(&sample::with(&sample::transaction(&format!("t{n}")), &fields)).status,
            200
        );
    }
    let counts: Vec<u64> =
        (1..=64).flat_map(|id| counted(&service, &json!(id))).map(|(_, count)| count).collect();
    assert_eq!(counts, [5; 64]);
}
