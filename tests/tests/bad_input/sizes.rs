//! Bodies at, above and far above their limits.

use std::thread;

use tollgate_tests::{Answer, Service, wire};

use super::{check_refused, check_unharmed, service};

const KIB: usize = 1024;
const ROUTES: [(&str, usize); 3] =
    [("/inject", 64 * KIB), ("/ledgerwebhook", 256 * KIB), ("/compile-and-save-instruction", 128 * KIB)];
const JSON: (&str, &str) = ("Content-Type", "application/json");

#[test]
fn a_body_up_to_its_limit_is_read_and_one_byte_more_is_not() {
    let service = service();
    let head =
        r#"{"transaction_id":"large","amount":1,"currency":"XTS","reference":"r","meta_data":{"text":""#;
    let body = |n_bytes: usize| format!("{head}{}\"}}}}", "x".repeat(n_bytes - head.len() - 3));
    check_refused(
        "one byte more",
        &post(&service, "/inject", body(64 * KIB + 1).as_bytes()),
        413,
        "body_too_large",
    );
    assert_eq!(service.transaction("large").status, 404);
    assert_eq!(service.try_post("/inject", body(64 * KIB).as_bytes()).unwrap().status, 200);
    assert_eq!(service.transaction("large").status, 200);
    for (path, n_bytes_max) in ROUTES {
        let answer = service.try_post(path, "x".repeat(n_bytes_max).as_bytes()).unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (400, "malformed_json"), "{path}");
        let answer = post(&service, path, "x".repeat(n_bytes_max + 1).as_bytes());
        check_refused(path, &answer, 413, "body_too_large");
    }
    check_unharmed(&service);
}

#[test]
fn a_body_that_announces_10_mb_is_refused_before_it_is_sent() {
    let service = service();
    for (path, _) in ROUTES {
        let headers = [JSON, ("Content-Length", "10000000")];
        let request = wire::request(service.address(), &format!("POST {path}"), &headers, b"{");
        let answer =
            wire::exchange(service.address(), &request).expect("an answer while the body is on its way");
        check_refused(path, &answer, 413, "body_too_large");
    }
    check_unharmed(&service);
}

#[test]
fn an_endless_body_is_refused_at_its_limit() {
    let service = service();
    for (path, n_bytes_max) in ROUTES {
        let headers = [JSON, ("Transfer-Encoding", "chunked")];
        let mut request = wire::request(service.address(), &format!("POST {path}"), &headers, b"");
        for _ in 0..n_bytes_max / KIB + 1 {
            request.extend_from_slice(b"400\r\n");
            request.extend_from_slice(&[b' '; KIB]);
            request.extend_from_slice(b"\r\n");
        }
        // There is no last chunk, so waiting for the end would take forever.
        let answer = wire::exchange(service.address(), &request).expect("an answer to a body without an end");
        check_refused(path, &answer, 413, "body_too_large");
    }
    check_unharmed(&service);
}

#[test]
fn many_large_bodies_at_once_leave_the_service_small() {
    let service = service();
    let before = resident_kib(&service);
    let mut request =
        wire::request(service.address(), "POST /inject", &[JSON, ("Content-Length", "10000000")], b"");
    request.resize(request.len() + 10_000_000, b' ');
    thread::scope(|scope| {
        for _ in 0..20 {
            // The response may be lost when the service closes on a client that is still sending.
            scope.spawn(|| {
                if let Some(answer) = wire::exchange(service.address(), &request) {
                    check_refused("10 MB", &answer, 413, "body_too_large");
                }
            });
        }
    });
    let grown = resident_kib(&service).saturating_sub(before);
    assert!(grown < 32 * KIB, "grown by {grown} KiB over 200 MB of refused bodies");
    check_unharmed(&service);
}

/// Sends the whole body before it reads the response, as simple clients do.
#[track_caller]
fn post(service: &Service, path: &str, body: &[u8]) -> Answer {
    let request = wire::request(service.address(), &format!("POST {path}"), &[JSON], body);
    wire::exchange(service.address(), &request)
        .expect("a client that sends all of its body gets to read the answer")
}

/// Returns the resident memory of the service.
fn resident_kib(service: &Service) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
