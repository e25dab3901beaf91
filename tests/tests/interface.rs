//! Response formats of the API: evaluations, stored transactions, webhooks, health and metrics.

use serde_json::{Value, json};
use tollgate_tests::{Home, Service, audit, sample};

/// Rules that match or fail on one transaction.
const N_RULES: usize = 400;
/// Longest reason of a rule, in bytes.
const REASON_BYTES_MAX: usize = 1_024;
/// Most bytes of an answer and of a stored transaction, for so many rules.
const ANSWER_BYTES_MAX: usize = 64 << 10;

#[test]
fn an_evaluation_has_all_its_fields_and_the_stored_transaction_has_them_too() {
    let home = Home::with_rules(&[("large.ws", sample::rule("large", "amount > 1"))]);
    let service = Service::start(&home);
    let transaction = json!({
        "transaction_id": "t", "amount": 12.50, "currency": "EUR", "source": "a", "destination": "b", "reference": "r",
        "description": "for people", "status": "applied", "hash": "h", "allow_overdraft": true, "inflight": true,
        "skip_queue": true, "atomic": true, "created_at": "2026-01-02T03:04:05.678+02:00",
        "effective_date": "2026-01-03T00:00:00Z", "scheduled_for": "2026-01-04T00:00:00Z",
        "inflight_expiry_date": "2026-01-05T00:00:00Z",
        "meta_data": {"a": {"b": [1, 2.5, "three", null, true]}, "é": "\u{1f600}"},
    });
    let answer = service.inject(&transaction).expect(200);
    assert_eq!(answer["transaction_id"], "t");
    assert_eq!((&answer["verdict"], &answer["score"]), (&json!("block"), &json!(0.9)));
    assert_eq!(answer["failures"], json!([]));
    assert!(answer["rule_set_version"].is_u64());
    let evaluated_at = answer["evaluated_at"].as_str().unwrap();
    assert!(chrono::DateTime::parse_from_rfc3339(evaluated_at).is_ok(), "{evaluated_at}");
    let fields: Vec<&String> = answer.as_object().unwrap().keys().collect();
    let expected = [
        "evaluated_at",
        "failures",
        "reason",
        "rule_set_version",
        "score",
        "transaction_id",
        "triggered",
        "verdict",
    ];
    assert_eq!(fields, expected);

    let stored = service.transaction("t").expect(200);
    for (name, value) in transaction.as_object().unwrap().iter().chain(answer.as_object().unwrap()) {
        assert_eq!(stored.get(name), Some(value), "{name}");
    }
    assert_eq!(service.transaction("t").expect(200), stored);
}

#[test]
fn fields_that_the_caller_omits_are_filled_in() {
    let service = Service::start(&Home::new());
    let answer = service.inject(&json!({"amount": 1, "currency": "EUR", "reference": "r"})).expect(200);
    let id = answer["transaction_id"].as_str().unwrap();
    assert_eq!(id.len(), 36, "a generated id is a UUID: {id}");
    let stored = service.transaction(id).expect(200);
    for name in ["allow_overdraft", "inflight", "skip_queue", "atomic"] {
        assert_eq!(stored[name], false, "{name}");
    }
    let created_at = chrono::DateTime::parse_from_rfc3339(stored["created_at"].as_str().unwrap()).unwrap();
    let age = chrono::Utc::now().signed_duration_since(created_at);
    assert!(age.num_seconds().abs() < 60, "{created_at}");
    for name in ["source", "destination", "description", "status"] {
        assert_eq!(stored.get(name).cloned().unwrap_or_default(), Value::Null, "{name}");
    }
    assert_eq!(answer["verdict"], "approve");
    assert!(
        answer["reason"].as_str().is_some_and(|reason| !reason.is_empty()),
        "it says that no rule matched"
    );
    let other = service.inject(&json!({"amount": 1, "currency": "EUR", "reference": "r"})).expect(200);
    assert_ne!(other["transaction_id"], id, "without an id each one is a transaction of its own");
}

#[test]
fn ids_are_found_again_to_the_letter() {
    let service = Service::start(&Home::new());
    for (id, path) in [
        ("plain-1", "plain-1"),
        ("with space", "with%20space"),
        ("a/b", "a%2Fb"),
        ("a?b#c", "a%3Fb%23c"),
        ("100%", "100%25"),
        ("é\u{4e2d}\u{1f600}", "%C3%A9%E4%B8%AD%F0%9F%98%80"),
        ("e\u{301}", "e%CC%81"),
        ("Case", "Case"),
        ("case", "case"),
        ("..", "%2e%2e"),
        ("'; DROP TABLE transactions; --", "'%3B%20DROP%20TABLE%20transactions%3B%20--"),
    ] {
        assert_eq!(service.inject(&sample::transaction(id)).status, 200, "{id}");
        let stored = service.transaction(path);
        assert_eq!(stored.status, 200, "{id}: {}", stored.text());
        assert_eq!(stored.at("/transaction_id"), id);
    }
    assert_eq!(service.transaction("%C3%A9").status, 404, "no normalisation: another id");
}

#[test]
fn a_webhook_is_judged_like_an_injected_transaction() {
    let home = Home::with_rules(&[
        ("large.ws", sample::rule("large", "amount > 1")),
        ("seen.ws", sample::rule("seen", r#"count(when currency == "EUR", "PT1H") >= 1"#)),
    ]);
    let service = Service::start(&home);
    let transaction =
        sample::with(&sample::transaction("hook"), &json!({"source": "a", "meta_data": {"k": "v"}}));
    let webhook = json!({"event": "transaction.created", "data": transaction});
    let answer = service.post("/ledgerwebhook", &webhook).expect(200);
    let text = answer.as_str().expect("a single JSON string");
    assert!(text.contains("hook") && text.contains("transaction.created"), "{text}");
    let stored = service.transaction("hook").expect(200);
    assert_eq!((&stored["verdict"], &stored["meta_data"]), (&json!("block"), &json!({"k": "v"})));

    assert_eq!(service.post("/ledgerwebhook", &webhook).expect(200), answer, "a redelivery changes nothing");
    assert_eq!(
        service.inject(&transaction).expect(200)["verdict"],
        "block",
        "nor does the same over the other door"
    );
    assert_eq!(service.inject(&sample::transaction("next")).triggered(), ["large", "seen"]);

    let altered =
        json!({"event": "transaction.created", "data": sample::with(&transaction, &json!({"amount": 99}))});
    let refused = service.post("/ledgerwebhook", &altered);
    assert_eq!((refused.status, refused.code().as_str()), (409, "transaction_conflict"));
    assert_eq!(service.transaction("hook").expect(200), stored);
}

#[test]
fn health_readiness_and_numbers_are_there() {
    let home = Home::with_rules(&[("zebra.ws", sample::rule("zebra", "amount > 1"))]);
    let service = Service::start(&home);
    for path in ["/healthz", "/readyz"] {
        let answer = service.get(path);
        assert!(answer.expect(200).is_object(), "{path}: {}", answer.text());
    }
    let before = service.get("/metrics");
    assert_eq!(before.status, 200);
    assert!(before.header("content-type").is_some_and(|kind| kind.contains("text")), "{:?}", before.headers);
    let kind_for = |accept: &str| {
        let answer = service.send("GET", "/metrics", &[("accept", accept)], &[]).unwrap();
        (answer.header("content-type").unwrap_or_default().to_owned(), answer.text())
    };
    let (kind, plain) = kind_for("text/plain;version=0.0.4");
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    assert!(plain.contains("# TYPE tollgate_build_info gauge") && !plain.contains("# EOF"), "{plain}");
    let (kind, _) =
        kind_for("application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.1");
    assert_eq!(kind, before.header("content-type").unwrap());
    for n in 0..3 {
        assert_eq!(service.inject(&sample::transaction(&format!("quagga-{n}"))).status, 200);
    }
    let after = service.get("/metrics").text();
    assert!(after.lines().any(|line| line.starts_with("# TYPE ")), "{after}");
    assert!(after != before.text(), "three transactions change no number");
    assert!(
        !after.contains("zebra") && !after.contains("quagga"),
        "no word of a caller or an author in a label"
    );
}

#[test]
fn an_amount_as_a_text_is_the_payment_of_the_number_and_is_returned_as_a_text_where_asked() {
    let service = Service::start(&Home::with_rules(&[("large.ws", sample::rule("large", "amount > 10.4"))]));
    let paying = |amount: Value| sample::with(&sample::transaction("t"), &json!({ "amount": amount }));
    let first = service.inject(&paying(json!("10.50")));
    assert_eq!(first.triggered(), ["large"], "{}", first.text());
    for same in [json!(10.5), json!("10.5"), json!("010.500")] {
        assert_eq!(service.inject(&paying(same.clone())).text(), first.text(), "{same}");
    }
    let other = service.inject(&paying(json!("10.51")));
    assert_eq!((other.status, other.code().as_str()), (409, "transaction_conflict"));
    for odd in ["1e3", " 1", "1 ", "", "+1", ".5", "5.", "1,5", "0x1"] {
        let refused = service.inject(&paying(json!(odd)));
        assert_eq!(
            (refused.status, refused.at("/field")),
            (400, json!("amount")),
            "{odd}: {}",
            refused.text()
        );
    }
    let wide = service.inject(&paying(json!("1".repeat(39))));
    assert_eq!(wide.code(), "number_out_of_range");
    let amount_for = |accept: &str| {
        let answer = service.send("GET", "/transactions/t", &[("accept", accept)], &[]).unwrap();
        let text = answer.text();
        text.split("\"amount\":").nth(1).unwrap().split(',').next().unwrap().to_owned()
    };
    assert_eq!(amount_for("*/*"), "10.50");
    assert_eq!(amount_for("application/json"), "10.50");
    assert_eq!(amount_for("application/json; decimals=string"), "\"10.50\"");
    let accept = [("accept", "application/json; decimals=string")];
    let id = service.get("/instructions").at("/0/id");
    let hits = service.send("GET", &format!("/instructions/{id}/hits"), &accept, &[]).unwrap();
    assert_eq!(hits.at("/hits/0/amount"), json!("10.50"), "{}", hits.text());
    let event = json!({"event": "transaction.applied", "data": sample::with(&paying(json!("10.50")), &json!({"status": "APPLIED"}))});
    assert_eq!(service.post("/ledgerwebhook", &event).status, 200, "an event may have such an amount too");
}

#[test]
fn money_is_summed_to_the_cent() {
    let home = Home::with_rules(&[(
        "exact.ws",
        sample::rule("exact", r#"sum(amount when source == $current.source, "PT1H") == 0.3"#),
    )]);
    let service = Service::start(&home);
    let judge = |n: usize| {
        let fields = json!({"source": "a", "amount": 0.1});
        service.inject(&sample::with(&sample::transaction(&format!("t{n}")), &fields)).triggered()
    };
    let matched: Vec<usize> = (0..6).filter(|n| !judge(*n).is_empty()).collect();
    assert_eq!(matched, [3], "three times 0.1 is 0.3");
}

#[test]
fn windows_go_by_the_time_of_the_transaction() {
    let home = Home::with_rules(&[(
        "hour.ws",
        sample::rule("hour", r#"count(when source == $current.source, "PT1H") >= 1"#),
    )]);
    let service = Service::start(&home);
    for (id, source, created_at, triggered) in [
        ("a1", "a", "2026-01-01T12:00:00Z", false),
        ("a2", "a", "2026-01-01T13:00:00Z", true),
        ("a3", "a", "2026-01-01T14:00:00.000001Z", false),
        ("a4", "a", "2026-01-01T11:59:59Z", false),
        ("a5", "a", "2026-01-01T14:30:00+02:00", true),
        ("b1", "b", "2020-01-01T00:00:00Z", false),
        ("b2", "b", "2020-01-01T00:00:00Z", true),
    ] {
        let fields = json!({"source": source, "created_at": created_at});
        let answer = service.inject(&sample::with(&sample::transaction(id), &fields));
        assert_eq!(!answer.triggered().is_empty(), triggered, "{id}: {}", answer.text());
    }
}

/// Judges a transaction by many rules with this condition and reasons as long as possible. Returns the answer.
#[track_caller]
fn judged_by_many(condition: &str, end: &str) -> Value {
    let rules: Vec<(String, String)> = (0..N_RULES)
        .map(|n| {
            let name = format!("rule_{n:03}");
            let reason = format!("{name} {}", "x".repeat(REASON_BYTES_MAX - name.len() - 1));
            let script = sample::rule(&name, condition).replace(&format!("{name} matched"), &reason);
            (format!("{name}.ws"), script)
        })
        .collect();
    let home = Home::with_rules(&rules);
    let service = Service::start(&home);
    let answer = service.inject(&sample::transaction("t"));
    let stored = service.transaction("t");
    for (what, n_bytes) in [("the answer", answer.body.len()), ("the stored payment", stored.body.len())] {
        assert!(n_bytes < ANSWER_BYTES_MAX, "{what} has {n_bytes} bytes");
    }
    let (answer, stored) = (answer.expect(200), stored.expect(200));
    for (name, value) in answer.as_object().unwrap() {
        assert_eq!(stored.get(name), Some(value), "{name}");
    }
    assert!(answer["reason"].as_str().unwrap().ends_with(end), "{answer}");
    assert_eq!(service.stop().0.code(), Some(0));
    assert_eq!(audit::replay(&home).all_follow(), 1);
    answer
}

#[test]
fn an_answer_names_only_the_severest_rules() {
    let answer = judged_by_many("amount > 1", "x; and 384 more");
    assert_eq!((&answer["verdict"], &answer["score"]), (&json!("block"), &json!(0.9)));
    let triggered = answer["triggered"].as_array().unwrap();
    assert_eq!(triggered.len(), N_RULES);
    for (n, rule) in triggered.iter().enumerate() {
        assert_eq!((&rule["verdict"], &rule["score"]), (&json!("block"), &json!(0.9)));
        assert!(rule["instruction_id"].is_i64(), "{rule}");
        let name = (n < 16).then(|| format!("rule_{n:03}"));
        assert_eq!(
            (rule.get("name"), rule.get("reason").is_some()),
            (name.clone().map(Value::from).as_ref(), name.is_some())
        );
    }
}

#[test]
fn an_answer_names_only_the_first_rules_that_failed() {
    let answer =
        judged_by_many("source in $never_set", "; Rule `rule_015` could not be evaluated; and 384 more");
    assert_eq!((&answer["verdict"], &answer["triggered"]), (&json!("review"), &json!([])));
    let failures = answer["failures"].as_array().unwrap();
    assert_eq!(failures.len(), N_RULES);
    assert!(failures.iter().all(|rule| rule["failure"] == "list"), "{answer}");
    assert_eq!(failures.iter().filter(|rule| rule.get("name").is_some()).count(), 16);
}
