//! The documentation is correct: the README's requests give the printed responses, links resolve, and routes are
//! described.

mod curl;
mod markdown;

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;
use serde_json::Value;
use tollgate_tests::{Home, Service, repository};

use curl::Curl;
use markdown::{Fence, fences, headings, links};

/// Placeholder in a printed response for any value, further fields or further items.
const ANYTHING: &str = "…";

/// Longer sentences are not understood at the first reading.
const SENTENCE_WORDS_MAX: usize = 40;

/// Routes and methods of the API and of operations.
const ROUTES: [(&str, &[&str]); 14] = [
    ("/inject", &["post"]),
    ("/transactions/{transaction_id}", &["get"]),
    ("/ledgerwebhook", &["post"]),
    ("/compile-and-save-instruction", &["post"]),
    ("/instructions", &["get"]),
    ("/instructions/wasm", &["post"]),
    ("/instructions/{id}", &["get", "delete"]),
    ("/instructions/{id}/module", &["get"]),
    ("/lists", &["get"]),
    ("/lists/{name}", &["get", "put", "delete"]),
    ("/healthz", &["get"]),
    ("/readyz", &["get"]),
    ("/metrics", &["get"]),
    ("/openapi.json", &["get"]),
];

#[test]
fn the_requests_of_each_page_give_the_answers_it_prints() {
    for (page, n_expected) in [("README.md", 1), ("docs/tutorial.md", 5)] {
        let n_compared = compare_answers(page);
        assert!(n_compared >= n_expected, "{page} prints only {n_compared} answers");
        println!("{page}: {n_compared} answers compared");
    }
}

/// Sends the requests of a page to a service of its own. Returns the number of printed answers.
fn compare_answers(page: &str) -> usize {
    let text = repository::read(&repository::root().join(page));
    let service = Service::start(&home_of_the_readme());
    let fences = fences(&text);
    let mut n_compared = 0;
    for (index, fence) in fences.iter().enumerate().filter(|(_, fence)| is_request(fence)) {
        let requests = Curl::parse_all(&fence.text);
        let mut answer = None;
        for request in &requests {
            answer = Some(request.send(&service));
        }
        let Some(answer) = answer else { panic!("no request in:\n{}", fence.text) };
        let Some(printed) = fences.get(index + 1).filter(|next| next.language == "json") else {
            assert!(answer.status < 300, "{}\nanswered {}: {}", fence.text, answer.status, answer.text());
            continue;
        };
        let expected: Value = serde_json::from_str(&printed.text)
            .unwrap_or_else(|error| panic!("a printed answer is no JSON: {error}\n{}", printed.text));
        if let Some(difference) = difference(&expected, &answer.json(), "") {
            panic!("{}\nthe answer differs at `{difference}`: {}", fence.text, answer.text());
        }
        n_compared += 1;
    }
    n_compared
}

fn is_request(fence: &Fence) -> bool {
    fence.language == "sh" && fence.text.lines().any(|line| line.trim_start().starts_with("curl "))
}

/// Returns the home of the README's first command, with the example rules.
fn home_of_the_readme() -> Home {
    let home = Home::new();
    let top = repository::root().join("rules");
    for path in repository::files("rules", ".ws").iter().chain(&repository::files("rules/lists", "")) {
        home.write_rule(path.strip_prefix(&top).unwrap().to_str().unwrap(), repository::read(path));
    }
    home
}

/// Returns the first difference between a response and its printed form.
fn difference(printed: &Value, answered: &Value, pointer: &str) -> Option<String> {
    match (printed, answered) {
        (Value::String(text), _) if text == ANYTHING => None,
        (Value::Object(printed), Value::Object(answered)) => {
            let is_open = printed.contains_key(ANYTHING);
            let names: BTreeSet<&String> =
                printed.keys().chain(answered.keys()).filter(|name| *name != ANYTHING).collect();
            names.into_iter().find_map(|name| {
                let pointer = format!("{pointer}/{name}");
                match (printed.get(name), answered.get(name)) {
                    (Some(printed), Some(answered)) => difference(printed, answered, &pointer),
                    (None, Some(_)) if is_open => None,
                    _ => Some(pointer),
                }
            })
        }
        (Value::Array(printed), Value::Array(answered)) => {
            let is_open = printed.last().is_some_and(|last| last == ANYTHING);
            let n_printed = printed.len() - usize::from(is_open);
            if answered.len() < n_printed || (!is_open && answered.len() > n_printed) {
                return Some(format!("{pointer} (length)"));
            }
            let pairs = printed.iter().take(n_printed).zip(answered).enumerate();
            pairs
                .into_iter()
                .find_map(|(n, (printed, answered))| difference(printed, answered, &format!("{pointer}/{n}")))
        }
        (Value::Number(printed), Value::Number(answered)) if printed.as_f64() == answered.as_f64() => None,
        _ if printed == answered => None,
        _ => Some(if pointer.is_empty() { "/".to_owned() } else { pointer.to_owned() }),
    }
}

#[test]
fn a_printed_answer_is_compared_in_every_part() {
    let answered = serde_json::json!({"a": 1.0, "b": [1, {"c": "x"}], "d": "text"});
    for (printed, pointer) in [
        (serde_json::json!({"a": 1, "b": [1, {"c": "x"}], "d": "…"}), None),
        (serde_json::json!({"a": "…", "…": "…"}), None),
        (serde_json::json!({"a": 1, "b": ["…"], "d": "text"}), None),
        (serde_json::json!({"a": 1, "b": [1, {"c": "x"}]}), Some("/d")),
        (serde_json::json!({"a": 1, "b": [1, {"c": "y"}], "d": "text"}), Some("/b/1/c")),
        (serde_json::json!({"a": 1, "b": [1], "d": "text"}), Some("/b (length)")),
        (serde_json::json!({"e": 1, "…": "…"}), Some("/e")),
    ] {
        assert_eq!(difference(&printed, &answered, "").as_deref(), pointer, "{printed}");
    }
}

#[test]
fn the_front_page_has_at_most_150_lines() {
    let readme = repository::read(&repository::root().join("README.md"));
    assert!(readme.lines().count() <= 150, "{} lines", readme.lines().count());
}

#[test]
fn every_page_of_the_documentation_is_in_the_index_of_the_readme() {
    let readme = repository::read(&repository::root().join("README.md"));
    let pages = repository::files("docs", ".md");
    let missing: Vec<String> = pages
        .iter()
        .map(|page| repository::relative(page))
        .filter(|page| !readme.contains(&format!("]({page})")))
        .collect();
    assert!(missing.is_empty(), "pages without a link: {missing:?}");
}

#[test]
fn every_route_is_described() {
    let service = Service::start(&Home::new());
    let document = service.get("/openapi.json").expect(200);
    assert!(
        document["openapi"].as_str().is_some_and(|version| version.starts_with("3.")),
        "{}",
        document["openapi"]
    );
    assert_eq!(document["info"]["version"], "1.0.0", "the version of the interface");
    for (path, methods) in ROUTES {
        for method in methods {
            let operation = &document["paths"][path][method];
            let responses = operation["responses"].as_object();
            assert!(
                responses.is_some_and(|responses| !responses.is_empty()),
                "{method} {path} is not described"
            );
            let words =
                operation["summary"].as_str().or(operation["description"].as_str()).unwrap_or_default();
            assert!(!words.is_empty(), "{method} {path} has no words");
        }
    }
    let mut broken = Vec::new();
    check_references(&document, &document, &mut broken);
    assert!(broken.is_empty(), "references that lead nowhere: {broken:?}");
}

/// Collects every unresolved `$ref` below a node.
fn check_references(document: &Value, node: &Value, broken: &mut Vec<String>) {
    match node {
        Value::Object(fields) => {
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
                if target.is_none() {
                    broken.push(reference.to_owned());
                }
            }
            fields.values().for_each(|field| check_references(document, field, broken));
        }
        Value::Array(items) => items.iter().for_each(|item| check_references(document, item, broken)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_alert_rules_and_the_dashboard_name_metrics_that_exist() {
    let mut home = Home::new();
    for (name, value) in [
        ("ALERT_WEBHOOK_URL", "http://127.0.0.1:9/alerts"),
        ("WATCH_SCRIPT_GIT_REPO", "http://127.0.0.1:9/rules.git"),
        ("SERVICE_SOURCES_OPTIONAL", "true"),
    ] {
        home.set(name, value);
    }
    let service = Service::start(&home);
    // A family of errors appears with its first error.
    service.send("POST", "/inject", &[("content-type", "application/json")], b"{}").unwrap();
    let page = service.get("/metrics").text();
    let families: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let name = Regex::new(r"\btollgate_[a-z_]+").unwrap();
    for file in ["deploy/prometheus-alerts.yml", "deploy/grafana-dashboard.json"] {
        let text = repository::read(&repository::root().join(file));
        let named: BTreeSet<&str> = name.find_iter(&text).map(|found| found.as_str()).collect();
        assert!(named.len() >= 10, "{file} names {named:?}");
        for metric in named {
            let family = ["_total", "_bucket", "_info"].iter().find_map(|end| metric.strip_suffix(end));
            assert!(families.contains(family.unwrap_or(metric)), "{file}: there is no metric {metric}");
        }
    }
    let dashboard = repository::read(&repository::root().join("deploy/grafana-dashboard.json"));
    serde_json::from_str::<Value>(&dashboard).unwrap();
}

#[test]
fn the_readable_page_needs_nothing_from_elsewhere() {
    let service = Service::start(&Home::new());
    let page = service.get("/docs/");
    assert_eq!(page.status, 200);
    assert!(
        page.header("content-type").is_some_and(|kind| kind.starts_with("text/html")),
        "{:?}",
        page.headers
    );
    let mut n_loaded = 0;
    for address in curl::loaded_by(&page.text()) {
        assert!(!address.contains("//"), "the page loads {address}");
        let path = format!("/docs/{}", address.trim_start_matches("./"));
        let path = if address.starts_with('/') { address.clone() } else { path };
        assert_eq!(service.get(&path).status, 200, "the page loads {path}");
        n_loaded += 1;
    }
    assert!(n_loaded > 0, "the page loads nothing at all");
}

#[test]
fn a_sentence_has_at_most_40_words() {
    let mut found = Vec::new();
    for document in repository::files("", ".md") {
        for sentence in markdown::sentences(&repository::read(&document)) {
            let n_words = sentence.split_whitespace().count();
            if n_words > SENTENCE_WORDS_MAX {
                found.push(format!("{}: {n_words} words: {sentence}", repository::relative(&document)));
            }
        }
    }
    assert!(found.is_empty(), "long sentences:\n{}", found.join("\n"));
}

#[test]
fn every_path_that_the_architecture_names_exists() {
    let path = Regex::new(r"`([\w./-]+/[\w./-]*)`").unwrap();
    let page = repository::read(&repository::root().join("ARCHITECTURE.md"));
    let tops = [
        "host/",
        "compiler/",
        "guest-abi/",
        "tests/",
        "benches/",
        "docs/",
        "rules/",
        "deploy/",
        "examples/",
        "population/",
    ];
    let named: Vec<&str> = path.captures_iter(&page).map(|found| found.get(1).unwrap().as_str()).collect();
    let named = named.into_iter().filter(|path| tops.iter().any(|top| path.starts_with(top)));
    let is_placeholder =
        |path: &&str| ["tests/tests/name.rs", "tests/tests/name/", "rules/TYPOLOGY/"].contains(path);
    let named = named.filter(|path| !is_placeholder(path));
    let missing: Vec<&str> = named.filter(|path| !repository::root().join(path).exists()).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there: {missing:?}");
}

#[test]
fn relative_links_lead_somewhere() {
    let mut broken = Vec::new();
    for document in repository::files("", ".md") {
        for link in links(&repository::read(&document)) {
            if !leads_somewhere(&document, &link) {
                broken.push(format!("{}: {link}", repository::relative(&document)));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

fn leads_somewhere(document: &Path, link: &str) -> bool {
    if link.contains("://") || link.starts_with("mailto:") {
        return true;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = if path.is_empty() { document.to_owned() } else { document.parent().unwrap().join(path) };
    match anchor {
        Some(anchor) if target.extension().is_some_and(|kind| kind == "md") && target.exists() => {
            headings(&repository::read(&target)).iter().any(|heading| markdown::slug(heading) == anchor)
        }
        _ => target.exists(),
    }
}
