//! Manifests that exceed what is allowed, on a valid module.

use serde_json::{Value, json};

use super::bytes::{NO, evaluating};
use super::guest::{Expected, Guest, manifest_of, with_manifest};

/// Returns all modules of this file.
pub(crate) fn guests() -> Vec<Guest> {
    let rows = [rules(), too_much(), strange(), patterns(), questions()].concat();
    let refused = rows.into_iter().map(|(name, pointer, value)| changed(name, pointer, value, "manifest"));
    refused.chain(allowed()).collect()
}

/// Returns a module whose manifest has this value at this place.
fn changed(name: &str, pointer: &str, value: Value, check: &str) -> Guest {
    let mut manifest = manifest_of(name);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    manifest.pointer_mut(parent).and_then(Value::as_object_mut).unwrap().insert(key.to_owned(), value);
    let bytes = with_manifest(&evaluating(&[], &NO), manifest.to_string().as_bytes());
    Guest { name: name.to_owned(), bytes, expected: Expected::refused(check) }
}

/// Manifests that look hostile and are valid.
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

fn rules() -> Vec<Row> {
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

/// Name, place in the manifest, and the value there.
type Row = (&'static str, &'static str, Value);

fn first(name: &str) -> Value {
    manifest_of("one")["needs"][name][0].clone()
}

fn too_much() -> Vec<Row> {
    let window = |n: usize| json!(format!("PT{n}M"));
    let each = |name: &str| (1..=17).map(|n| with(&first(name), "window", window(n))).collect::<Vec<_>>();
    let fields: Vec<String> = (0..257).map(|n| format!("metadata.f{n}")).collect();
    let items = json!([{"items": vec![json!({"text": "a"}); 1_001]}]);
    vec![
        ("manifest_with_257_fields", "/needs/fields", json!(fields)),
        ("manifest_with_257_texts", "/needs/texts", numbered(257)),
        ("manifest_with_257_lists", "/needs/lists", json!(vec![first("lists"); 257])),
        ("manifest_with_257_times", "/needs/times", json!(vec![first("times"); 257])),
        ("manifest_with_17_patterns", "/needs/patterns", numbered(17)),
        ("manifest_with_17_aggregates", "/needs/aggregates", json!(each("aggregates"))),
        ("manifest_with_17_previous", "/needs/previous", json!(each("previous"))),
        ("manifest_with_a_path_of_17_keys", "/needs/fields", json!([format!("metadata{}", ".a".repeat(17))])),
        ("manifest_with_a_list_of_1001_items", "/needs/lists", items),
    ]
}

fn strange() -> Vec<Row> {
    let zone = |zone: &str| json!([with(&first("times"), "zone", json!(zone))]);
    vec![
        ("manifest_with_a_number_for_a_path", "/needs/fields", json!([1])),
        ("manifest_with_a_list_of_a_file", "/needs/lists", json!([{"named": "../../etc/passwd"}])),
        ("manifest_with_a_list_of_an_unknown_kind", "/needs/lists", json!([{"file": "/etc/passwd"}])),
        ("manifest_with_a_zone_of_nowhere", "/needs/times", zone("Mars/Olympus")),
        ("manifest_with_a_zone_of_a_file", "/needs/times", zone("../../../etc/passwd")),
        (
            "manifest_with_an_unknown_part_of_time",
            "/needs/times",
            json!([with(&first("times"), "function", json!("now"))]),
        ),
    ]
}

/// Invalid or expensive patterns.
fn patterns() -> Vec<Row> {
    let nested = format!("{}a{}", "(".repeat(100), ")".repeat(100));
    let rows = [
        ("manifest_with_a_pattern_of_1025_bytes", "p".repeat(1_025)),
        ("manifest_with_a_pattern_that_explodes", "((a{100}){100}){100}".to_owned()),
        ("manifest_with_a_pattern_of_huge_classes", r"(\w{100}){100}".to_owned()),
        ("manifest_with_a_pattern_nested_100_deep", nested),
        ("manifest_with_a_pattern_that_looks_around", "(?=a)b".to_owned()),
        ("manifest_with_a_pattern_that_refers_back", r"(a)\1".to_owned()),
        ("manifest_with_a_pattern_left_open", "(a".to_owned()),
    ];
    rows.map(|(name, pattern)| (name, "/needs/patterns", json!([pattern]))).into()
}

/// History lookups.
fn questions() -> Vec<Row> {
    let compare = json!({
        "compare": {"left": {"field": "source"}, "operator": "==", "right": {"current": "source"}}
    });
    let deep = (0..60).fold(compare, |inner, _| json!({"not": inner}));
    let nested = json!({
        "compare": {"left": {"aggregate": first("aggregates")}, "operator": ">", "right": {"number": 1}}
    });
    let searched = json!({
        "matches": {"value": {"field": "description"}, "pattern": "x", "negated": false}
    });
    let rows = [
        ("manifest_with_a_window_of_nothing", "window", json!("PT0S")),
        ("manifest_with_a_window_of_401_days", "window", json!("P401D")),
        ("manifest_with_a_window_of_999999_days", "window", json!("P999999D")),
        ("manifest_with_a_window_that_overflows", "window", json!("P18446744073709551615D")),
        ("manifest_with_a_negative_window", "window", json!("-PT1H")),
        ("manifest_with_a_window_of_months", "window", json!("P1M")),
        ("manifest_with_a_window_of_words", "window", json!("an hour")),
        ("manifest_with_an_unknown_function", "function", json!("exfiltrate")),
        ("manifest_with_a_filter_of_sql", "filter", json!("1=1; DROP TABLE transactions")),
        ("manifest_with_a_filter_60_deep", "filter", deep),
        ("manifest_with_a_question_inside_a_filter", "filter", nested),
        ("manifest_with_a_pattern_in_a_filter", "filter", searched),
    ];
    rows.map(|(name, key, value)| {
        (name, "/needs/aggregates", json!([with(&first("aggregates"), key, value)]))
    })
    .into()
}

fn with(value: &Value, key: &str, other: Value) -> Value {
    let mut changed = value.clone();
    changed.as_object_mut().unwrap().insert(key.to_owned(), other);
    changed
}

fn numbered(count: usize) -> Value {
    json!((0..count).map(|n| format!("t{n}")).collect::<Vec<_>>())
}
