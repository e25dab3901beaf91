//! Refused modules, over the API and on the command line.

use std::fs;
use std::process::{Output, Stdio};

use tollgate_tests::Answer;
use tollgate_tests::home::bare_command;

use super::*;

/// Maximum module size of the API.
const MODULE_BYTES_MAX: usize = 64 * 1024;

#[track_caller]
fn check_refused(answer: &Answer, words: &str) {
    assert_eq!((answer.status, answer.code().as_str()), (400, "module_refused"), "{}", answer.text());
    let checks = answer.at("/checks");
    let checks = checks.as_array().unwrap();
    assert!(!checks.is_empty(), "{}", answer.text());
    for check in checks {
        assert!(check["check"].is_string() && check["message"].is_string(), "{check}");
        assert!(check["offset"].is_null() || check["offset"].is_u64(), "{check}");
    }
    assert!(checks.iter().any(|check| check.to_string().contains(words)), "no `{words}`: {}", answer.text());
}

/// Returns refused modules and a word of each error message.
fn bad_modules() -> Vec<(Vec<u8>, &'static str)> {
    let manifest = modules::manifest("a");
    let renamed = |name: &str| {
        let mut manifest = manifest.clone();
        manifest["rules"][0]["name"] = json!(name);
        modules::with_manifest(&modules::above(1), &manifest)
    };
    let two = {
        let mut manifest = manifest.clone();
        let rule = manifest["rules"][0].clone();
        manifest["rules"].as_array_mut().unwrap().push(rule);
        modules::with_manifest(&modules::above(1), &manifest)
    };
    let of_text = |text: &str| modules::with_manifest(&modules::of_text(text), &manifest);
    vec![
        (Vec::new(), ""),
        (b"not a module".to_vec(), ""),
        (modules::above(1), "manifest"),
        (modules::with_section(&modules::above(1), "tollgate.manifest", b"{"), "manifest"),
        (modules::with_manifest(&modules::rule("a", 1), &manifest), "manifest"),
        (two, "one rule"),
        (renamed("../a"), "name"),
        (renamed("a b"), "name"),
        (renamed(""), "name"),
        (of_text("(module)"), "evaluate"),
        (
            of_text(
                r#"(module (import "env" "abort" (func)) (func (export "evaluate") (result i64) (i64.const 0)))"#,
            ),
            "abort",
        ),
        (
            of_text(r#"(module (func $f) (start $f) (func (export "evaluate") (result i64) (i64.const 0)))"#),
            "start",
        ),
    ]
}

#[test]
fn a_refusal_lists_the_checks_and_saves_nothing() {
    let service = Service::start(&Home::new());
    for (module, words) in bad_modules() {
        check_refused(&service.upload("", &module), words);
    }
    let above = modules::above(1);
    check_refused(&service.upload(&query("a"), &modules::rule("a", 1)), "already has a manifest");
    for (query, words) in [
        ("name=a", "`verdict` is missing"),
        ("name=a&name=b", "`name` occurs twice"),
        ("title=a", "no parameter `title`"),
        ("name=%", "percent-encoded"),
        ("name=a&verdict=maybe&score=0&reason=r", "`verdict`"),
        ("name=a&verdict=allow&score=7&reason=r", "`score`"),
        ("name=a&verdict=allow&score=0&reason=r&needs=x", "`needs`"),
        ("name=a-b&verdict=allow&score=0&reason=r", "name"),
    ] {
        check_refused(&service.upload(query, &above), words);
    }
    let wide = vec![0; MODULE_BYTES_MAX + 1];
    let answer = service.upload("", &wide);
    assert_eq!((answer.status, answer.code().as_str()), (413, "body_too_large"));
    let json =
        service.send("POST", "/instructions/wasm", &[("content-type", "application/json")], b"{}").unwrap();
    assert_eq!((json.status, json.code().as_str()), (415, "unsupported_media_type"));
    assert_eq!(service.get("/instructions").expect(200), json!([]));
    assert_eq!(service.inject(&sample::transaction("t")).at("/rule_set_version"), json!(1));
}

#[test]
fn check_says_what_a_module_is_or_why_it_is_not_let_in() {
    let home = Home::with_rules(&[("good.ws", sample::rule("good", "amount > 1"))]);
    home.write_rule("good.wasm", modules::rule("large", 5));
    let output = check(&home, &["good.wasm"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    for part in [
        "`large`",
        "verdict block",
        r#"needs {"fields":["amount"]}"#,
        "1000000 instructions",
        "256 host calls",
    ] {
        assert!(said(&output).contains(part), "no `{part}` in:\n{}", said(&output));
    }
    assert_eq!(check(&home, &["good.ws", "good.wasm"]).status.code(), Some(0));
    for (index, (module, words)) in bad_modules().into_iter().enumerate() {
        let name = format!("bad_{index}.wasm");
        fs::write(home.rules().join(&name), module).unwrap();
        let output = check(&home, &["good.ws", &name]);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", said(&output));
        assert!(
            said(&output).contains("error[") && said(&output).contains(words),
            "{name}: {}",
            said(&output)
        );
    }
    assert_eq!(check(&home, &["nowhere.wasm"]).status.code(), Some(1));
}

fn check(home: &Home, files: &[&str]) -> Output {
    let paths: Vec<String> =
        files.iter().map(|file| home.rules().join(file).to_string_lossy().into_owned()).collect();
    let arguments: Vec<&str> = std::iter::once("check").chain(paths.iter().map(String::as_str)).collect();
    bare_command(&home.current(), &arguments).stdout(Stdio::piped()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
