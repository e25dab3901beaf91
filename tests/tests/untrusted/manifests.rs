//! Manifests over what is allowed, on a module with which nothing is wrong.

use serde_json::{Value, json};

use super::bytes::{NO, evaluating};
use super::guest::{Expected, Guest, manifest_of, with_manifest};

/// All of them.
pub(crate) fn guests() -> Vec<Guest> {
    let rule = rules().into_iter().map(|(name, pointer, value)| changed(name, pointer, value, "manifest"));
    let needs = needs().into_iter().map(|(name, pointer, value)| changed(name, pointer, value, "manifest"));
    rule.chain(needs).chain(allowed()).collect()
}

/// The manifest with something else at this place.
fn changed(name: &str, pointer: &str, value: Value, check: &str) -> Guest {
    let mut manifest = manifest_of(name);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    manifest.pointer_mut(parent).and_then(Value::as_object_mut).unwrap().insert(key.to_owned(), value);
    let bytes = with_manifest(&evaluating(&[], &NO), manifest.to_string().as_bytes());
    Guest { name: name.to_owned(), bytes, expected: Expected::refused(check) }
}

/// What looks hostile and is not.
fn allowed() -> Vec<Guest> {
    let rows = [
        ("manifest_with_a_member_of_tomorrow", "/tomorrow", json!({"a": [1, 2, 3]})),
        (
            "manifest_with_a_cost_of_its_own",
            "/cost",
            json!({"instructions": 0, "host_calls": 0, "history_lookups": 0}),
        ),
        ("manifest_with_an_unknown_field", "/needs/fields", json!(["colour"])),
        ("manifest_with_a_path_through_a_scalar", "/needs/fields", json!(["amount.value"])),
        ("manifest_with_an_empty_path", "/needs/fields", json!([""])),
        ("manifest_with_256_texts", "/needs/texts", numbered(256)),
    ];
    let harmless = |(name, pointer, value)| Guest {
        expected: Expected::Harmless("approve".to_owned()),
        ..changed(name, pointer, value, "manifest")
    };
    rows.into_iter().map(harmless).collect()
}

fn rules() -> Vec<(&'static str, &'static str, Value)> {
    let rule = || manifest_of("one")["rules"][0].clone();
    vec![
        ("manifest_of_abi_0", "/abi_version", json!(0)),
        ("manifest_of_abi_2", "/abi_version", json!(2)),
        ("manifest_of_abi_4294967296", "/abi_version", json!(4_294_967_296_u64)),
        ("manifest_of_abi_minus_1", "/abi_version", json!(-1)),
        ("manifest_of_abi_in_a_text", "/abi_version", json!("1")),
        ("manifest_of_no_rule", "/rules", json!([])),
        ("manifest_of_two_rules", "/rules", json!([rule(), rule()])),
        ("manifest_of_64_rules", "/rules", json!(vec![rule(); 64])),
        ("manifest_of_65_rules", "/rules", json!(vec![rule(); 65])),
        ("manifest_of_rules_in_an_object", "/rules", json!({"0": rule()})),
        ("manifest_with_an_empty_name", "/rules/0/name", json!("")),
        ("manifest_with_a_name_of_129_bytes", "/rules/0/name", json!("n".repeat(129))),
        ("manifest_with_a_line_break_in_the_name", "/rules/0/name", json!("two\r\nlines")),
        ("manifest_with_a_nul_in_the_name", "/rules/0/name", json!("nul\0")),
        ("manifest_with_an_escape_in_the_name", "/rules/0/name", json!("\u{1b}[31mred")),
        ("manifest_with_a_name_turned_around", "/rules/0/name", json!("\u{202e}eman")),
        ("manifest_with_a_path_for_a_name", "/rules/0/name", json!("../../etc/passwd")),
        ("manifest_with_spaces_for_a_name", "/rules/0/name", json!("   ")),
        ("manifest_with_no_name", "/rules/0/name", Value::Null),
        ("manifest_with_an_unknown_verdict", "/rules/0/verdict", json!("pass")),
        ("manifest_with_a_verdict_in_capitals", "/rules/0/verdict", json!("ALLOW")),
        ("manifest_with_no_verdict", "/rules/0/verdict", Value::Null),
        ("manifest_with_a_score_of_2", "/rules/0/score", json!(2)),
        ("manifest_with_a_score_of_minus_1", "/rules/0/score", json!(-1)),
        ("manifest_with_a_score_of_1e308", "/rules/0/score", json!(1e308)),
        ("manifest_with_a_score_just_over_1", "/rules/0/score", json!(1.000_000_000_000_000_2)),
        ("manifest_with_a_score_in_a_text", "/rules/0/score", json!("0.5")),
        ("manifest_with_no_score", "/rules/0/score", Value::Null),
        ("manifest_with_a_reason_of_1025_bytes", "/rules/0/reason", json!("r".repeat(1_025))),
        ("manifest_with_a_reason_of_30000_bytes", "/rules/0/reason", json!("r".repeat(30_000))),
        ("manifest_with_no_reason", "/rules/0/reason", Value::Null),
        ("manifest_with_a_description_of_4097_bytes", "/rules/0/description", json!("d".repeat(4_097))),
    ]
}

fn needs() -> Vec<(&'static str, &'static str, Value)> {
    let first = |name: &str| manifest_of("one")["needs"][name][0].clone();
    let window = |text: &str| with(&first("aggregates"), "window", json!(text));
    let deep = (0..60).fold(
        json!({"compare": {"left": {"field": "source"}, "operator": "==", "right": {"current": "source"}}}),
        |inner, _| json!({"not": inner}),
    );
    vec![
        (
            "manifest_with_257_fields",
            "/needs/fields",
            json!((0..257).map(|n| format!("metadata.f{n}")).collect::<Vec<_>>()),
        ),
        ("manifest_with_257_texts", "/needs/texts", numbered(257)),
        ("manifest_with_257_lists", "/needs/lists", json!(vec![first("lists"); 257])),
        ("manifest_with_257_times", "/needs/times", json!(vec![first("times"); 257])),
        ("manifest_with_17_patterns", "/needs/patterns", numbered(17)),
        (
            "manifest_with_17_aggregates",
            "/needs/aggregates",
            json!((1..=17).map(|n| window(&format!("PT{n}M"))).collect::<Vec<_>>()),
        ),
        (
            "manifest_with_17_previous",
            "/needs/previous",
            json!(
                (1..=17)
                    .map(|n| with(&first("previous"), "window", json!(format!("PT{n}M"))))
                    .collect::<Vec<_>>()
            ),
        ),
        ("manifest_with_a_path_of_17_keys", "/needs/fields", json!([format!("metadata{}", ".a".repeat(17))])),
        ("manifest_with_a_number_for_a_path", "/needs/fields", json!([1])),
        (
            "manifest_with_a_list_of_1001_items",
            "/needs/lists",
            json!([{"items": vec![json!({"text": "a"}); 1_001]}]),
        ),
        ("manifest_with_a_list_of_a_file", "/needs/lists", json!([{"named": "../../etc/passwd"}])),
        ("manifest_with_a_list_of_an_unknown_kind", "/needs/lists", json!([{"file": "/etc/passwd"}])),
        ("manifest_with_a_pattern_of_1025_bytes", "/needs/patterns", json!(["p".repeat(1_025)])),
        ("manifest_with_a_pattern_that_explodes", "/needs/patterns", json!(["((a{100}){100}){100}"])),
        ("manifest_with_a_pattern_of_huge_classes", "/needs/patterns", json!([r"(\w{100}){100}"])),
        (
            "manifest_with_a_pattern_nested_100_deep",
            "/needs/patterns",
            json!([format!("{}a{}", "(".repeat(100), ")".repeat(100))]),
        ),
        ("manifest_with_a_pattern_that_looks_around", "/needs/patterns", json!(["(?=a)b"])),
        ("manifest_with_a_pattern_that_refers_back", "/needs/patterns", json!([r"(a)\1"])),
        ("manifest_with_a_pattern_left_open", "/needs/patterns", json!(["(a"])),
        ("manifest_with_a_window_of_nothing", "/needs/aggregates", json!([window("PT0S")])),
        ("manifest_with_a_window_of_401_days", "/needs/aggregates", json!([window("P401D")])),
        ("manifest_with_a_window_of_999999_days", "/needs/aggregates", json!([window("P999999D")])),
        (
            "manifest_with_a_window_that_overflows",
            "/needs/aggregates",
            json!([window("P18446744073709551615D")]),
        ),
        ("manifest_with_a_negative_window", "/needs/aggregates", json!([window("-PT1H")])),
        ("manifest_with_a_window_of_months", "/needs/aggregates", json!([window("P1M")])),
        ("manifest_with_a_window_of_words", "/needs/aggregates", json!([window("an hour")])),
        (
            "manifest_with_an_unknown_function",
            "/needs/aggregates",
            json!([with(&first("aggregates"), "function", json!("exfiltrate"))]),
        ),
        (
            "manifest_with_a_filter_of_sql",
            "/needs/aggregates",
            json!([with(&first("aggregates"), "filter", json!("1=1; DROP TABLE transactions"))]),
        ),
        (
            "manifest_with_a_filter_60_deep",
            "/needs/aggregates",
            json!([with(&first("aggregates"), "filter", deep)]),
        ),
        (
            "manifest_with_a_question_inside_a_filter",
            "/needs/aggregates",
            json!([with(
                &first("aggregates"),
                "filter",
                json!({"compare": {"left": {"aggregate": first("aggregates")}, "operator": ">", "right": {"number": 1}}})
            )]),
        ),
        (
            "manifest_with_a_sum_of_texts",
            "/needs/aggregates",
            json!([with(&with(&first("aggregates"), "function", json!("sum")), "value", json!("source"))]),
        ),
        (
            "manifest_with_a_zone_of_nowhere",
            "/needs/times",
            json!([with(&first("times"), "zone", json!("Mars/Olympus"))]),
        ),
        (
            "manifest_with_a_zone_of_a_file",
            "/needs/times",
            json!([with(&first("times"), "zone", json!("../../../etc/passwd"))]),
        ),
        (
            "manifest_with_an_unknown_part_of_time",
            "/needs/times",
            json!([with(&first("times"), "function", json!("now"))]),
        ),
    ]
}

fn with(value: &Value, key: &str, other: Value) -> Value {
    let mut changed = value.clone();
    changed.as_object_mut().unwrap().insert(key.to_owned(), other);
    changed
}

fn numbered(count: usize) -> Value {
    json!((0..count).map(|n| format!("t{n}")).collect::<Vec<_>>())
}
