//! Upload and download of modules.

use axum::body::Bytes;
use tollgate_guest_abi::limits::MODULE_BYTES_MAX;

use super::*;

const WASM: (&str, &str) = ("content-type", "application/wasm");
const QUERY: &str =
    "name=above&verdict=review&score=0.5&reason=above&needs=%7B%22fields%22:%5B%22amount%22%5D%7D";

fn module() -> Vec<u8> {
    let text = r#"(module
      (import "tollgate" "number" (func $number (param i32) (result f64)))
      (func (export "evaluate") (result i64)
        (i64.extend_i32_u (f64.gt (call $number (i32.const 0)) (f64.const 10)))))"#;
    wat::parse_str(text).unwrap()
}

fn upload(fixture: &Fixture, query: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> FullResponse {
    fixture.send("POST", &format!("/instructions/wasm?{query}"), headers, body)
}

#[test]
fn a_module_is_answered_as_an_instruction_and_read_back_to_the_byte() {
    let fixture = Fixture::new();
    let saved = upload(&fixture, QUERY, &[WASM], module());
    assert_eq!(saved.status, StatusCode::CREATED, "{}", String::from_utf8_lossy(&saved.body));
    check_surroundings(&saved);
    let saved = saved.json();
    assert_eq!((&saved["script"], &saved["rule"]), (&Value::Null, &Value::Null));
    assert_eq!(saved["source"], serde_json::json!({ "kind": "upload" }));
    let names: Vec<String> = saved.as_object().unwrap().keys().cloned().collect();
    assert_eq!(document::properties_of("Instruction"), names);
    let answer = fixture.get(&format!("/instructions/{}/module", saved["id"]));
    check_surroundings(&answer);
    assert_eq!((answer.status, answer.header("content-type")), (StatusCode::OK, "application/wasm"));
    assert!(answer.body.starts_with(&module()) && answer.body.len() > module().len());
    assert_eq!(answer.body.len(), saved["module"]["bytes"]);
    assert_eq!(answer.header("etag"), format!("\"{}\"", saved["module"]["sha256"].as_str().unwrap()));
    assert_eq!(answer.header("content-disposition"), "attachment; filename=\"above.wasm\"");
}

#[test]
fn there_is_no_module_where_there_is_no_instruction() {
    let fixture = Fixture::new();
    for id in ["1", "01", "x", "-1"] {
        check_error(&fixture.get(&format!("/instructions/{id}/module")), "instruction_not_found");
    }
}

#[test]
fn a_body_that_is_no_module_is_refused_with_every_failed_check() {
    let fixture = Fixture::new();
    for (query, body) in [("", &b""[..]), ("", b"no module"), (QUERY, b"\0asm"), ("verdict=review", b"\0asm")]
    {
        let answer = upload(&fixture, query, &[WASM], body.to_vec());
        check_error(&answer, "module_refused");
        let checks = answer.json()["checks"].clone();
        let checks = checks.as_array().unwrap();
        assert!(!checks.is_empty());
        for check in checks {
            let names: Vec<String> = check.as_object().unwrap().keys().cloned().collect();
            assert_eq!(document::properties_of("FailedCheck"), names);
            assert!(check["check"].is_string() && check["message"].is_string(), "{check}");
            assert!(check["offset"].is_null() || check["offset"].is_u64(), "{check}");
        }
    }
    let missing = upload(&fixture, "verdict=review", &[WASM], module()).json();
    assert_eq!(missing["checks"].as_array().map(Vec::len), Some(3), "{missing}");
}

#[test]
fn only_whole_modules_of_the_right_type_and_size_are_read() {
    let fixture = Fixture::new();
    for media_type in
        ["", "application/json", "text/plain", "application/octet-stream", "multipart/form-data"]
    {
        check_error(
            &upload(&fixture, QUERY, &[("content-type", media_type)], module()),
            "unsupported_media_type",
        );
    }
    let gzip = ("content-encoding", "gzip");
    check_error(&upload(&fixture, QUERY, &[WASM, gzip], module()), "unsupported_media_type");
    check_error(&upload(&fixture, "", &[WASM], vec![0; MODULE_BYTES_MAX + 1]), "body_too_large");
    check_error(&upload(&fixture, "", &[WASM], vec![0; MODULE_BYTES_MAX]), "module_refused");
    let pieces = in_pieces(vec![0; MODULE_BYTES_MAX], 2);
    check_error(&upload(&fixture, "", &[WASM], pieces), "body_too_large");
    let foreign = ("origin", "https://elsewhere.example");
    check_error(&upload(&fixture, QUERY, &[WASM, foreign], module()), "origin_not_allowed");
    let answer = fixture.get("/instructions/wasm");
    check_error(&answer, "method_not_allowed");
}

/// Builds a body without an announced length.
fn in_pieces(piece: Vec<u8>, n_pieces: usize) -> Body {
    let pieces = (0..n_pieces).map(move |_| Ok::<_, std::io::Error>(Bytes::from(piece.clone())));
    Body::from_stream(futures_util::stream::iter(pieces))
}

#[test]
fn a_taken_name_is_a_conflict() {
    let fixture = Fixture::new();
    assert_eq!(upload(&fixture, QUERY, &[WASM], module()).status, StatusCode::CREATED);
    check_error(&upload(&fixture, QUERY, &[WASM], module()), "name_taken");
}
