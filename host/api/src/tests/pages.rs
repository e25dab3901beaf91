//! Pages for operators and readers of the documentation.

use super::*;

#[test]
fn a_process_that_answers_is_alive() {
    let fixture = Fixture::new();
    let answer = fixture.get("/healthz");
    assert_eq!((answer.status, answer.json()), (StatusCode::OK, serde_json::json!({ "status": "ok" })));
}

#[test]
fn readiness_is_what_the_service_says_of_itself() {
    let fixture = Fixture::new();
    for (status, word, code) in [
        (ReadyStatus::Ready, "ready", StatusCode::OK),
        (ReadyStatus::Starting, "starting", StatusCode::SERVICE_UNAVAILABLE),
        (ReadyStatus::Stopping, "stopping", StatusCode::SERVICE_UNAVAILABLE),
        (ReadyStatus::Unavailable, "unavailable", StatusCode::SERVICE_UNAVAILABLE),
    ] {
        let state = ApiState::new(ApiDeps { readiness: ready(status), ..ApiDeps::clone(&fixture.state) });
        let answer = fixture.answer_of(router(state), request("GET", "/readyz", &[], ""));
        assert_eq!(answer.status, code);
        assert_eq!(answer.json(), serde_json::json!({ "status": word, "checks": { "store": "fine" } }));
    }
}

#[test]
fn the_numbers_are_openmetrics() {
    let fixture = Fixture::new();
    let answer = fixture.get("/metrics");
    assert_eq!(answer.header("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let page = String::from_utf8(answer.body).unwrap();
    assert!(page.contains("tollgate_build_info{version="), "{page}");
    assert!(page.ends_with("# EOF\n"));
}

#[test]
fn the_page_comes_out_of_the_binary_and_reads_the_document() {
    let fixture = Fixture::new();
    let page = fixture.get("/docs/");
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.header("content-type").starts_with("text/html"));
    assert!(page.header("content-security-policy").starts_with("default-src 'self';"));
    let html = String::from_utf8(page.body).unwrap();
    assert!(!html.contains("http://") && !html.contains("https://"), "nothing comes from elsewhere: {html}");
    let files: Vec<&str> = html.split('"').filter_map(|text| text.strip_prefix("./")).collect();
    assert!(files.len() > 3, "{html}");
    for file in files {
        let answer = fixture.get(&format!("/docs/{file}"));
        assert_eq!(answer.status, StatusCode::OK, "{file}");
    }
    let initializer = fixture.get("/docs/swagger-initializer.js");
    let script = String::from_utf8(initializer.body).unwrap();
    assert!(
        script.contains("\"../openapi.json\"") && script.contains("\"validatorUrl\": \"none\""),
        "{script}"
    );
}

#[test]
fn the_page_is_found_without_its_slash() {
    let fixture = Fixture::new();
    let answer = fixture.get("/docs");
    assert_eq!((answer.status, answer.header("location")), (StatusCode::PERMANENT_REDIRECT, "docs/"));
}
