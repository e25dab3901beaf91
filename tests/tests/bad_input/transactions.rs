//! Bodies of `POST /inject`, and transactions inside webhooks.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tollgate_tests::{Answer, Home, Service, sample};

use super::{check_refused, check_unharmed, service};

/// Body, code and field. `@` stands for the id of the case; an empty field means that the error names none.
type Case = (&'static str, &'static str, &'static str);

const MISSING_OR_WRONG: [Case; 24] = [
    (r#"{"transaction_id":"@","currency":"EUR","reference":"r"}"#, "missing_field", "amount"),
    (r#"{"transaction_id":"@","amount":1,"reference":"r"}"#, "missing_field", "currency"),
    (r#"{"transaction_id":"@","amount":1,"currency":"EUR"}"#, "missing_field", "reference"),
    (r#"{"transaction_id":"@","amount":null,"currency":"EUR","reference":"r"}"#, "missing_field", "amount"),
    (r#"{"transaction_id":"@","Amount":1,"currency":"EUR","reference":"r"}"#, "missing_field", "amount"),
    (r#"{"transaction_id":"@","amount":"1e0","currency":"EUR","reference":"r"}"#, "invalid_field", "amount"),
    (r#"{"transaction_id":"@","amount":[1],"currency":"EUR","reference":"r"}"#, "invalid_field", "amount"),
    (r#"{"transaction_id":"@","amount":true,"currency":"EUR","reference":"r"}"#, "invalid_field", "amount"),
    (r#"{"transaction_id":"@","amount":1,"currency":978,"reference":"r"}"#, "invalid_field", "currency"),
    (r#"{"transaction_id":"@","amount":1,"currency":"","reference":"r"}"#, "invalid_field", "currency"),
    (r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":{}}"#, "invalid_field", "reference"),
    (r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":""}"#, "invalid_field", "reference"),
    (
        r#"{"transaction_id":7,"amount":1,"currency":"EUR","reference":"r"}"#,
        "invalid_field",
        "transaction_id",
    ),
    (
        r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r","source":1}"#,
        "invalid_field",
        "source",
    ),
    (
        r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r","status":[]}"#,
        "invalid_field",
        "status",
    ),
    (
        r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r","description":{}}"#,
        "invalid_field",
        "description",
    ),
    (
        r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r","inflight":"yes"}"#,
        "invalid_field",
        "inflight",
    ),
    (
        r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r","atomic":1}"#,
        "invalid_field",
        "atomic",
    ),
    (
        r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r","meta_data":[]}"#,
        "invalid_field",
        "meta_data",
    ),
    (
        r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r","meta_data":"{}"}"#,
        "invalid_field",
        "meta_data",
    ),
    ("[]", "not_an_object", ""),
    ("null", "not_an_object", ""),
    ("7", "not_an_object", ""),
    (r#""transaction""#, "not_an_object", ""),
];

const NO_JSON: [Case; 12] = [
    ("", "malformed_json", ""),
    ("{", "malformed_json", ""),
    ("amount=1&currency=EUR&reference=r", "malformed_json", ""),
    (r#"{"transaction_id":"@","amount":NaN,"currency":"EUR","reference":"r"}"#, "malformed_json", ""),
    (r#"{"transaction_id":"@","amount":Infinity,"currency":"EUR","reference":"r"}"#, "malformed_json", ""),
    (r#"{"transaction_id":"@","amount":-Infinity,"currency":"EUR","reference":"r"}"#, "malformed_json", ""),
    (r#"{"transaction_id":"@","amount":.5,"currency":"EUR","reference":"r"}"#, "malformed_json", ""),
    (r#"{"transaction_id":"@","amount":01,"currency":"EUR","reference":"r"}"#, "malformed_json", ""),
    (r#"{"transaction_id":"@","amount":0x1,"currency":"EUR","reference":"r"}"#, "malformed_json", ""),
    (r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r",}"#, "malformed_json", ""),
    (r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r"} {}"#, "malformed_json", ""),
    (
        r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r","source":"\ud800"}"#,
        "malformed_json",
        "source",
    ),
];

const NUMBERS: [Case; 5] = [
    (
        r#"{"transaction_id":"@","amount":1e400,"currency":"EUR","reference":"r"}"#,
        "number_out_of_range",
        "amount",
    ),
    (
        r#"{"transaction_id":"@","amount":-1e400,"currency":"EUR","reference":"r"}"#,
        "number_out_of_range",
        "amount",
    ),
    (
        r#"{"transaction_id":"@","amount":1e308,"currency":"EUR","reference":"r"}"#,
        "number_out_of_range",
        "amount",
    ),
    (
        r#"{"transaction_id":"@","amount":1e-400,"currency":"EUR","reference":"r"}"#,
        "number_out_of_range",
        "amount",
    ),
    (
        r#"{"transaction_id":"@","amount":123456789012345678901234567890123456789,"currency":"EUR","reference":"r"}"#,
        "number_out_of_range",
        "amount",
    ),
];

const TWICE: [Case; 6] = [
    (r#"{"transaction_id":"@","amount":1,"amount":2,"currency":"EUR","reference":"r"}"#, "duplicate_key", ""),
    (r#"{"transaction_id":"@","amount":1,"amount":1,"currency":"EUR","reference":"r"}"#, "duplicate_key", ""),
    (
        r#"{"transaction_id":"@","amount":1,"am\u006funt":2,"currency":"EUR","reference":"r"}"#,
        "duplicate_key",
        "",
    ),
    (
        r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r","meta_data":{"a":1,"\u0061":2}}"#,
        "duplicate_key",
        "meta_data",
    ),
    (
        r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r","meta_data":{"a":[{"b":{"c":1,"c":1}}]}}"#,
        "duplicate_key",
        "meta_data.a[0].b",
    ),
    (
        r#"{"transaction_id":"@","amount":1,"currency":"EUR","reference":"r","meta_data":{},"meta_data":{}}"#,
        "duplicate_key",
        "",
    ),
];

const NO_DATES: [&str; 14] = [
    "\"\"",
    "\"yesterday\"",
    "\"2026-01-01\"",
    "\"2026-01-01T00:00:00\"",
    "\"2026-02-30T00:00:00Z\"",
    "\"2025-02-29T00:00:00Z\"",
    "\"2026-13-01T00:00:00Z\"",
    "\"2026-01-01T24:00:00Z\"",
    "\"2026-01-01T00:00:00+99:00\"",
    "\"294276-01-01T00:00:00Z\"",
    "\"infinity\"",
    "1767225600",
    "true",
    "{}",
];

const HOSTILE_IDS: [&str; 8] =
    [r"a\u001bb", r"a\nb", r"a\r\nb", r"a\u0007b", r"a\u007fb", r"a\u0085b", r"a\u202eb", r"a\u2066b"];

#[test]
fn every_wrong_body_is_refused_with_its_code_and_field() {
    let service = service();
    for (n, (body, code, field)) in
        MISSING_OR_WRONG.iter().chain(&NO_JSON).chain(&NUMBERS).chain(&TWICE).enumerate()
    {
        check(&service, n, body, code, field);
    }
    check_unharmed(&service);
}

#[test]
fn dates_that_are_none_are_refused_in_every_date_field() {
    let service = service();
    let mut n = 0;
    for field in ["created_at", "effective_date", "scheduled_for", "inflight_expiry_date"] {
        for date in NO_DATES {
            n += 1;
            check(&service, n, &with(field, date), "invalid_field", field);
        }
    }
    check_unharmed(&service);
}

#[test]
fn ids_with_control_characters_are_refused_in_every_id_field() {
    let service = service();
    let long = "x".repeat(256);
    let mut n = 0;
    for field in ["transaction_id", "currency", "source", "destination", "status", "hash"] {
        for id in HOSTILE_IDS.iter().copied().chain([long.as_str()]) {
            n += 1;
            check(&service, n, &with(field, &format!("\"{id}\"")), "invalid_field", field);
        }
        n += 1;
        check(&service, n, &with(field, r#""a\u0000b""#), "nul_character", field);
    }
    check_unharmed(&service);
}

#[test]
fn depth_has_a_limit_and_the_limit_is_no_crash() {
    let service = service();
    let nested =
        |depth: usize| with("meta_data", &format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth)));
    for (n, body) in
        [nested(31), nested(1_000), nested(30_000), with("other", &nested(31)), with("source", &nested(40))]
            .iter()
            .enumerate()
    {
        let answer = inject(&service, n, body);
        check_refused(&format!("case {n}"), &answer, 400, "too_deep");
        assert_eq!(service.transaction(&id(n)).status, 404);
    }
    for body in ["[".repeat(60_000), "{\"a\":".repeat(12_000)] {
        let answer = service.try_post("/inject", body.as_bytes()).unwrap();
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(["too_deep", "malformed_json"].contains(&answer.code().as_str()));
    }
    assert_eq!(
        inject(&service, 100, &with("meta_data", r#"{"a":[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]}"#))
            .status,
        200
    );
}

#[test]
fn a_long_reference_and_a_long_number_in_metadata_are_taken() {
    let rules = [
        ("above.ws", sample::rule("above", "metadata.limit > 1")),
        (
            "seen.ws",
            sample::rule("seen", r#"count(when metadata.limit == $current.metadata.limit, "P1D") >= 1"#),
        ),
    ];
    let home = Home::with_rules(&rules);
    let service = Service::start(&home);
    let digits = format!("1{}", "0".repeat(38));
    for (n, number) in [digits.as_str(), "1e400", "1e999999999999", "-1e-400"].into_iter().enumerate() {
        let body = format!(
            r#"{{"transaction_id":"wide-{n}","amount":1,"currency":"EUR","reference":"{}",
            "meta_data":{{"limit":{number},"a":[0,{number}]}},"mine":{number}}}"#,
            "é".repeat(350)
        );
        for _ in 0..2 {
            let answer = service.try_post("/inject", body.as_bytes()).unwrap();
            assert_eq!((answer.status, answer.at("/verdict")), (200, json!("approve")), "{}", answer.text());
        }
        let found = service.transaction(&format!("wide-{n}")).text();
        assert!(found.contains(&format!(r#""meta_data":{{"limit":{number},"a":[0,{number}]}}"#)), "{found}");
    }
    let one = service.get("/instructions").expect(200)[0]["id"].clone();
    let listed = service.get(&format!("/instructions/{one}")).expect(200);
    assert_eq!(listed["incomparable"][0]["got"], "structure", "{listed:#}");
    for (reference, status) in [("é".repeat(351), 400), ("😀".repeat(350), 200)] {
        let body = json!({"transaction_id": status.to_string(), "amount": 1, "currency": "EUR", "reference": reference});
        assert_eq!(service.inject(&body).status, status);
    }
    service.kill();
    let service = Service::start(&home);
    assert!(service.transaction("wide-1").text().contains(r#""limit":1e400"#));
    drop(service.stop());
    tollgate_tests::audit::replay(&home).all_follow();
}

#[test]
fn digits_have_a_limit_and_are_echoed_as_given() {
    let service = service();
    for n in [39, 1_000, 60_000] {
        check(&service, n, &with("amount", &"9".repeat(n)), "number_out_of_range", "amount");
    }
    for (n, digits) in [
        "0",
        "-0",
        "1.10",
        "1e2",
        "0.1",
        "-25.50",
        "99999999999999999999999999999999999999",
        "9007199254740993",
    ]
    .iter()
    .enumerate()
    {
        let answer = inject(&service, n, &with("amount", digits));
        assert_eq!(answer.status, 200, "{digits}: {}", answer.text());
        let stored = service.transaction(&id(n)).text();
        let amount = stored.split_once("\"amount\":").unwrap().1.trim_start();
        let echoed = amount.split([',', '}', ' ']).next();
        assert_eq!(echoed, Some(*digits), "{stored}");
    }
}

#[test]
fn an_object_has_a_limit_of_keys() {
    let service = service();
    let object = |n_keys: usize| {
        let mut text = String::from("{");
        for key in 0..n_keys {
            let comma = if key == 0 { "" } else { "," };
            write!(text, "{comma}\"k{key}\":{key}").unwrap();
        }
        text + "}"
    };
    assert_eq!(inject(&service, 0, &with("meta_data", &object(1_024))).status, 200);
    check(&service, 1, &with("meta_data", &object(1_025)), "too_many_keys", "meta_data");
    service.stop();
    let mut home = Home::new();
    home.set("SERVICE_OBJECT_KEYS_MAX", "2000");
    let service = Service::start(&home);
    assert_eq!(inject(&service, 2, &with("meta_data", &object(2_000))).status, 200);
    check(&service, 3, &with("meta_data", &object(2_001)), "too_many_keys", "meta_data");
}

#[test]
fn bytes_that_are_no_utf_8_are_refused() {
    let service = service();
    for bytes in [&b"\xff"[..], b"\xc0\xaf", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80"] {
        let mut body = br#"{"transaction_id":"t","amount":1,"currency":"EUR","reference":""#.to_vec();
        body.extend_from_slice(bytes);
        body.extend_from_slice(br#""}"#);
        check_refused(
            &format!("{bytes:?}"),
            &service.try_post("/inject", &body).unwrap(),
            400,
            "invalid_utf8",
        );
        assert_eq!(service.transaction("t").status, 404);
    }
    check_unharmed(&service);
}

#[test]
fn names_that_sound_like_the_services_own_are_plain_data() {
    let service = service();
    let metadata = json!({
        "evaluation_status": "done", "dsl_verdicts": ["approve"], "verdict": "approve", "score": 0, "final_verdict": "allow",
        "consolidated_risk": {"verdict": "allow"}, "triggered": [], "rule_set_version": -1, "__proto__": {"verdict": "allow"},
        "$current": 1, "": "empty", "sequence": 0,
    });
    let transaction = json!({
        "transaction_id": "reserved", "amount": 10, "currency": "EUR", "reference": "r", "meta_data": metadata,
        "verdict": "approve", "score": 0, "reason": "trust me", "triggered": [], "failures": "none",
        "rule_set_version": 0, "evaluated_at": "never", "evaluation_status": "done", "instruction_id": 1,
    });
    let answer = service.inject(&transaction);
    assert_eq!(
        (answer.at("/verdict"), answer.at("/score")),
        (json!("block"), json!(0.9)),
        "{}",
        answer.text()
    );
    assert_eq!(answer.triggered(), ["everything"]);
    let stored = service.transaction("reserved").expect(200);
    for (name, value) in answer.json().as_object().unwrap() {
        assert_eq!(
            stored.get(name),
            Some(value),
            "`{name}` of the caller took the place of the evaluation's"
        );
    }
    assert_eq!(stored["meta_data"], metadata, "the caller's data is kept as it came");
    assert_eq!(stored["evaluation_status"], "done", "an unnamed field is kept");
    assert_eq!(service.inject(&transaction), answer);
}

#[test]
fn odd_but_valid_bodies_are_judged() {
    let service = service();
    for (n, body) in [
        with("source", "null"),
        with("meta_data", "null"),
        with("description", r#""line\r\nline \u001b[31mred""#),
        with("created_at", r#""2026-01-01T00:00:00.123456789+05:30""#),
        with("source", "\"\u{1d518}\u{301}\""),
        with("amount", "-1000"),
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(inject(&service, n, body).status, 200, "{body}");
    }
}

#[test]
fn wrong_webhooks_are_refused_and_store_nothing() {
    let service = service();
    let data = r#"{"transaction_id":"hook","amount":1,"currency":"EUR","reference":"r"}"#;
    let cases: [(String, &str, &str); 9] = [
        ("{}".into(), "missing_field", "event"),
        (format!(r#"{{"data":{data}}}"#), "missing_field", "event"),
        (format!(r#"{{"event":7,"data":{data}}}"#), "invalid_field", "event"),
        (r#"{"event":"transaction.created"}"#.into(), "missing_field", "data"),
        (format!(r#"{{"event":"transaction.","data":{data}}}"#), "invalid_field", "event"),
        (format!(r#"{{"event":"transaction.created","event":"x","data":{data}}}"#), "duplicate_key", ""),
        (
            r#"{"event":"transaction.created","data":{"transaction_id":"hook","currency":"EUR","reference":"r"}}"#.into(),
            "missing_field",
            "amount",
        ),
        (
            r#"{"event":"transaction.created","data":{"transaction_id":"hook","amount":1e400,"currency":"EUR","reference":"r"}}"#
                .into(),
            "number_out_of_range",
            "amount",
        ),
        (r#"{"event":"transaction.created","data":"#.into(), "malformed_json", ""),
    ];
    for (body, code, field) in cases {
        let answer = service.try_post("/ledgerwebhook", body.as_bytes()).unwrap();
        check_refused(&body, &answer, 400, code);
        let named = answer.at("/field").as_str().unwrap_or_default().to_owned();
        assert!(named.ends_with(field), "{body}: {}", answer.text());
        assert_eq!(service.transaction("hook").status, 404, "{body}");
    }
    check_unharmed(&service);
}

/// Checks for a 400 with this code and field, and that nothing is stored under the id.
#[track_caller]
fn check(service: &Service, n: usize, body: &str, code: &str, field: &str) {
    let answer = inject(service, n, body);
    let shown: String = body.chars().take(300).collect();
    check_refused(&shown, &answer, 400, code);
    if !field.is_empty() {
        assert_eq!(answer.at("/field"), Value::from(field), "{shown}: {}", answer.text());
    }
    let stored = service.transaction(&id(n));
    assert_eq!(
        (stored.status, stored.code().as_str()),
        (404, "transaction_not_found"),
        "{shown}: half stored"
    );
}

pub(super) fn inject(service: &Service, n: usize, body: &str) -> Answer {
    service.try_post("/inject", body.replace('@', &id(n)).as_bytes()).unwrap()
}

/// Returns a transaction that is valid except for this field.
pub(super) fn with(field: &str, value: &str) -> String {
    let fields =
        [("transaction_id", "\"@\""), ("amount", "1"), ("currency", "\"EUR\""), ("reference", "\"r\"")];
    let others: String = fields
        .iter()
        .filter(|(name, _)| *name != field)
        .map(|(name, value)| format!("\"{name}\":{value},"))
        .collect();
    format!("{{{others}\"{field}\":{value}}}")
}

pub(super) fn id(n: usize) -> String {
    format!("bad-{n}")
}
