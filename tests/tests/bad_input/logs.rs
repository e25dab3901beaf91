//! Log output for hostile input: each line is one JSON object without terminal control sequences.

use serde_json::{Value, json};
use tollgate_tests::{Home, Service, log, sample, wire};

const HOSTILE: &str =
    "x\r\n{\"level\":\"ERROR\",\"message\":\"forged\"}\r\n\u{1b}[31mred\u{1b}[0m\u{9b}2J\u{202e}";

#[test]
fn every_line_stays_one_json_object_whatever_callers_send() {
    let home = Home::with_rules(&[
        ("fine.ws".to_owned(), sample::rule("fine", "amount > 1")),
        ("broken\u{1b}[31m\n.ws".to_owned(), sample::rule("broken", HOSTILE)),
        ("folder\r\n\u{1b}]0;x\u{7}/broken.ws".to_owned(), "rule \u{1b}[31m {".to_owned()),
        ("lists/odd\u{1b}[31m.txt".to_owned(), HOSTILE.to_owned()),
    ]);
    let service = Service::start(&home);
    for field in [
        "transaction_id",
        "currency",
        "source",
        "destination",
        "reference",
        "description",
        "status",
        "hash",
        "created_at",
        "amount",
        "meta_data",
        HOSTILE,
    ] {
        let transaction = sample::with(&sample::transaction("t"), &json!({ field: HOSTILE }));
        check_answered(service.inject(&transaction).status);
        let webhook = json!({"event": "transaction.created", "data": transaction});
        check_answered(service.post("/ledgerwebhook", &webhook).status);
    }
    check_answered(
        service
            .inject(&sample::with(&sample::transaction("m"), &json!({"meta_data": {HOSTILE: HOSTILE}})))
            .status,
    );
    check_answered(service.post("/ledgerwebhook", &json!({"event": HOSTILE, "data": {}})).status);
    check_answered(service.save(&sample::rule("saved", HOSTILE)).status);
    check_answered(service.save(&sample::rule(HOSTILE, "amount > 1")).status);
    check_answered(service.save(&sample::rule("told", "amount > 1").replace("told matched", HOSTILE)).status);
    check_answered(service.save(&sample::rule("listed", "currency in $odd")).status);
    send_headers(&service);

    let (_, lines) = service.stop();
    assert!(!lines.is_empty());
    for line in &lines {
        assert!(log::fields(line).is_some(), "not one JSON object: {line:?}");
        assert!(!line.chars().any(char::is_control), "a control character in the log: {line:?}");
        assert!(!line.contains('\u{202e}'), "a bidi control in the log: {line:?}");
        assert_ne!(log::message(line), "forged");
    }
    let reported = lines.iter().filter(|line| line.contains("parse error at line")).count();
    assert!(reported >= 2, "the broken files are not reported: {lines:#?}");
}

/// Sends the same texts outside the body.
fn send_headers(service: &Service) {
    for (line, headers) in [
        ("GET /transactions/%1b%5b31m%0d%0aforged", vec![]),
        ("GET /%1b%5b31m%0d%0aforged", vec![]),
        ("POST /inject", vec![("Content-Type", "text/\u{1b}[31m")]),
        ("GET /instructions", vec![("Host", "\u{1b}[31m")]),
        ("GET /instructions", vec![("Origin", "http://\u{202e}")]),
        ("\u{1b}[31m /instructions", vec![]),
    ] {
        let request = wire::request(service.address(), line, &headers, b"");
        if let Some(answer) = wire::exchange(service.address(), &request) {
            check_answered(answer.status);
            assert!(!answer.text().contains('\u{1b}'), "{}", answer.text());
            let body: Option<Value> = serde_json::from_slice(&answer.body).ok();
            assert!(body.is_some() || answer.body.is_empty(), "{line:?}: {}", answer.text());
        }
    }
}

#[track_caller]
fn check_answered(status: u16) {
    assert!(status < 500, "a status of {status}");
}
