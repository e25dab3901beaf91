//! Requests that are refused before evaluation or compilation: method, path, headers and body, then the code.

use super::*;

/// Checks a refusal, and that its route, if there is one, lists its code.
#[track_caller]
fn check(fixture: &Fixture, line: &str, headers: &[(&str, &str)], body: &str, code: &str) {
    let (method, path) = line.split_once(' ').unwrap();
    let answer = fixture.send(method, path, headers, body.to_owned());
    check_error(&answer, code);
    let listed: Vec<&str> = routes::routes()
        .iter()
        .filter(|route| route.method.as_str() == method && leads_to(&route.path, path))
        .flat_map(|route| route.errors().into_iter().map(ErrorCode::as_str).collect::<Vec<_>>())
        .collect();
    assert!(listed.is_empty() || listed.contains(&code), "the route of {path} does not list {code}");
}

#[track_caller]
fn check_field(fixture: &Fixture, path: &str, body: &str, code: &str, field: &str) {
    let answer = fixture.send("POST", path, &[], body.to_owned());
    check_error(&answer, code);
    assert_eq!(answer.json()["field"], field);
}

fn leads_to(template: &str, path: &str) -> bool {
    let (template, path) = (template.split('/').collect::<Vec<_>>(), path.split('/').collect::<Vec<_>>());
    template.len() == path.len()
        && template
            .iter()
            .zip(path)
            .all(|(part, given)| (part.starts_with('{') && !given.is_empty()) || *part == given)
}

const GOOD: &str = r#"{"transaction_id": "t", "amount": 1, "currency": "EUR", "reference": "r"}"#;

#[test]
fn paths_that_lead_nowhere_are_not_found() {
    let fixture = Fixture::new();
    check(&fixture, "GET /", &[], "", "not_found");
    for path in [
        "/inject/",
        "//inject",
        "/Inject",
        "/inject/x",
        "/instructions/",
        "/transactions/",
        "/transactions",
        "/transactions/a/b",
        "/docs/x/y",
        "/%69nject",
        "/..%2finject",
        "/inject%00",
        "/openapi",
        "/.env",
    ] {
        check(&fixture, &format!("GET {path}"), &[], "", "not_found");
        check(&fixture, &format!("POST {path}"), &[], GOOD, "not_found");
    }
}

#[test]
fn files_the_page_does_not_have_are_not_found() {
    let fixture = Fixture::new();
    for path in ["/docs/nothing.js", "/docs/..%2f..%2fCargo.toml", "/docs/%2e%2e", "/docs/%ff", "/docs/%00"] {
        check(&fixture, &format!("GET {path}"), &[], "", "not_found");
    }
}

#[test]
fn methods_a_path_is_not_served_for_are_named_with_those_it_is() {
    let fixture = Fixture::new();
    for (method, path, allowed) in [
        ("GET", "/inject", "POST"),
        ("PUT", "/inject", "POST"),
        ("TRACE", "/inject", "POST"),
        ("OPTIONS", "/inject", "POST"),
        ("BREW", "/inject", "POST"),
        ("POST", "/transactions/t", "GET,HEAD"),
        ("POST", "/instructions", "GET,HEAD"),
        ("PATCH", "/instructions/1", "GET,HEAD,PUT,DELETE"),
        ("DELETE", "/healthz", "GET,HEAD"),
        ("GET", "/compile-and-save-instruction", "POST"),
        ("GET", "/ledgerwebhook", "POST"),
    ] {
        check(&fixture, &format!("{method} {path}"), &[], "", "method_not_allowed");
        let answer = fixture.send(method, path, &[], "");
        assert_eq!(answer.header("allow"), allowed, "{method} {path}");
    }
}

#[test]
fn only_plain_json_is_taken() {
    let fixture = Fixture::new();
    for path in ["/inject", "/ledgerwebhook", "/compile-and-save-instruction"] {
        for media_type in [
            "",
            "text/plain",
            "text/json",
            "application/jsonx",
            "application/json-patch+json",
            "json",
            "*/*",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json, text/plain",
            "text/plain; application/json",
            "application/json; charset=utf-16",
            "application/json;charset=\"latin1\"",
        ] {
            // Some ledgers send events without a type.
            if media_type.is_empty() && path == "/ledgerwebhook" {
                continue;
            }
            check(
                &fixture,
                &format!("POST {path}"),
                &[("content-type", media_type)],
                GOOD,
                "unsupported_media_type",
            );
        }
        for encoding in ["gzip", "br", "deflate", "identity, gzip", "x"] {
            check(
                &fixture,
                &format!("POST {path}"),
                &[("content-encoding", encoding)],
                GOOD,
                "unsupported_media_type",
            );
        }
    }
}

#[test]
fn spellings_of_plain_json_reach_the_parser() {
    let fixture = Fixture::new();
    for media_type in [
        "application/json",
        "Application/JSON",
        "application/json;charset=utf-8",
        "application/json ; charset=\"UTF-8\"",
        "application/json; profile=x",
    ] {
        check(&fixture, "POST /inject", &[("content-type", media_type)], "no json", "malformed_json");
    }
    check(&fixture, "POST /inject", &[("content-encoding", "identity")], "no json", "malformed_json");
}

#[test]
fn bodies_that_are_no_json_are_refused_on_every_path() {
    let fixture = Fixture::new();
    let deep = "[".repeat(50_000);
    let digits = format!("{{\"amount\": {}}}", "9".repeat(39));
    for path in ["/inject", "/ledgerwebhook", "/compile-and-save-instruction"] {
        for (body, code) in [
            ("", "malformed_json"),
            ("{", "malformed_json"),
            ("{} {}", "malformed_json"),
            ("{\"amount\": NaN}", "malformed_json"),
            ("{\"amount\": 1e400}", "number_out_of_range"),
            (&digits, "number_out_of_range"),
            ("{\"a\": 1, \"\\u0061\": 2}", "duplicate_key"),
            ("{\"a\": \"\\u0000\"}", "nul_character"),
            (&deep, "malformed_json"),
            ("[]", "not_an_object"),
            ("\"text\"", "not_an_object"),
            ("null", "not_an_object"),
        ] {
            // A long number outside of `data` is nothing to an event.
            let is_of_event = path == "/ledgerwebhook" && code == "number_out_of_range";
            let code = if is_of_event { "missing_field" } else { code };
            check(&fixture, &format!("POST {path}"), &[], body, code);
        }
    }
    let nested = format!("{{\"meta_data\": {}{}}}", "[".repeat(40), "]".repeat(40));
    check(&fixture, "POST /inject", &[], &nested, "too_deep");
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let fixture = Fixture::new();
    let answer = fixture.send("POST", "/inject", &[], b"{\"a\": \"\xff\"}".to_vec());
    check_error(&answer, "invalid_utf8");
}

#[test]
fn a_transaction_that_is_none_is_refused_by_field() {
    let fixture = Fixture::new();
    for (body, code, field) in [
        (r#"{"currency": "EUR", "reference": "r"}"#, "missing_field", "amount"),
        (r#"{"amount": 1, "reference": "r"}"#, "missing_field", "currency"),
        (r#"{"amount": 1, "currency": "EUR", "reference": null}"#, "missing_field", "reference"),
        (r#"{"amount": "1e0", "currency": "EUR", "reference": "r"}"#, "invalid_field", "amount"),
        (
            r#"{"amount": 1, "currency": "EUR", "reference": "r", "created_at": "now"}"#,
            "invalid_field",
            "created_at",
        ),
        (
            r#"{"amount": 1, "currency": "EUR", "reference": "r", "status": "a\nb"}"#,
            "invalid_field",
            "status",
        ),
    ] {
        check_field(&fixture, "/inject", body, code, field);
        check_field(&fixture, "/ledgerwebhook", &envelope(&with_id(body)), code, field);
    }
    let body = r#"{"amount": 1, "currency": "EUR", "reference": "r", "transaction_id": "a\nb"}"#;
    check_field(&fixture, "/inject", body, "invalid_field", "transaction_id");
}

fn envelope(data: &str) -> String {
    format!(r#"{{"event": "transaction.created", "data": {data}, "sent_by": "a ledger"}}"#)
}

/// Adds an id to the transaction unless it has one.
fn with_id(body: &str) -> String {
    if body.contains("transaction_id") {
        body.to_owned()
    } else {
        body.replacen('{', r#"{"transaction_id": "t", "#, 1)
    }
}

#[test]
fn an_envelope_that_is_none_is_refused_by_field() {
    let fixture = Fixture::new();
    for (body, code, field) in [
        (r#"{"data": {}}"#, "missing_field", "event"),
        (r#"{"event": null, "data": {}}"#, "missing_field", "event"),
        (r#"{"event": 1, "data": {}}"#, "invalid_field", "event"),
        (r#"{"event": "transaction.created"}"#, "missing_field", "data"),
        (r#"{"event": "transaction.created", "data": []}"#, "invalid_field", "data"),
        (r#"{"event": "transaction.applied", "data": null}"#, "missing_field", "data"),
        (r#"{"event": "transaction.", "data": {}}"#, "invalid_field", "event"),
        (r#"{"event": "transaction.\u001b[31m", "data": {}}"#, "invalid_field", "event"),
    ] {
        check_field(&fixture, "/ledgerwebhook", body, code, field);
    }
}

#[test]
fn a_script_must_be_a_text() {
    let fixture = Fixture::new();
    for (body, code) in [
        (r"{}", "missing_field"),
        (r#"{"script": null}"#, "missing_field"),
        (r#"{"script": 1}"#, "invalid_field"),
        (r#"{"script": {"rule": "x"}}"#, "invalid_field"),
    ] {
        check_field(&fixture, "/compile-and-save-instruction", body, code, "script");
    }
}

#[test]
fn an_invalid_id_matches_no_instruction() {
    let fixture = Fixture::new();
    for id in ["x", "0x1", "1.0", "+1", "01", "-", "99999999999999999999", "%20", "%ff", "1%00", "null"] {
        check(&fixture, &format!("GET /instructions/{id}"), &[], "", "instruction_not_found");
        check(&fixture, &format!("DELETE /instructions/{id}"), &[], "", "instruction_not_found");
    }
}

#[test]
fn an_id_that_is_no_text_names_no_transaction() {
    let fixture = Fixture::new();
    check(&fixture, "GET /transactions/%ff", &[], "", "transaction_not_found");
}

#[test]
fn a_url_has_a_longest_length() {
    let fixture = Fixture::new();
    let longest = format!("/{}", "a".repeat(8 * 1024 - 1));
    check(&fixture, &format!("GET {longest}"), &[], "", "not_found");
    check(&fixture, &format!("GET {longest}a"), &[], "", "url_too_long");
    check(&fixture, &format!("POST /inject?{longest}"), &[], GOOD, "url_too_long");
}
