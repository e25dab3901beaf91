//! Slow, excessive, vanished or invalid clients: the service limits how long it waits for them, and stops in time.

mod caps;
mod crowds;
mod leaving;
mod long_answers;
mod stopping;

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tollgate_tests::{Service, sample, wire};

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// Serialises the suites that need more connections than one process may have.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the bytes of an inject request.
fn inject(service: &Service, transaction: &Value) -> Vec<u8> {
    wire::request(service.address(), "POST /inject", &[JSON], transaction.to_string().as_bytes())
}

fn get(service: &Service, path: &str) -> Vec<u8> {
    wire::request(service.address(), &format!("GET {path}"), &[], &[])
}

/// Returns a number of `/metrics`.
fn number(service: &Service, name: &str) -> u64 {
    let page = service.get("/metrics").text();
    let line = page.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|value| value.trim().parse().ok());
    number.unwrap_or_else(|| panic!("no number {name} in\n{page}"))
}

/// Checks that the service still evaluates.
#[track_caller]
fn check_alive(service: &Service, id: &str) {
    assert_eq!(service.inject(&sample::transaction(id)).status, 200);
    assert_eq!(service.get("/readyz").status, 200);
}

#[test]
fn nothing_but_http_1_is_spoken() {
    let service = Service::start(&tollgate_tests::Home::new());
    let address = service.address();
    for preface in
        ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"]
    {
        let answer = wire::exchange(address, preface.as_bytes());
        assert!(answer.as_ref().is_none_or(|answer| answer.status == 400), "{answer:?}");
    }
    let upgrade = [
        ("Connection", "Upgrade, HTTP2-Settings"),
        ("Upgrade", "h2c"),
        ("HTTP2-Settings", "AAMAAABkAAQAAP__"),
    ];
    let request = wire::request(address, "GET /healthz", &upgrade, &[]);
    assert_eq!(wire::exchange(address, &request).unwrap().status, 200, "an offer is not taken");
    check_alive(&service, "after");
}

#[test]
fn a_head_has_its_limits() {
    let service = Service::start(&tollgate_tests::Home::new());
    let address = service.address();
    let long = "x".repeat(20_000);
    let line = format!("GET /{long}");
    let answer = wire::exchange(address, &wire::request(address, &line, &[], &[])).unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (414, "url_too_long"));
    // Bytes the client is still sending do not prevent the response.
    let header = "x".repeat(40_000);
    let answer =
        wire::exchange(address, &wire::request(address, "GET /healthz", &[("X-Long", &header)], &[]));
    assert_eq!(answer.unwrap().status, 431);
    let names: Vec<String> = (0..101).map(|n| format!("X-{n}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    let answer = wire::exchange(address, &wire::request(address, "GET /healthz", &many, &[]));
    assert_eq!(answer.unwrap().status, 431);
    check_alive(&service, "after");
}
