//! Scripts that attack the compiler or do not compile.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_tests::{Service, proof, sample};

use super::{check_refused, check_unharmed, service};

/// Time limit for a diagnostic; an unoptimised compiler takes longer.
const QUICK: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1_000 } else { 50 });
/// Number of attempts; on a busy machine one of them is undisturbed.
const N_ATTEMPTS: usize = 5;

#[test]
fn hostile_scripts_are_refused_quickly_with_a_position() {
    let service = service();
    let parentheses = |n: usize| rule(&format!("{}amount > 1{}", "(".repeat(n), ")".repeat(n)));
    let open = |n: usize| rule(&"(".repeat(n));
    let long_and = rule(&vec!["amount > 1"; 5_000].join(" and "));
    let list = rule(&format!("currency in ({})", vec!["\"EUR\""; 6_000].join(",")));
    let cases = [
        ("100,000 parentheses", open(100_000)),
        ("30,000 parentheses", parentheses(30_000)),
        ("65 parentheses", parentheses(65)),
        ("10,000 signs", rule(&format!("amount > {}1", "-".repeat(10_000)))),
        ("10,000 times not", rule(&format!("{}amount > 1", "not (".repeat(10_000)))),
        ("5,000 conditions", long_and),
        ("6,000 items", list),
        ("an unterminated string", "rule a { description \"never ends".to_owned()),
        ("a missing brace", sample::rule("a", "amount > 1").trim_end().trim_end_matches('}').to_owned()),
        ("bidi control", rule("amount > 1 \u{202e} and amount > 2")),
        ("zero width", rule("amount > 1\u{200b}")),
        ("control", rule("amount > 1 \u{1b}[31m")),
        ("nothing", String::new()),
        ("blanks", " ".repeat(60_000)),
        ("comments", "# nothing\n".repeat(6_000)),
        ("not a rule", "SELECT * FROM rules; --".to_owned()),
        ("two rules", sample::rule("a", "amount > 1") + &sample::rule("b", "amount > 1")),
        ("a look-around", rule(r#"description regex "(?=a)""#)),
        ("a huge pattern", rule(r#"description regex "(?:a{1000}){1000}""#)),
        ("an enormous window", rule(r#"count(when amount > 1, "P999999D") > 1"#)),
        ("an empty window", rule(r#"count(when amount > 1, "PT0S") > 1"#)),
        ("an enormous number", rule("amount > 1e400")),
        ("a number of 1,000 digits", rule(&format!("amount > {}", "9".repeat(1_000)))),
        ("half a million errors", "@".repeat(60_000)),
    ];
    for (what, script) in cases {
        check_quick(&service, what, &script);
    }
    assert_eq!(service.get("/instructions").json().as_array().map(Vec::len), Some(2), "nothing was saved");
    check_unharmed(&service);
}

#[test]
fn a_script_of_10_mb_is_refused_unread() {
    let service = service();
    for n_bytes in [10_000_000, 200_000] {
        let body = json!({ "script": "(".repeat(n_bytes) }).to_string();
        // A client that is still sending when the service closes may miss the response.
        if let Ok(answer) = service.try_post("/compile-and-save-instruction", body.as_bytes()) {
            check_refused("10 MB", &answer, 413, "body_too_large");
        }
    }
    check_unharmed(&service);
}

#[test]
fn a_request_without_a_script_names_the_field() {
    let service = service();
    for (body, code, field) in [
        ("{}", "missing_field", "script"),
        (r#"{"script":null}"#, "missing_field", "script"),
        (r#"{"script":7}"#, "invalid_field", "script"),
        (r#"{"script":["rule"]}"#, "invalid_field", "script"),
        (r#"{"script":"rule a\u0000"}"#, "nul_character", "script"),
        (r#"{"script":"a","script":"b"}"#, "duplicate_key", ""),
        ("[]", "not_an_object", ""),
        ("rule a {}", "malformed_json", ""),
    ] {
        let answer = service.try_post("/compile-and-save-instruction", body.as_bytes()).unwrap();
        check_refused(body, &answer, 400, code);
        if !field.is_empty() {
            assert_eq!(answer.at("/field"), Value::from(field), "{body}");
        }
    }
    check_unharmed(&service);
}

#[test]
fn bidi_controls_inside_texts_do_not_hide_what_a_rule_does() {
    let service = service();
    let script = sample::rule("hidden", "amount > 1").replace("hidden matched", "fine \u{202e}kcolb");
    let answer = service.save(&script);
    assert!([201, 400].contains(&answer.status), "{}", answer.text());
    if answer.status == 201 {
        let shown = service.get(&format!("/instructions/{}", answer.at("/id"))).text();
        assert!(!shown.contains('\u{202e}'), "a bidi control reaches the reader's terminal: {shown}");
    }
}

/// Checks for a timely compile error whose first diagnostic has a position.
#[track_caller]
fn check_quick(service: &Service, what: &str, script: &str) {
    let mut fastest = Duration::MAX;
    for _ in 0..N_ATTEMPTS {
        let started = Instant::now();
        let answer = service.save(script);
        fastest = fastest.min(started.elapsed());
        check_refused(what, &answer, 400, "compile_error");
        let first = answer.at("/diagnostics/0");
        assert!(first["line"].as_u64().is_some_and(|line| line >= 1), "{what}: {}", answer.text());
        assert!(first["column"].as_u64().is_some_and(|column| column >= 1), "{what}: {}", answer.text());
        let error = answer.at("/error");
        let prefix = format!("parse error at line {}, column {}: ", first["line"], first["column"]);
        assert!(error.as_str().is_some_and(|error| error.starts_with(&prefix)), "{what}: {error}");
        assert!(answer.body.len() < 256 * 1024, "{what}: an answer of {} bytes", answer.body.len());
        if fastest <= proof::time_limit(QUICK) {
            return;
        }
    }
    panic!("{what}: took {fastest:?} at best");
}

fn rule(condition: &str) -> String {
    sample::rule("hostile", condition)
}
