#![cfg(test)]
//! Input that is wrong, hostile or merely odd: a clear refusal or plain data; never a 500, never half a transaction.

#[path = "bad_input/clients.rs"]
mod clients;
#[path = "bad_input/identifiers.rs"]
mod identifiers;
#[path = "bad_input/logs.rs"]
mod logs;
#[path = "bad_input/requests.rs"]
mod requests;
#[path = "bad_input/scripts.rs"]
mod scripts;
#[path = "bad_input/serialisers.rs"]
mod serialisers;
#[path = "bad_input/sizes.rs"]
mod sizes;
#[path = "bad_input/transactions.rs"]
mod transactions;

use serde_json::json;
use tollgate_tests::{Answer, Home, Service, sample};

/// One rule that blocks everything, so that a verdict that input talked its way out of would show; and one that sees
/// whether anything of the refused input stayed behind.
fn service() -> Service {
    let rules = [
        ("everything.ws", sample::rule("everything", "amount >= 0")),
        ("remains.ws", sample::rule("remains", r#"count(when currency != "XTS", "P400D") >= 1"#)),
    ];
    Service::start(&Home::with_rules(&rules))
}

/// A refusal as it should be.
#[track_caller]
fn check_refused(what: &str, answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, answer.code().as_str()), (status, code), "{what}: {}", answer.text());
    let is_json = answer.header("content-type").is_some_and(|kind| kind.starts_with("application/json"));
    assert!(is_json, "{what}: an error that is not declared as JSON");
}

/// The service goes on judging, and nothing of what was refused is in its history.
#[track_caller]
fn check_unharmed(service: &Service) {
    let probe = sample::with(&sample::transaction("probe"), &json!({"currency": "XTS"}));
    assert_eq!(service.inject(&probe).triggered(), ["everything"]);
    assert_eq!(service.get("/readyz").status, 200);
}
