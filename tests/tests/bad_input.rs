//! Invalid, hostile or unusual input gives a clear error or is plain data; never a 500, never a partial transaction.

mod clients;
mod identifiers;
mod logs;
mod long_numbers;
mod requests;
mod scripts;
mod serialisers;
mod sizes;
mod transactions;

use serde_json::json;
use tollgate_tests::{Answer, Home, Service, sample};

/// One rule blocks everything, which reveals input that bypasses a verdict. Another reveals whether rejected input
/// stayed in the history.
fn service() -> Service {
    let rules = [
        ("everything.ws", sample::rule("everything", "amount >= 0")),
        ("remains.ws", sample::rule("remains", r#"count(when currency != "XTS", "P400D") >= 1"#)),
    ];
    Service::start(&Home::with_rules(&rules))
}

/// Checks status, code and form of an error response.
#[track_caller]
fn check_refused(what: &str, answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, answer.code().as_str()), (status, code), "{what}: {}", answer.text());
    let is_json = answer.header("content-type").is_some_and(|kind| kind.starts_with("application/json"));
    assert!(is_json, "{what}: an error that is not declared as JSON");
}

/// Checks that the service still evaluates and that no rejected input is in its history.
#[track_caller]
fn check_unharmed(service: &Service) {
    let probe = sample::with(&sample::transaction("probe"), &json!({"currency": "XTS"}));
    assert_eq!(service.inject(&probe).triggered(), ["everything"]);
    assert_eq!(service.get("/readyz").status, 200);
}
