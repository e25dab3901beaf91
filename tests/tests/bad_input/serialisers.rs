//! Request bodies as the serialisers of five languages write them, from unusual but well-meaning clients.
//!
//! Each is accepted, or rejected with the field name and a remedy; none causes a server error. A missing language is
//! reported and skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::{Map, Value, json};
use tollgate_tests::{Home, Service, repository, sample};

/// A program that prints one body per line: the expected outcome, the field an error names, and the body in
/// hexadecimal.
struct Language {
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    file: &'static str,
    /// Whether other requirements of these tests already include it.
    is_required: bool,
}

const LANGUAGES: [Language; 4] = [
    Language { name: "Python", program: "python3", arguments: &[], file: "bodies.py", is_required: true },
    Language { name: "JavaScript", program: "node", arguments: &[], file: "bodies.mjs", is_required: true },
    Language { name: "Perl", program: "perl", arguments: &[], file: "bodies.pl", is_required: false },
    Language { name: "Go", program: "go", arguments: &["run"], file: "bodies.go", is_required: false },
];
const BODIES_MIN: usize = 500;

struct Case {
    is_taken: bool,
    field: String,
    body: Vec<u8>,
}

#[test]
fn bodies_of_honest_clients_are_taken_or_refused_with_field_and_cure() {
    let home = Home::with_rules(&[("everything.ws", sample::rule("everything", "amount >= 0"))]);
    let service = Service::start(&home);
    let folder = tempfile::tempdir().unwrap();
    let cure = Regex::new(r"must be |must not |did you mean |is required|send |leave ").unwrap();
    let mut n_bodies = 0;
    let mut faults = Vec::new();
    let foreign =
        LANGUAGES.iter().filter_map(|language| Some((language.name, written_by(language, folder.path())?)));
    for (language, cases) in foreign.chain([("Rust", written_here())]) {
        println!("{language}: {} bodies", cases.len());
        n_bodies += cases.len();
        faults.extend(
            cases
                .iter()
                .filter_map(|case| fault(&service, case, &cure).map(|fault| format!("{language}: {fault}"))),
        );
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
    assert!(n_bodies >= BODIES_MIN, "only {n_bodies} bodies");
}

/// Returns the fault of a response, if any.
fn fault(service: &Service, case: &Case, cure: &Regex) -> Option<String> {
    let answer = service.try_post("/inject", &case.body).unwrap();
    let said = format!("{} {}", answer.status, answer.text());
    let shown: String = String::from_utf8_lossy(&case.body).chars().take(300).collect();
    let is_right = match (case.is_taken, answer.status) {
        (true, 200) => true,
        (false, 400) => {
            let error = answer.at("/error").as_str().unwrap_or_default().to_owned();
            let names = case.field == "-"
                || ["`", "."].iter().any(|end| error.contains(&format!("`{}{end}", case.field)));
            names && cure.is_match(&error)
        }
        _ => false,
    };
    (!is_right).then(|| format!("{shown}\n    is answered {said}"))
}

/// Returns `None` if the language is not installed.
fn written_by(language: &Language, folder: &Path) -> Option<Vec<Case>> {
    let file: PathBuf = repository::root().join("tests/serialisers").join(language.file);
    let written = Command::new(language.program)
        .args(language.arguments)
        .arg(&file)
        // Keeps Go's build output in the temporary folder.
        .env("GOCACHE", folder.join("go"))
        .env("GOFLAGS", "-mod=mod")
        .env("GOPROXY", "off")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output();
    match written {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8(output.stdout).unwrap().lines().map(case).collect())
        }
        Ok(output) => panic!("{}: {}", language.file, String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            assert!(!language.is_required, "{} is needed: {error}", language.program);
            println!("{} is left out, `{}` is not installed", language.name, language.program);
            None
        }
    }
}

fn case(line: &str) -> Case {
    let [expected, field, body] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
    let digits: Vec<u8> = body.chars().map(|digit| digit.to_digit(16).unwrap() as u8).collect();
    let body = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    Case { is_taken: expected == "taken", field: field.to_owned(), body }
}

/// Returns the bodies of `serde_json`.
fn written_here() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |is_taken: bool, field: &str, name: &str, value: Value| {
        let id = format!("rust-{}", cases.len());
        let mut body = Map::from_iter([
            ("transaction_id".to_owned(), json!(id)),
            ("amount".to_owned(), json!(12.5)),
            ("currency".to_owned(), json!("EUR")),
            ("reference".to_owned(), json!("r")),
        ]);
        body.insert(name.to_owned(), value);
        cases.push(Case { is_taken, field: field.to_owned(), body: serde_json::to_vec(&body).unwrap() });
    };
    for field in ["created_at", "effective_date", "scheduled_for", "inflight_expiry_date"] {
        for taken in [json!(null), json!("0001-01-01T00:00:00Z"), json!("2026-01-31T12:00:00.123456789Z")] {
            add(true, field, field, taken);
        }
        for refused in
            [json!(1_767_323_045), json!("31/01/2026"), json!({"secs": 1, "nanos": 0}), json!([2026, 31])]
        {
            add(false, field, field, refused);
        }
    }
    for field in ["transaction_id", "source", "destination", "status", "hash"] {
        add(true, field, field, json!(null));
        add(true, field, field, json!(""));
        add(false, field, field, json!({"String": "x", "Valid": true}));
        add(false, field, field, json!("a\u{202e}b"));
    }
    for (is_taken, amount) in [
        (true, json!(u64::MAX)),
        (true, json!(i64::MIN)),
        (true, json!(1e-10)),
        (true, json!(1e17)),
        (false, json!(f64::MAX)),
        (false, json!(f64::NAN)),
        (true, json!("12.5")),
        (false, json!("1.25e1")),
    ] {
        add(is_taken, "amount", "amount", amount);
    }
    for name in ["transactionId", "createdAt", "meta-data", "INFLIGHT"] {
        add(false, name, name, json!("x"));
    }
    add(true, "-", "description", json!("line\r\nline\u{200f}\u{7f}"));
    add(true, "-", "meta_data", json!({"nan": f64::NAN, "empty": {}, "": null}));
    cases
}
