//! Named lists over the API: set, read, replaced, removed; durable and in force before the response.

mod files;
mod missing;
mod readings;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_tests::{Answer, Home, Service, audit, proof, sample};

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
/// Maximum delay until a list of [`ENTRIES`] entries is in force.
const LONG_LIST_MAX: Duration = Duration::from_secs(5);
const ENTRIES: usize = 100_000;

fn put(service: &Service, name: &str, entries: &Value) -> Answer {
    service.put(&format!("/lists/{name}"), JSON, entries.to_string().as_bytes())
}

fn judge(service: &Service, id: &str, source: &str) -> Vec<String> {
    service.inject(&sample::with(&sample::transaction(id), &json!({ "source": source }))).triggered()
}

#[test]
fn a_list_is_in_force_when_the_answer_is_there_and_survives_the_process() {
    let home = Home::with_rules(&[("a.ws", sample::rule("a", "source in $watched"))]);
    let service = Service::start(&home);
    assert_eq!(service.get("/lists").expect(200), json!([]));
    let set = put(&service, "watched", &json!(["anna", "bert", "anna"]));
    assert_eq!((set.status, set.at("/count"), set.at("/source/kind")), (201, json!(2), json!("api")));
    assert_eq!(judge(&service, "t1", "anna"), ["a"]);
    assert_eq!(judge(&service, "t2", "carl"), [""; 0]);

    let replaced = service.put("/lists/watched", TEXT, b"# by hand\n carl \n\ndora # why\n");
    assert_eq!((replaced.status, replaced.at("/count")), (200, json!(2)));
    assert_eq!(judge(&service, "t3", "anna"), [""; 0]);
    assert_eq!(judge(&service, "t4", "carl"), ["a"]);
    service.kill();

    let service = Service::start(&home);
    let listed = service.get("/lists").expect(200);
    assert_eq!(
        (&listed[0]["name"], &listed[0]["count"], &listed[1]),
        (&json!("watched"), &json!(2), &Value::Null)
    );
    let list = service.get("/lists/watched").expect(200);
    assert_eq!(list["entries"], json!(["carl", "dora"]));
    for shown in [&list, &listed[0]] {
        assert_eq!(shown["used_by"][0]["name"], "a");
        assert_eq!(shown["used_by"].as_array().unwrap().len(), 1);
    }
    assert_eq!(judge(&service, "t5", "dora"), ["a"]);
    assert_eq!(service.delete("/lists/watched").status, 204);
    let without = service.inject(&sample::with(&sample::transaction("t6"), &json!({ "source": "dora" })));
    assert_eq!((without.at("/verdict"), without.at("/failures/0/failure")), (json!("review"), json!("list")));
    for gone in [service.delete("/lists/watched"), service.get("/lists/watched")] {
        assert_eq!((gone.status, gone.code()), (404, "list_not_found".to_owned()));
    }
}

#[test]
fn a_list_of_a_hundred_thousand_entries_is_set_in_time() {
    let home = Home::with_rules(&[("a.ws", sample::rule("a", "source in $long"))]);
    let service = Service::start(&home);
    let entries: Vec<String> = (0..ENTRIES).map(|number| format!("account-{number:06}")).collect();
    for (what, media_type, body) in
        [("JSON", JSON, json!(entries).to_string()), ("text", TEXT, entries.join("\n"))]
    {
        let start = Instant::now();
        let answer = service.put("/lists/long", media_type, body.as_bytes());
        let took = start.elapsed();
        println!("{ENTRIES} entries as {what}, {} bytes: {took:?}", body.len());
        assert_eq!(answer.expect(if what == "JSON" { 201 } else { 200 })["count"], ENTRIES);
        assert!(took < proof::time_limit(LONG_LIST_MAX), "{took:?}");
        assert_eq!(judge(&service, &format!("{what}1"), "account-099999"), ["a"]);
        assert_eq!(judge(&service, &format!("{what}2"), "account-100000"), [""; 0]);
    }
    assert_eq!(service.get("/lists/long").at("/entries").as_array().map(Vec::len), Some(ENTRIES));
}

#[test]
fn an_invalid_list_is_refused_with_a_code_and_changes_nothing() {
    let home = Home::with_rules(&[("lists/file.txt", "1\n")]);
    let service = Service::start(&home);
    let version = |id: &str| service.inject(&sample::transaction(id)).at("/rule_set_version");
    let before = version("before");
    let too_long = vec![b'x'; 16 * 1024 * 1024 + 1];
    let many = "1\n".repeat(1_000_001);
    let entry = |entry: &str| json!(["fine", entry]).to_string().into_bytes();
    let lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
    let cases: [(&str, &str, Vec<u8>, u16, &str); 19] = [
        ("l", JSON, b"{}".to_vec(), 400, "invalid_list"),
        ("l", JSON, b"[1]".to_vec(), 400, "invalid_list"),
        ("l", JSON, b"[null]".to_vec(), 400, "invalid_list"),
        ("l", JSON, b"[".to_vec(), 400, "malformed_json"),
        ("l", JSON, entry(""), 400, "invalid_list"),
        ("l", JSON, entry(&"x".repeat(1025)), 400, "invalid_list"),
        ("l", TEXT, lfs.to_vec(), 400, "invalid_list"),
        ("l", TEXT, b"<!doctype html>\n<p>Not Found</p>\n".to_vec(), 400, "invalid_list"),
        ("l", TEXT, b"[\"a\"]".to_vec(), 400, "invalid_list"),
        ("l", TEXT, b"a\rb\r".to_vec(), 400, "invalid_list"),
        ("l", TEXT, "x".repeat(1025).into_bytes(), 400, "invalid_list"),
        ("l", TEXT, b"a\xff".to_vec(), 400, "invalid_utf8"),
        ("l", TEXT, b"a\0".to_vec(), 400, "nul_character"),
        ("l", TEXT, many.into_bytes(), 400, "invalid_list"),
        ("l", TEXT, too_long, 413, "body_too_large"),
        ("l", "text/html", b"a".to_vec(), 415, "unsupported_media_type"),
        ("no%20name", JSON, b"[]".to_vec(), 400, "invalid_list"),
        ("..%2Fl", JSON, b"[]".to_vec(), 400, "invalid_list"),
        ("file", JSON, b"[]".to_vec(), 409, "list_taken"),
    ];
    for (name, media_type, body, status, code) in cases {
        let answer = service.put(&format!("/lists/{name}"), media_type, &body);
        let shown = String::from_utf8_lossy(body.get(..20).unwrap_or(&body)).into_owned();
        assert_eq!((answer.status, answer.code()), (status, code.to_owned()), "{name} {media_type} {shown}");
    }
    let refused = service.delete("/lists/file");
    assert_eq!((refused.status, refused.code()), (409, "list_taken".to_owned()));
    assert_eq!(version("after"), before);
    assert_eq!(service.get("/lists/file").at("/source"), json!({"kind": "file", "path": "lists/file.txt"}));
}

#[test]
fn a_rule_that_names_a_list_nobody_set_fails_until_it_comes() {
    let service = Service::start(&Home::new());
    let saved = service.save(&sample::rule("a", "source in $later")).expect(201);
    assert_eq!(saved["warnings"].as_array().map(Vec::len), Some(1));
    assert!(saved["warnings"][0]["message"].as_str().unwrap().contains("the rule fails"), "{saved}");
    assert_eq!(service.inject(&sample::transaction("t1")).at("/failures/0/failure"), "list");
    assert_eq!(put(&service, "later", &json!(["anna"])).status, 201);
    assert_eq!(judge(&service, "t2", "anna"), ["a"]);
    assert_eq!(service.get(&format!("/instructions/{}", saved["id"])).at("/warnings"), json!([]));
}

#[test]
fn an_empty_list_is_a_list() {
    let service = Service::start(&Home::new());
    assert_eq!(put(&service, "none", &json!([])).expect(201)["count"], 0);
    assert_eq!(service.get("/lists/none").at("/entries"), json!([]));
}

#[test]
fn every_entry_that_is_put_is_there_as_it_was_put() {
    let home = Home::with_rules(&[("a.ws", sample::rule("a", "metadata.text in $odd"))]);
    let service = Service::start(&home);
    let entries = json!([
        "#1234",
        "a # b",
        "a #",
        "WALMART #1234",
        "two\nlines",
        " blanks ",
        "\"quoted\"",
        "\"#1\"",
        "[x]",
        "<b>",
        "{",
        "a\r",
        "\u{feff}a",
        "version https://git-lfs.github.com/spec/v1",
    ]);
    assert_eq!(put(&service, "odd", &entries).expect(201)["count"], 14);
    let check = |service: &Service, run: &str| {
        assert_eq!(service.get("/lists/odd").at("/entries"), entries);
        for (number, entry) in entries.as_array().unwrap().iter().enumerate() {
            let transaction = sample::transaction(&format!("{run}{number}"));
            let fields = json!({ "meta_data": { "text": entry } });
            assert_eq!(service.inject(&sample::with(&transaction, &fields)).triggered(), ["a"], "{entry}");
        }
    };
    check(&service, "first");
    assert!(service.stop().0.success());
    check(&Service::start(&home), "second");
}

#[test]
fn small_changes_of_a_large_list_take_little_of_the_disk_and_replay() {
    let home = Home::with_rules(&[("a.ws", sample::rule("a", "source in $watched"))]);
    let service = Service::start(&home);
    let text = |changed: usize| -> String {
        let line = |n| if n == changed { "anna\n".to_owned() } else { format!("account-{n:08}\n") };
        (0..20_000).map(line).collect()
    };
    let n_bytes = text(0).len() as u64;
    for round in 0..30 {
        let set = service.put("/lists/watched", TEXT, text(600 * round).as_bytes());
        assert!([200, 201].contains(&set.status), "{}", set.text());
        assert_eq!(judge(&service, &format!("t{round}"), "anna"), ["a"]);
    }
    assert_eq!(service.stop().0.code(), Some(0));
    let size = std::fs::metadata(home.data().join("tollgate.db")).unwrap().len();
    assert!(size < 8 * n_bytes, "{size} bytes for 30 versions of {n_bytes}");
    let replayed = audit::replay(&home);
    assert_eq!((replayed.code, &replayed.findings[..]), (0, &[][..]), "{}", replayed.said);
    // The last version is in force after a restart.
    let service = Service::start(&home);
    assert_eq!(judge(&service, "last", "account-00017399"), ["a"]);
    assert_eq!(judge(&service, "gone", "account-00017400"), [""; 0]);
}
