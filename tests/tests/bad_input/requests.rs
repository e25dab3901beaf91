//! Methods, paths, hosts, origins and content types.

use tollgate_tests::{Answer, Service, wire};

use super::{check_refused, check_unharmed, service};

const TRANSACTION: &[u8] = br#"{"transaction_id":"t","amount":1,"currency":"EUR","reference":"r"}"#;
const JSON: (&str, &str) = ("Content-Type", "application/json");

#[test]
fn only_json_is_taken() {
    let service = service();
    for path in ["/inject", "/ledgerwebhook", "/compile-and-save-instruction"] {
        for kind in [
            None,
            Some("text/plain"),
            Some("application/x-www-form-urlencoded"),
            Some("multipart/form-data; boundary=x"),
            Some("application/xml"),
            Some("application/jsonp"),
            Some("application/octet-stream"),
            Some("json"),
            Some(""),
        ] {
            let headers: Vec<(&str, &str)> = kind.map(|kind| ("Content-Type", kind)).into_iter().collect();
            let answer = send(&service, &format!("POST {path}"), &headers, TRANSACTION);
            if kind.is_none() && path == "/ledgerwebhook" {
                // An event without a media type is JSON; this one is no event.
                check_refused(path, &answer, 400, "missing_field");
                continue;
            }
            check_refused(&format!("{path}, {kind:?}"), &answer, 415, "unsupported_media_type");
        }
        for encoding in ["gzip", "deflate", "br", "zstd", "identity, gzip"] {
            let answer =
                send(&service, &format!("POST {path}"), &[JSON, ("Content-Encoding", encoding)], TRANSACTION);
            check_refused(&format!("{path}, {encoding}"), &answer, 415, "unsupported_media_type");
        }
    }
    assert_eq!(service.transaction("t").status, 404);
    check_unharmed(&service);
    for headers in [
        vec![("Content-Type", "application/json; charset=utf-8")],
        vec![("Content-Type", "application/json;charset=UTF8")],
        vec![("Content-Type", "application/json; charset=\"utf8\"")],
        vec![("content-type", "Application/JSON")],
        vec![JSON, ("Content-Encoding", "identity")],
    ] {
        assert_eq!(send(&service, "POST /inject", &headers, TRANSACTION).status, 200, "{headers:?}");
    }
}

#[test]
fn a_web_page_elsewhere_cannot_speak_to_the_service() {
    let service = service();
    let port = service.address().rsplit_once(':').unwrap().1.to_owned();
    let foreign_port = format!("evil.example:{port}");
    for host in ["evil.example", &foreign_port, "127.0.0.1.evil.example", "localhost.evil.example"] {
        for (line, body) in
            [("POST /inject", TRANSACTION), ("GET /instructions", &[]), ("GET /transactions/t", &[])]
        {
            let answer = send(&service, line, &[JSON, ("Host", host)], body);
            check_refused(&format!("{line}, host {host}"), &answer, 421, "host_not_allowed");
            assert!(answer.text().contains("SERVICE_ALLOWED_HOSTS"), "{}", answer.text());
        }
    }
    for origin in
        ["http://evil.example", "https://evil.example:8081", "null", "http://localhost.evil.example"]
    {
        for (line, body) in [("POST /inject", TRANSACTION), ("DELETE /instructions/1", &[])] {
            let answer = send(&service, line, &[JSON, ("Origin", origin)], body);
            check_refused(&format!("{line}, origin {origin}"), &answer, 403, "origin_not_allowed");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    assert_eq!(service.transaction("t").status, 404);
    assert_eq!(service.get("/instructions").json().as_array().map(Vec::len), Some(2), "nothing was deleted");
    check_unharmed(&service);
    for host in [format!("localhost:{port}"), format!("127.0.0.1:{port}"), "localhost".to_owned()] {
        assert_eq!(
            send(&service, "POST /inject", &[JSON, ("Host", &host)], TRANSACTION).status,
            200,
            "{host}"
        );
    }
}

#[test]
fn a_wrong_method_is_answered_with_the_right_one() {
    let service = service();
    let routes: [(&str, &[&str]); 10] = [
        ("/inject", &["POST"]),
        ("/ledgerwebhook", &["POST"]),
        ("/compile-and-save-instruction", &["POST"]),
        ("/transactions/t", &["GET"]),
        ("/instructions", &["GET"]),
        ("/instructions/1", &["GET", "PUT", "DELETE"]),
        ("/healthz", &["GET"]),
        ("/readyz", &["GET"]),
        ("/metrics", &["GET"]),
        ("/openapi.json", &["GET"]),
    ];
    for (path, allowed) in routes {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"] {
            if allowed.contains(&method) {
                continue;
            }
            let body = if method == "GET" { &[] } else { TRANSACTION };
            let answer = send(&service, &format!("{method} {path}"), &[JSON], body);
            check_refused(&format!("{method} {path}"), &answer, 405, "method_not_allowed");
            let reported = answer.header("allow").unwrap_or_default();
            for allowed in allowed {
                assert!(
                    reported.split(',').any(|method| method.trim() == *allowed),
                    "{method} {path}: allow: {reported}"
                );
            }
        }
    }
    check_unharmed(&service);
}

#[test]
fn unknown_paths_are_not_found() {
    let service = service();
    for path in [
        "/",
        "/inject/",
        "//inject",
        "/INJECT",
        "/inject/../inject",
        "/inject%00",
        "/inject.",
        "/%69nject/x",
        "/transactions",
        "/transactions/",
        "/transactions/t/x",
        "/instructions/",
        "/api/inject",
        "/.env",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
    ] {
        check_refused(path, &send(&service, &format!("GET {path}"), &[], &[]), 404, "not_found");
    }
    check_unharmed(&service);
}

#[test]
fn ids_in_paths_that_name_nothing_are_not_found() {
    let service = service();
    let long = format!("/transactions/{}", "x".repeat(300));
    for path in [
        "/transactions/unknown",
        "/transactions/%00",
        "/transactions/%1b%5b31m",
        "/transactions/%0d%0aSet-Cookie:a",
        "/transactions/%ff%fe",
        "/transactions/%E2%80%AE",
        "/transactions/'%20OR%201=1--",
        "/transactions/..%2f..%2fetc%2fpasswd",
        "/transactions/%",
        &long,
        "/instructions/999999",
        "/instructions/0",
        "/instructions/-1",
        "/instructions/abc",
        "/instructions/1e3",
        "/instructions/99999999999999999999999999",
        "/instructions/%00",
    ] {
        let answer = send(&service, &format!("GET {path}"), &[], &[]);
        assert!([400, 404].contains(&answer.status), "{path}: {} {}", answer.status, answer.text());
        assert!(!answer.code().is_empty());
        assert!(answer.headers.iter().all(|(name, _)| name != "set-cookie"), "{path}");
    }
    check_refused("an id", &service.transaction("unknown"), 404, "transaction_not_found");
    check_refused("an id", &service.get("/instructions/999999"), 404, "instruction_not_found");
    check_refused("an id", &service.delete("/instructions/999999"), 404, "instruction_not_found");
    check_unharmed(&service);
}

#[test]
fn a_malformed_http_request_is_refused_or_closed() {
    let service = service();
    let long_path = format!("GET /{} HTTP/1.1\r\nHost: {}\r\n\r\n", "x".repeat(100_000), service.address());
    let address = service.address();
    for bytes in [
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\0\0\0\0\r\n\r\n",
        "POST /inject HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: abc\r\n\r\n{}",
        "POST /inject HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: -1\r\n\r\n{}",
        "POST /inject HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        "POST /inject HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        &long_path,
    ] {
        if let Some(answer) = wire::exchange(address, bytes.as_bytes()) {
            assert!(
                (400..500).contains(&answer.status) || answer.status == 505,
                "{bytes:.60}: {}",
                answer.status
            );
        }
    }
    check_unharmed(&service);
}

#[track_caller]
fn send(service: &Service, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let request = wire::request(service.address(), line, headers, body);
    wire::exchange(service.address(), &request).unwrap_or_else(|| panic!("{line} {headers:?}: no answer"))
}
