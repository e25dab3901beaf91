//! Instructions over the API: saved, read, in force at once, conflicting, deleted, kept across restarts.

use serde_json::{Value, json};
use tollgate_tests::links::metric;
use tollgate_tests::poll::PATIENCE;
use tollgate_tests::{Answer, Home, Service, modules, sample};

#[test]
fn a_saved_rule_judges_the_next_transaction() {
    let service = Service::start(&Home::new());
    let before = service.inject(&sample::transaction("before"));
    assert_eq!((before.at("/verdict"), before.at("/score")), (json!("approve"), json!(0.0)));
    let saved = service.save(&sample::rule("large", "amount >= 10")).expect(201);
    let after = service.inject(&sample::transaction("after"));
    assert_eq!(
        after.at("/triggered"),
        json!([{
            "instruction_id": saved["id"], "name": "large", "verdict": "block", "score": 0.9, "reason": "large matched",
        }])
    );
    assert_eq!((after.at("/verdict"), after.at("/reason")), (json!("block"), json!("large matched")));
    assert!(version(&after) > version(&before), "another rule set has another version");
    let again = service.inject(&sample::transaction("before"));
    assert_eq!(again, before, "a verdict once given stays");
}

#[test]
fn a_new_rule_sees_the_transactions_before_it() {
    let service = Service::start(&Home::new());
    for n in 0..5 {
        let transaction =
            sample::with(&sample::transaction(&format!("t{n}")), &json!({"source": "a", "amount": 0.1}));
        assert_eq!(service.inject(&transaction).status, 200);
    }
    for (name, condition) in [
        ("five", r#"count(when source == $current.source, "PT1H") == 5"#),
        ("half", r#"sum(amount when source == "a", "PT1H") == 0.5"#),
        ("one_amount", r#"distinct(amount when source == $current.source, "PT1H") == 1"#),
        (
            "seen",
            r#"previous_transaction(within: "PT1H", match: { source: "$current.source", amount: 0.1 })"#,
        ),
    ] {
        assert_eq!(service.save(&sample::rule(name, condition)).status, 201, "{name}");
    }
    let probe = sample::with(&sample::transaction("probe"), &json!({"source": "a"}));
    assert_eq!(service.inject(&probe).triggered(), ["five", "half", "one_amount", "seen"]);
}

#[test]
fn an_instruction_is_served_whole_and_alike_everywhere() {
    let service = Service::start(&Home::new());
    let script = r#"rule velocity {
  description "many in an hour"
  when amount > 1.5 and count(when source == $current.source, "PT1H") >= 10
  then review score 0.65 reason "too many"
}"#;
    let mut saved = service.save(script).expect(201);
    for (name, value) in [
        ("name", json!("velocity")),
        ("description", json!("many in an hour")),
        ("script", json!(script)),
        ("verdict", json!("review")),
        ("score", json!(0.65)),
        ("reason", json!("too many")),
        ("source", json!({"kind": "api"})),
        ("status", json!("active")),
        ("warnings", json!([])),
    ] {
        assert_eq!(saved[name], value, "{name}: {saved}");
    }
    assert!(saved["id"].is_i64() && saved["rule"].is_object(), "{saved}");
    let module = &saved["module"];
    let digest = module["sha256"].as_str().unwrap();
    assert!(digest.len() == 64 && digest.chars().all(|c| c.is_ascii_hexdigit()), "{module}");
    assert!(module["bytes"].as_u64().is_some_and(|n_bytes| n_bytes > 8), "{module}");
    assert!(module["abi_version"].as_u64().is_some_and(|version| version >= 1), "{module}");
    assert_eq!(module["cost"]["history_lookups"], 1, "{module}");
    for part in ["instructions", "host_calls"] {
        assert!(module["cost"][part].as_u64().is_some_and(|cost| cost > 0), "{module}");
    }
    for name in ["created_at", "updated_at"] {
        let time = saved[name].as_str().unwrap();
        assert!(chrono::DateTime::parse_from_rfc3339(time).is_ok(), "{name}: {time}");
    }
    // Only the answer to the save has an estimate.
    assert_eq!(saved["estimate"]["transactions"], 0);
    saved["estimate"] = Value::Null;
    assert_eq!(service.get(&path(&saved)).expect(200), saved);
    assert_eq!(service.get("/instructions").expect(200), json!([saved]));
}

#[test]
fn an_omitted_part_of_a_rule_has_its_default() {
    let service = Service::start(&Home::new());
    let saved = service.save("rule bare { when amount > 1 then alert }").expect(201);
    assert_eq!((&saved["score"], &saved["reason"]), (&json!(0.0), &json!("No reason provided")));
    let answer = service.inject(&sample::transaction("t"));
    assert_eq!(
        (answer.at("/verdict"), answer.at("/reason")),
        (json!("alert"), json!("No reason provided")),
        "{}",
        answer.text()
    );
}

#[test]
fn a_taken_name_is_a_conflict_that_changes_nothing() {
    let home = Home::with_rules(&[("from_file.ws", sample::rule("from_file", "amount > 1"))]);
    let service = Service::start(&home);
    let saved = service.save(&sample::rule("from_api", "amount > 1")).expect(201);
    let before = service.get("/instructions").expect(200);
    for (name, holder) in [("from_api", "from the API"), ("from_file", "from the file `from_file.ws`")] {
        let answer = service.save(&sample::rule(name, "amount > 1000"));
        assert_eq!((answer.status, answer.code().as_str()), (409, "name_taken"), "{name}");
        assert!(answer.text().contains(holder), "{}", answer.text());
    }
    assert_eq!(service.get("/instructions").expect(200), before);
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["from_api", "from_file"]);

    assert_eq!(service.delete(&path(&saved)).status, 204);
    let again = service.save(&sample::rule("from_api", "amount > 1000")).expect(201);
    assert_ne!(again["id"], saved["id"], "an id is never given twice");
}

#[test]
fn a_deleted_instruction_judges_no_more_and_is_gone() {
    let service = Service::start(&Home::new());
    let saved = service.save(&sample::rule("gone", "amount > 1")).expect(201);
    let answer = service.inject(&sample::transaction("before"));
    assert_eq!(answer.triggered(), ["gone"]);
    let deleted = service.delete(&path(&saved));
    assert_eq!((deleted.status, deleted.body.len()), (204, 0));
    for answer in [service.delete(&path(&saved)), service.get(&path(&saved))] {
        assert_eq!((answer.status, answer.code().as_str()), (404, "instruction_not_found"));
    }
    assert_eq!(service.get("/instructions").expect(200), json!([]));
    assert_eq!(service.inject(&sample::transaction("after")).triggered(), [""; 0]);
    assert_eq!(service.inject(&sample::transaction("before")), answer, "a verdict once given stays");
}

#[test]
fn instructions_of_the_api_survive_a_stop_and_a_kill() {
    let home = Home::with_rules(&[("from_file.ws", sample::rule("from_file", "amount > 1"))]);
    let service = Service::start(&home);
    assert_eq!(service.save(&sample::rule("kept", "amount > 1")).status, 201);
    let deleted = service.save(&sample::rule("deleted", "amount > 1")).expect(201);
    assert_eq!(service.delete(&path(&deleted)).status, 204);
    let before = service.get("/instructions").expect(200);
    let answer = service.inject(&sample::transaction("t"));
    assert_eq!(answer.triggered(), ["from_file", "kept"]);
    assert_eq!(service.stop().0.code(), Some(0));

    let service = Service::start(&home);
    assert_eq!(service.get("/instructions").expect(200), before, "after a stop");
    let saved = service.save(&sample::rule("late", "amount > 1")).expect(201);
    assert!(saved["id"].as_i64() > deleted["id"].as_i64(), "an id is never given twice");
    let before = service.get("/instructions").expect(200);
    service.kill();

    let service = Service::start(&home);
    assert_eq!(service.get("/instructions").expect(200), before, "after a kill");
    assert_eq!(service.inject(&sample::transaction("t")), answer, "a verdict once given stays");
    assert_eq!(service.inject(&sample::transaction("u")).triggered(), ["from_file", "kept", "late"]);
}

#[test]
fn a_source_that_saves_too_often_waits_and_the_others_do_not() {
    let mut home = Home::new();
    home.set("SERVICE_SAVES_PER_MINUTE", "2");
    let service = Service::start(&home);
    for name in ["a", "b"] {
        assert_eq!(service.save(&sample::rule(name, "amount > 1")).status, 201);
    }
    let refused = service.save(&sample::rule("c", "amount > 1"));
    assert_eq!((refused.status, refused.code().as_str()), (429, "too_many_saves"), "{}", refused.text());
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=31).contains(&wait), "{wait}");
    assert_eq!(service.upload("", &modules::rule("d", 1)).status, 201);
    assert_eq!(service.inject(&sample::transaction("t")).triggered(), ["a", "b", "d"]);
}

#[test]
fn the_id_of_a_request_is_in_its_answer_and_in_its_log_lines() {
    let service = Service::start(&Home::new());
    let send = |id: &str, script: &str| {
        let body = json!({ "script": script }).to_string();
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let headers = [("content-type", "application/json"), ("x-request-id", id), ("traceparent", parent)];
        let client = service.client();
        client.send("POST", "/compile-and-save-instruction", &headers, body.as_bytes()).unwrap()
    };
    let saved = send("req-4711", &sample::rule("logged", "amount > 1"));
    assert_eq!((saved.status, saved.header("x-request-id")), (201, Some("req-4711")));
    let refused = send("req-4712", "rule");
    assert_eq!((refused.status, refused.header("x-request-id")), (400, Some("req-4712")));
    assert_ne!(send("no id", "rule").header("x-request-id"), Some("no id"));
    let saves = |line: &str| line.contains("instruction saved").then(|| line.to_owned());
    let line = service.log().wait_for(PATIENCE, saves).unwrap();
    assert!(
        line.contains(r#""request_id":"req-4711","trace_id":"0af7651916cd43dd8448eb211c80319c""#),
        "{line}"
    );
}

#[test]
fn the_order_of_rules_has_no_effect() {
    let rules = [
        "rule a { when amount > 1 then alert score 0.9 reason \"a\" }",
        "rule b { when amount > 2 then block score 0.3 reason \"b\" }",
        "rule c { when amount > 3 then allow score 0.1 reason \"c\" }",
        "rule d { when amount > 4 then deny score 0.5 reason \"d\" }",
        "rule e { when amount > 1000 then review score 1 reason \"e\" }",
        "rule f { when count(when currency == \"EUR\", \"PT1H\") == 0 then review score 0.2 reason \"f\" }",
    ];
    let judge = |order: &[usize]| -> Value {
        let service = Service::start(&Home::new());
        for index in order {
            assert_eq!(service.save(rules[*index]).status, 201);
        }
        let answer = service.inject(&sample::transaction("t"));
        let names = answer.triggered();
        json!([answer.at("/verdict"), answer.at("/score"), answer.at("/reason"), names])
    };
    let expected = json!(["block", 0.9, "d; b; f; a; c", ["d", "b", "f", "a", "c"]]);
    for order in [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [3, 0, 5, 2, 1, 4]] {
        assert_eq!(judge(&order), expected, "{order:?}");
    }
}

#[test]
fn every_error_of_a_script_is_reported_in_order() {
    let service = Service::start(&Home::new());
    let script = "rule many {\n  when unknown_call(amount) > 1\n    and currency in ()\n  then block score 2 reason late\n}";
    let answer = service.save(script);
    assert_eq!((answer.status, answer.code().as_str()), (400, "compile_error"));
    let diagnostics = answer.at("/diagnostics");
    let diagnostics = diagnostics.as_array().unwrap();
    assert!(diagnostics.len() >= 3, "{}", answer.text());
    let positions: Vec<(u64, u64)> = diagnostics
        .iter()
        .map(|diagnostic| (diagnostic["line"].as_u64().unwrap(), diagnostic["column"].as_u64().unwrap()))
        .collect();
    assert!(positions.is_sorted(), "{positions:?}");
    for diagnostic in diagnostics {
        assert_eq!(diagnostic["severity"], "error", "{diagnostic}");
        for part in ["code", "message"] {
            assert!(diagnostic[part].as_str().is_some_and(|text| !text.is_empty()), "{diagnostic}");
        }
        assert!(diagnostic.get("end").is_some() && diagnostic.get("help").is_some(), "{diagnostic}");
    }
    assert_eq!(service.get("/instructions").expect(200), json!([]));
}

#[test]
fn a_warning_before_the_first_error_does_not_hide_it() {
    let service = Service::start(&Home::new());
    let answer = service.save("rule r {\n  when currency == EUR\n  then maybe\n}");
    assert_eq!((answer.status, answer.code().as_str()), (400, "compile_error"));
    assert_eq!(
        answer.at("/error"),
        "parse error at line 3, column 8: expected verdict (allow, block, review)"
    );
    let severities: Vec<Value> = [0, 1].map(|n| answer.at(&format!("/diagnostics/{n}/severity"))).to_vec();
    assert_eq!(severities, ["warning", "error"], "{}", answer.text());
}

#[test]
fn the_fixed_texts_stand_word_for_word_at_the_offending_token() {
    let service = Service::start(&Home::new());
    let head = "rule r {\n  when amount > 1\n  then ";
    for (action, column, text) in [
        ("maybe score 0.5 reason \"x\"", 8, "expected verdict (allow, block, review)"),
        ("block score high reason \"x\"", 20, "expected number after 'score'"),
        ("block score 0.5 reason because", 31, "expected string after 'reason'"),
        ("block score 0.5 priority 3", 24, "unexpected token in then clause"),
    ] {
        let answer = service.save(&format!("{head}{action}\n}}"));
        assert_eq!((answer.status, answer.code().as_str()), (400, "compile_error"), "{action}");
        let expected = format!("parse error at line 3, column {column}: {text}");
        assert_eq!(answer.at("/error"), expected, "{action}");
    }
    let unterminated = service.save("rule r {\n  when currency == \"EUR\n  then block\n}");
    let error = unterminated.at("/error");
    assert!(error.as_str().unwrap().starts_with("parse error at line 2, column 20: "), "{error}");
}

#[test]
fn warnings_come_back_with_the_saved_instruction() {
    let service = Service::start(&Home::new());
    for (name, condition) in [
        ("mixed", r#"amount > 1 or amount > 2 and currency == "EUR""#),
        ("bare", "currency == EUR"),
        ("unknown_list", "currency in $no_such_list"),
        ("twice", "amount > 1 and amount > 1"),
    ] {
        let saved = service.save(&sample::rule(name, condition)).expect(201);
        let warnings = saved["warnings"].as_array().unwrap();
        assert!(!warnings.is_empty(), "{name} has no warning");
        assert!(warnings.iter().all(|warning| warning["severity"] == "warning"), "{warnings:?}");
        assert_eq!(service.get(&path(&saved)).expect(200), saved);
    }
}

#[test]
fn a_rule_that_matches_and_says_allow_makes_nothing_milder() {
    let home = Home::with_rules(&[("strict.ws", sample::rule("strict", "amount > 1"))]);
    let service = Service::start(&home);
    assert_eq!(service.save("rule mild { when amount > 1 then allow score 0 reason \"fine\" }").status, 201);
    let answer = service.inject(&sample::transaction("t"));
    assert_eq!((answer.at("/verdict"), answer.at("/score")), (json!("block"), json!(0.9)));
    assert_eq!(answer.triggered(), ["strict", "mild"]);
}

fn path(instruction: &Value) -> String {
    format!("/instructions/{}", instruction["id"])
}

#[track_caller]
fn version(answer: &Answer) -> u64 {
    answer.at("/rule_set_version").as_u64().unwrap()
}

#[test]
fn matches_and_failures_of_a_rule_are_counted_and_go_on_when_another_changes() {
    let home = Home::with_rules(&[
        ("large.ws", sample::rule("large", "amount > 100")),
        ("listed.ws", sample::rule("listed", "source in $none")),
    ]);
    let service = Service::start(&home);
    let counted = |rule: &str| ["matched", "failed"].map(|outcome| outcomes(&service, rule, outcome));
    for (id, amount) in [("a", 1), ("b", 101), ("c", 102)] {
        let sent = sample::with(&sample::transaction(id), &json!({"amount": amount}));
        assert_eq!(service.inject(&sent).status, 200);
    }
    assert_eq!((counted("large"), counted("listed")), ([2, 0], [0, 3]));
    // Another rule changes; the counts of this one go on.
    assert_eq!(service.save(&sample::rule("third", "amount > 1")).status, 201);
    let sent = sample::with(&sample::transaction("d"), &json!({"amount": 103}));
    assert_eq!(service.inject(&sent).status, 200);
    assert_eq!((counted("large"), counted("third")), ([3, 0], [1, 0]));
}

/// Returns the value of `tollgate_rule_outcomes_total` for a rule.
fn outcomes(service: &Service, rule: &str, outcome: &str) -> u64 {
    let listed = service.get("/instructions").expect(200);
    let listed = listed["instructions"].as_array().or(listed.as_array()).unwrap();
    let id = &listed.iter().find(|listed| listed["name"] == rule).unwrap()["id"];
    metric(service, &format!("tollgate_rule_outcomes_total{{instruction=\"{id}\",outcome=\"{outcome}\"}}"))
}
