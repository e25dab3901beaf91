//! Host and origin checks, and the headers of every response.

use axum::http::Version;
use axum::routing::get;

use super::*;

#[track_caller]
fn check_host(fixture: &Fixture, host: &str, code: Option<&str>) {
    let answer = fixture.send("GET", "/healthz", &[("host", host)], "");
    match code {
        Some(code) => check_error(&answer, code),
        None => assert_eq!(answer.status, StatusCode::OK, "{host}"),
    }
}

#[test]
fn the_service_answers_as_localhost_as_an_address_and_under_configured_names() {
    let fixture = Fixture::new();
    for host in [
        "localhost",
        "LOCALHOST:80",
        "localhost:8081",
        "127.0.0.1",
        "127.0.0.1:8081",
        "[::1]",
        "[::1]:8081",
        "192.0.2.7:1",
        "[2001:db8::1]",
        "gate.example",
        "GATE.example:443",
    ] {
        check_host(&fixture, host, None);
    }
}

#[test]
fn names_nobody_gave_it_are_refused() {
    let fixture = Fixture::new();
    for host in [
        "evil.example",
        "evil.example:8081",
        "localhost.evil.example",
        "gate.example.evil",
        "xgate.example",
        "0x7f.1",
        "2130706433",
        "127.1",
        "localhost.",
        "1.2.3.4.5",
    ] {
        check_host(&fixture, host, Some("host_not_allowed"));
    }
}

#[test]
fn an_invalid_host_header_is_refused() {
    let fixture = Fixture::new();
    for host in [
        "",
        ":8081",
        "localhost:x",
        "localhost:65536",
        "localhost:80:80",
        "::1",
        "[::1",
        "[::1]x",
        "[localhost]",
        "user@localhost",
        "local host",
        "localhost/",
        "[]",
        "localhost:-1",
        "*",
    ] {
        check_host(&fixture, host, Some("invalid_host"));
    }
}

#[test]
fn two_hosts_are_none() {
    let fixture = Fixture::new();
    let mut twice = request("GET", "/healthz", &[], "");
    twice.headers_mut().append("host", "localhost".parse().unwrap());
    check_error(&fixture.answer_of(fixture.router(), twice), "invalid_host");
}

#[test]
fn a_target_that_names_another_host_is_refused() {
    let fixture = Fixture::new();
    check_error(&fixture.send("GET", "http://evil.example/healthz", &[], ""), "host_not_allowed");
    assert_eq!(fixture.send("GET", "http://localhost:8081/healthz", &[], "").status, StatusCode::OK);
}

#[test]
fn before_http_1_1_a_request_could_do_without_a_host() {
    let fixture = Fixture::new();
    let mut old = request("GET", "/healthz", &[("host", "")], "");
    *old.version_mut() = Version::HTTP_10;
    assert_eq!(fixture.answer_of(fixture.router(), old).status, StatusCode::OK);
}

/// Checks an origin. A refused change never reaches a parser; an accepted one is refused there.
#[track_caller]
fn check_origin(fixture: &Fixture, host: &str, origin: &str, admitted: bool) {
    let headers = [("host", host), ("origin", origin)];
    let code = if admitted { "malformed_json" } else { "origin_not_allowed" };
    check_error(&fixture.send("POST", "/inject", &headers, "no json"), code);
    let deleted = fixture.send("DELETE", "/instructions/x", &headers, "");
    check_error(&deleted, if admitted { "instruction_not_found" } else { "origin_not_allowed" });
    let looked = fixture.send("GET", "/healthz", &headers, "");
    assert_eq!(looked.status, StatusCode::OK, "looking is free");
}

#[test]
fn pages_of_the_same_host_of_this_machine_and_of_configured_origins_may_ask_for_changes() {
    let fixture = Fixture::new();
    for (host, origin) in [
        ("localhost:8081", ""),
        ("localhost:8081", "http://localhost:8081"),
        ("localhost:8081", "http://LOCALHOST:3000"),
        ("localhost:8081", "http://127.0.0.1:3000"),
        ("localhost:8081", "http://[::1]"),
        ("192.0.2.7:8081", "http://192.0.2.7:8081"),
        ("localhost:8081", "https://gate.example"),
        ("localhost:8081", "https://desk.example:8443"),
        ("localhost:8081", "HTTPS://Desk.example:8443"),
    ] {
        check_origin(&fixture, host, origin, true);
    }
}

#[test]
fn pages_of_other_origins_may_not() {
    let fixture = Fixture::new();
    for origin in [
        "null",
        "http://evil.example",
        "https://localhost.evil.example",
        "http://192.0.2.9",
        "https://desk.example",
        "https://desk.example:8444",
        "http://desk.example:8443",
        "file://",
        "http://",
        "localhost",
        "http://localhost/x",
        "chrome-extension://localhost",
        "http://localhost@evil.example",
        "x",
    ] {
        check_origin(&fixture, "localhost:8081", origin, false);
    }
}

#[test]
fn answers_are_neither_kept_nor_guessed_at() {
    let fixture = Fixture::new();
    for path in
        ["/healthz", "/readyz", "/metrics", "/openapi.json", "/instructions", "/nothing", "/instructions/9"]
    {
        let answer = fixture.send("GET", path, &[], "");
        check_surroundings(&answer);
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
    }
}

#[test]
fn a_head_is_a_get_without_its_body() {
    let fixture = Fixture::new();
    let (get, head) = (fixture.send("GET", "/healthz", &[], ""), fixture.send("HEAD", "/healthz", &[], ""));
    assert_eq!((head.status, head.body.len()), (StatusCode::OK, 0));
    assert_eq!(head.header("content-length"), get.body.len().to_string());
}

#[test]
fn a_refusal_that_leaves_the_body_unread_closes_the_connection() {
    let fixture = Fixture::new();
    let large = " ".repeat(64 * 1024 + 1);
    for (path, media_type, body, connection) in [
        ("/inject", "application/json", large.as_str(), "close"),
        ("/inject", "text/plain", "{}", "close"),
        ("/nothing", "application/json", "{}", "close"),
        ("/nothing", "application/json", "", ""),
        ("/inject", "application/json", "{}", ""),
    ] {
        let answer = fixture.send("POST", path, &[("content-type", media_type)], body.to_owned());
        assert_eq!(answer.header("connection"), connection, "{path} {media_type} {}", body.len());
    }
}

async fn dies() -> &'static str {
    panic!("the secret of the house")
}

#[test]
fn a_panic_is_answered_without_its_words_and_counted() {
    let fixture = Fixture::new();
    let routes = Router::new().route("/dies", get(dies));
    let router = as_router(ApiService::around(routes, fixture.state.clone()));
    let answer = fixture.answer_of(router.clone(), request("GET", "/dies", &[], ""));
    check_error(&answer, "internal_error");
    assert!(!String::from_utf8_lossy(&answer.body).contains("secret"));
    check_error(&fixture.answer_of(router, request("GET", "/nothing", &[], "")), "not_found");
    let page = fixture.state.metrics.encode().unwrap();
    assert!(page.contains("tollgate_refusals_total{code=\"internal_error\"} 1"), "{page}");
    assert!(page.contains("tollgate_refusals_total{code=\"not_found\"} 1"), "{page}");
}
