//! Responses of the flows, as a caller reads them.

use serde_json::json;

use super::*;

const TRANSACTION: &str = concat!(
    r#"{"transaction_id": "t", "amount": 12.50, "currency": "EUR", "reference": "r", "#,
    r#""created_at": "2026-01-02T03:04:05Z", "note": 1.0, "verdict": "mine"}"#
);
const SCRIPT: &str = "rule large { when amount > 10 then review score 0.70 reason \"too large\" }";

fn save(fixture: &Fixture, script: &str) -> FullResponse {
    fixture.send("POST", "/compile-and-save-instruction", &[], json!({ "script": script }).to_string())
}

fn inject(fixture: &Fixture, body: &str) -> FullResponse {
    fixture.send("POST", "/inject", &[], body.to_owned())
}

#[track_caller]
fn check_ok(answer: &FullResponse, status: u16) {
    assert_eq!(answer.status.as_u16(), status, "{}", String::from_utf8_lossy(&answer.body));
    assert_eq!(answer.header("content-type"), if status == 204 { "" } else { "application/json" });
    check_surroundings(answer);
}

#[test]
fn an_injected_transaction_gets_its_assessment_and_a_repeated_one_the_same_bytes() {
    let fixture = Fixture::new();
    check_ok(&save(&fixture, SCRIPT), 201);
    let first = inject(&fixture, TRANSACTION);
    check_ok(&first, 200);
    assert!(first.body.starts_with(br#"{"transaction_id":"t","verdict":"review","score":0.7,"#));
    let again = inject(&fixture, &TRANSACTION.replace("12.50", "1250e-2"));
    assert_eq!(again.body, first.body);
    let page = fixture.state.metrics.encode().unwrap();
    assert!(page.contains("tollgate_transactions_judged_total{verdict=\"review\"} 1"), "{page}");
}

#[test]
fn another_transaction_under_the_same_id_is_a_conflict() {
    let fixture = Fixture::new();
    let first = inject(&fixture, TRANSACTION);
    check_ok(&first, 200);
    check_error(&inject(&fixture, &TRANSACTION.replace("12.50", "12.51")), "transaction_conflict");
    assert_eq!(inject(&fixture, TRANSACTION).body, first.body);
}

#[test]
fn a_stored_transaction_has_its_own_fields_and_those_of_the_assessment() {
    let fixture = Fixture::new();
    let assessment = inject(&fixture, TRANSACTION);
    let stored = fixture.get("/transactions/t");
    check_ok(&stored, 200);
    let text = String::from_utf8(stored.body.clone()).unwrap();
    assert!(
        text.starts_with(r#"{"transaction_id":"t","amount":12.50,"currency":"EUR","reference":"r","#),
        "{text}"
    );
    assert!(text.contains(r#""note":1.0,"verdict":"approve","score":0.0,"#), "{text}");
    for (name, value) in assessment.json().as_object().unwrap() {
        assert_eq!(stored.json().get(name), Some(value), "{name}");
    }
    check_error(&fixture.get("/transactions/T"), "transaction_not_found");
}

#[test]
fn a_webhook_is_answered_with_one_text_and_its_redelivery_alike() {
    let fixture = Fixture::new();
    let envelope =
        format!(r#"{{"event": "transaction.created", "data": {TRANSACTION}, "sent_by": "a ledger"}}"#);
    for _ in 0..2 {
        let answer = fixture.send("POST", "/ledgerwebhook", &[], envelope.clone());
        check_ok(&answer, 200);
        assert_eq!(answer.json(), "transaction t from event transaction.created processed");
    }
    check_ok(&fixture.get("/transactions/t"), 200);
    check_error(
        &fixture.send("POST", "/ledgerwebhook", &[], envelope.replace("12.50", "1")),
        "transaction_conflict",
    );
}

fn report(fixture: &Fixture, event: &str, data: &str) -> FullResponse {
    fixture.send("POST", "/ledgerwebhook", &[], format!(r#"{{"event": "{event}", "data": {data}}}"#))
}

#[test]
fn an_event_moves_the_status_of_a_known_transaction_and_leaves_its_verdict() {
    let fixture = Fixture::new();
    check_ok(&save(&fixture, SCRIPT), 201);
    let assessment = inject(&fixture, TRANSACTION);
    let before = fixture.get("/transactions/t").json();
    for (event, status, stays) in [
        ("transaction.created", None, ""),
        ("transaction.inflight", Some("inflight"), ""),
        ("transaction.queued", Some("inflight"), "; its status stays inflight"),
        ("transaction.void", Some("void"), ""),
        ("transaction.applied", Some("void"), "; its status stays void"),
    ] {
        let answer = report(&fixture, event, TRANSACTION);
        check_ok(&answer, 200);
        assert_eq!(answer.json(), format!("transaction t from event {event} processed{stays}"));
        let mut stored = fixture.get("/transactions/t").json();
        let shown_status = stored.as_object_mut().unwrap().remove("status");
        assert_eq!(shown_status, status.map(Into::into), "{event}");
        stored.as_object_mut().unwrap().remove("without_effect");
        assert_eq!(stored, before, "{event}");
    }
    assert_eq!(inject(&fixture, TRANSACTION).body, assessment.body);
    let page = fixture.state.metrics.encode().unwrap();
    for line in [
        "tollgate_status_events_total{effect=\"updated\"} 2",
        "tollgate_status_events_total{effect=\"none\"} 3",
        "tollgate_transactions_judged_total{verdict=\"review\"} 1",
    ] {
        assert!(page.lines().any(|read| read == line), "no {line} in {page}");
    }
}

#[test]
fn an_event_on_an_unknown_transaction_has_it_judged_with_the_status_it_means() {
    let fixture = Fixture::new();
    check_ok(&save(&fixture, SCRIPT), 201);
    check_ok(&report(&fixture, "transaction.applied", TRANSACTION), 200);
    let stored = fixture.get("/transactions/t").json();
    assert_eq!((&stored["status"], &stored["verdict"]), (&json!("applied"), &json!("review")));
    check_ok(&report(&fixture, "transaction.created", TRANSACTION), 200);
    assert_eq!(fixture.get("/transactions/t").json(), stored);
}

#[test]
fn an_event_that_says_something_else_of_a_transaction_is_a_conflict() {
    let fixture = Fixture::new();
    check_ok(&inject(&fixture, TRANSACTION), 200);
    let before = fixture.get("/transactions/t").body;
    let altered = TRANSACTION.replace("12.50", "12.51");
    check_error(&report(&fixture, "transaction.applied", &altered), "transaction_conflict");
    assert_eq!(fixture.get("/transactions/t").body, before);
}

#[test]
fn an_event_about_something_else_is_acknowledged_counted_and_no_more() {
    let fixture = Fixture::new();
    let long = "x".repeat(300);
    for (event, data, answer) in [
        (
            "balance.monitor",
            r#"{"transaction_id": "t"}"#,
            "event `balance.monitor` acknowledged; transaction `t` is unchanged",
        ),
        (
            "Transaction.Limits",
            TRANSACTION,
            "event `Transaction.Limits` acknowledged; transaction `t` is unchanged",
        ),
        ("transaction", "null", "event `transaction` acknowledged"),
        (&*long, "[1]", &format!("event `{}…` acknowledged", "x".repeat(100))),
    ] {
        let answered = report(&fixture, event, data);
        check_ok(&answered, 200);
        assert_eq!(answered.json(), answer);
    }
    check_error(&fixture.get("/transactions/t"), "transaction_not_found");
    let page = fixture.state.metrics.encode().unwrap();
    assert!(page.contains("tollgate_webhook_events_ignored_total 4"), "{page}");
}

#[test]
fn an_instruction_is_answered_alike_when_saved_read_and_listed_until_it_is_removed() {
    let fixture = Fixture::new();
    let saved = save(&fixture, SCRIPT);
    check_ok(&saved, 201);
    let path = format!("/instructions/{}", saved.json()["id"]);
    assert_eq!(fixture.get(&path).body, saved.body);
    check_ok(&fixture.get("/instructions"), 200);
    assert_eq!(fixture.get("/instructions").json(), json!([saved.json()]));
    check_error(&save(&fixture, SCRIPT), "name_taken");

    let removed = fixture.send("DELETE", &path, &[], "");
    check_ok(&removed, 204);
    assert!(removed.body.is_empty());
    check_error(&fixture.get(&path), "instruction_not_found");
    check_error(&fixture.send("DELETE", &path, &[], ""), "instruction_not_found");
    assert_eq!(fixture.get("/instructions").json(), json!([]));
}

#[test]
fn a_script_that_does_not_compile_is_answered_with_its_first_error_and_all_diagnostics() {
    let fixture = Fixture::new();
    let answer =
        save(&fixture, "rule a {\n  when amount > 1 or amount > 2 and currency == EUR\n  then maybe\n}");
    check_error(&answer, "compile_error");
    let body = answer.json();
    assert_eq!(body["error"], "parse error at line 3, column 8: expected verdict (allow, block, review)");
    let diagnostics = body["diagnostics"].as_array().unwrap();
    let error = diagnostics.iter().find(|diagnostic| diagnostic["severity"] == "error").unwrap();
    assert_eq!((&error["line"], &error["column"]), (&json!(3), &json!(8)));
    let named = document::properties_of("Diagnostic");
    for diagnostic in diagnostics {
        assert_eq!(diagnostic.as_object().unwrap().keys().cloned().collect::<Vec<_>>(), named);
    }
}
