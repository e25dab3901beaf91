//! How lists are read, and what is odd about them; changes under a condition.

use serde_json::{Value, json};
use tollgate_tests::{Answer, Home, Service, sample};

use super::{JSON, TEXT, put};

/// Entries of a JSON array that are probably meant otherwise, each with words of its warning.
const ODD: [(&str, &str); 7] = [
    ("acct-x # OFAC 2026", "would be the entry `acct-x`"),
    ("# a comment", "would be a comment"),
    (" acct-x", "would be the entry `acct-x`"),
    ("\"acct-x\"", "quotation marks are part of the entry"),
    ("acct-x,OFAC,2026", "row of a table"),
    ("acct-x;OFAC", "row of a table"),
    ("acct-x\u{200b}", "U+200B"),
];

fn message(answer: &Answer, index: usize) -> String {
    answer.at(&format!("/warnings/{index}/message")).as_str().unwrap_or_default().to_owned()
}

#[test]
fn entries_of_an_array_stay_exact_and_each_odd_one_has_a_warning() {
    let service = Service::start(&Home::new());
    for (entry, words) in ODD {
        let saved = put(&service, "l", &json!(["acct-y", entry]));
        assert!([200, 201].contains(&saved.status), "{entry}: {}", saved.text());
        assert_eq!(saved.at("/warnings/0/position"), json!(2), "{entry}: {}", saved.text());
        assert_eq!(saved.at("/warnings/0/entry"), json!(entry));
        assert!(message(&saved, 0).contains(words), "{entry}: {}", message(&saved, 0));
        assert_eq!(saved.at("/warnings/1"), Value::Null, "{entry}");
        assert_eq!(service.get("/lists/l").at("/entries/1"), json!(entry), "it is exact");
    }
    let plain = put(&service, "l", &json!(["acct-x", "WALMART #1234", "Smith, Anna", "a b"]));
    assert_eq!(plain.at("/warnings"), json!([]), "{}", plain.text());
    let many: Vec<String> = (0..150).map(|number| format!("acct-{number},OFAC")).collect();
    let saved = put(&service, "l", &json!(many));
    let n_listed = saved.at("/warnings").as_array().unwrap().len();
    assert_eq!((n_listed, saved.at("/n_more_warnings")), (100, json!(50)));
}

#[test]
fn a_text_is_shown_line_by_line_before_it_is_saved() {
    let service = Service::start(&Home::new());
    let text = "acct-x # OFAC 2026\n\n# since May\n\"acct-y\"\n\"#7\"\nacct-x\u{200b}\nacct-x # again\n";
    let read = service.post("/lists/l/check", &json!({ "text": text }));
    assert_eq!(read.status, 200, "{}", read.text());
    let entries: Vec<(Value, Value)> = read
        .at("/lines")
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (line["line"].clone(), line["entry"].clone()))
        .collect();
    let expected = [
        (1, json!("acct-x")),
        (3, Value::Null),
        (4, json!("\"acct-y\"")),
        (5, json!("#7")),
        (6, json!("acct-x\u{200b}")),
        (7, json!("acct-x")),
    ];
    assert_eq!(entries, expected.map(|(line, entry)| (json!(line), entry)));
    assert_eq!(read.at("/count"), json!(5));
    assert_eq!((read.at("/warnings/0/position"), read.at("/warnings/1/position")), (json!(4), json!(6)));
    assert_eq!(service.get("/lists").expect(200), json!([]), "nothing is saved");
    let saved = service.put("/lists/l", TEXT, text.as_bytes());
    assert_eq!((saved.at("/count"), saved.at("/warnings")), (json!(5), read.at("/warnings")));
    for (body, status, code) in [
        (json!([]), 400, "not_an_object"),
        (json!({}), 400, "missing_field"),
        (json!({ "text": 1 }), 400, "invalid_field"),
        (json!({ "text": "<html>" }), 400, "invalid_list"),
    ] {
        let refused = service.post("/lists/l/check", &body);
        assert_eq!((refused.status, refused.code()), (status, code.to_owned()), "{body}");
    }
}

#[test]
fn the_second_of_two_edits_of_one_list_is_refused() {
    let service = Service::start(&Home::new());
    let client = service.client();
    let send = |method: &str, header: (&str, &str), body: &str| {
        let headers = [header, ("content-type", JSON)];
        client.send(method, "/lists/l", &headers, body.as_bytes()).unwrap()
    };
    let made = send("PUT", ("if-none-match", "*"), r#"["a"]"#);
    assert_eq!(made.status, 201, "{}", made.text());
    let tag = service.get("/lists/l").header("etag").unwrap().to_owned();
    assert_eq!(made.header("etag"), Some(&*tag));
    let text = client.send("GET", "/lists/l", &[("accept", "text/plain")], b"").unwrap();
    assert_eq!((text.text(), text.header("etag")), ("a\n".to_owned(), Some(&*tag)));

    assert_eq!(send("PUT", ("if-match", &tag), r#"["a","b"]"#).status, 200);
    for (method, header) in [
        ("PUT", ("if-match", &*tag)),
        ("PUT", ("if-match", "\"other\"")),
        ("PUT", ("if-none-match", "*")),
        ("DELETE", ("if-match", &*tag)),
    ] {
        let stale = send(method, header, r#"["a","c"]"#);
        assert_eq!(
            (stale.status, stale.code()),
            (412, "precondition_failed".to_owned()),
            "{method} {header:?}"
        );
    }
    assert_eq!(service.get("/lists/l").at("/entries"), json!(["a", "b"]), "nobody's entry is lost");
    assert_eq!(put(&service, "l", &json!(["d"])).status, 200, "without the header it works as before");
    let tag = service.get("/lists/l").header("etag").unwrap().to_owned();
    assert_eq!(send("DELETE", ("if-match", &format!("W/{tag}")), "").status, 204);
    let absent = send("PUT", ("if-match", "*"), r#"["a"]"#);
    assert_eq!(absent.status, 412);
}

#[test]
fn the_second_of_two_edits_of_one_rule_is_refused() {
    let service = Service::start(&Home::new());
    let client = service.client();
    let id = service.save(&sample::rule("a", "amount > 1")).expect(201)["id"].clone();
    let path = format!("/instructions/{id}");
    let send = |method: &str, tag: &str, amount: u32| {
        let body = json!({ "script": sample::rule("a", &format!("amount > {amount}")) }).to_string();
        let headers = [("if-match", tag), ("content-type", JSON)];
        client.send(method, &path, &headers, body.as_bytes()).unwrap()
    };
    let tag = service.get(&path).header("etag").unwrap().to_owned();
    let module_tag = service.get(&format!("{path}/module")).header("etag").unwrap().to_owned();
    let first = send("PUT", &tag, 2);
    assert_eq!(first.status, 200, "{}", first.text());
    for (method, tag) in [("PUT", &tag), ("PUT", &module_tag), ("DELETE", &tag)] {
        let stale = send(method, tag, 3);
        assert_eq!((stale.status, stale.code()), (412, "precondition_failed".to_owned()), "{method}");
    }
    let script = service.get(&path).at("/script");
    assert_eq!(script, json!(sample::rule("a", "amount > 2")));
    let tag = first.header("etag").unwrap().to_owned();
    assert_eq!(send("PUT", &tag, 4).status, 200);
    assert_eq!(send("DELETE", "*", 5).status, 204);
}
