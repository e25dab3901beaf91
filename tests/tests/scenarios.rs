//! Every example rule with the real binary: transactions in, verdicts out.
//!
//! Each `rules/<typology>/<name>.ws` has a `<name>.json`: `{rule, cases: [{name, history, transaction, expect}]}`. The
//! cases of a rule run on one service with only that rule and the shared lists; ids and accounts keep them independent.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::Deserialize;
use serde_json::{Value, json};
use tollgate_tests::{Home, Service, modules, proof, repository, sample};

/// Number of services that run concurrently.
const N_SERVICES: usize = 2;
/// Minimum number of shipped rules.
const N_RULES_MIN: usize = 40;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    rule: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    history: Vec<Value>,
    transaction: Value,
    expect: Expectation,
}

#[derive(Deserialize, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
struct Expectation {
    verdict: String,
    score: f64,
    triggered: Vec<String>,
}

/// The words of six ledgers for the statuses of the cases.
const STATUSES: [&str; 8] =
    ["applied", "pending", "declined", "failed", "rejected", "reversed", "refunded", "expired"];
const LEDGERS: [[&str; 8]; 6] = [
    ["settled", "received", "refused", "error", "refused", "chargeback", "refunded", "expired"],
    ["captured", "requires_action", "denied", "failed", "denied", "dispute_lost", "refunded", "expired"],
    ["ACSC", "RCVD", "RJCT", "CANC", "RJCT", "returned", "returned", "expired"],
    ["COMMITTED", "RECEIVED", "ABORTED", "ERROR", "ABORTED", "reversal", "refund", "timed_out"],
    [
        "AcceptedSettlementCompleted",
        "Pending",
        "Rejected",
        "Cancelled",
        "Rejected",
        "Returned",
        "Refunded",
        "Expired",
    ],
    ["succeeded", "created", "processor_declined", "failed", "denied", "charged_back", "refunded", "lapsed"],
];

#[test]
fn every_scenario_gives_its_verdict() {
    check_scenarios(|_| None);
}

/// Each rule has the words of one ledger, and those of all of them in full mode.
#[test]
fn every_scenario_gives_its_verdict_in_the_words_of_other_ledgers() {
    let n_ledgers = proof::rounds(1, LEDGERS.len());
    for turn in 0..n_ledgers {
        check_scenarios(|rule| Some(LEDGERS[(rule + turn) % LEDGERS.len()]));
    }
}

/// Returns the transaction with its status in the words of a ledger.
fn in_words_of(ledger: Option<[&str; 8]>, transaction: &Value) -> Value {
    let position = STATUSES.iter().position(|status| transaction["status"] == *status);
    let (Some(ledger), Some(position)) = (ledger, position) else { return transaction.clone() };
    sample::with(transaction, &json!({ "status": ledger[position] }))
}

/// Runs the cases of every rule, with statuses in the words that `ledger` gives the rule with this number.
fn check_scenarios(ledger: impl Fn(usize) -> Option<[&'static str; 8]> + Sync) {
    let rules = rules();
    let next = AtomicUsize::new(0);
    let deviations = Mutex::new(Vec::new());
    let n_cases = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..N_SERVICES {
            scope.spawn(|| {
                while let Some((position, rule)) =
                    rules.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed))
                {
                    let service = Service::start(&home_of(std::slice::from_ref(rule)));
                    for case in scenario(rule).cases {
                        n_cases.fetch_add(1, Ordering::Relaxed);
                        deviations.lock().unwrap().extend(judge(&service, rule, &case, ledger(position)));
                    }
                }
            });
        }
    });
    let deviations = deviations.into_inner().unwrap();
    assert!(deviations.is_empty(), "{} deviations:\n{}", deviations.len(), deviations.join("\n"));
    println!("{} rules, {} cases", rules.len(), n_cases.into_inner());
}

/// Returns the deviation from the expectation of this case, if any.
fn judge(service: &Service, rule: &Path, case: &Case, ledger: Option<[&str; 8]>) -> Option<String> {
    for past in &case.history {
        let answer = service.inject(&in_words_of(ledger, past));
        assert_eq!(answer.status, 200, "{}, {}: {}", repository::relative(rule), case.name, answer.text());
    }
    let answer = service.inject(&in_words_of(ledger, &case.transaction));
    let judged = (answer.status == 200).then(|| Expectation {
        verdict: answer.at("/verdict").as_str().unwrap_or_default().to_owned(),
        score: answer.at("/score").as_f64().unwrap_or(f64::NAN),
        triggered: answer.triggered(),
    });
    let is_clean = answer.at("/failures").as_array().is_some_and(Vec::is_empty);
    if judged.as_ref() == Some(&case.expect) && is_clean {
        return None;
    }
    let position = repository::relative(rule);
    Some(format!("{position}, {}: expected {:?}, answered {}", case.name, case.expect, answer.text()))
}

#[test]
fn every_rule_has_a_scenario_and_the_name_of_its_file() {
    let rules = rules();
    assert!(rules.len() >= N_RULES_MIN, "only {} rules", rules.len());
    for rule in &rules {
        let position = repository::relative(rule);
        let stem = rule.file_stem().unwrap().to_string_lossy();
        let scenario = scenario(rule);
        assert_eq!(scenario.rule, stem, "{position}: its scenario is about another rule");
        let words: Vec<String> = repository::read(rule).split_whitespace().map(str::to_owned).collect();
        let named = words.windows(2).any(|pair| pair[0].eq_ignore_ascii_case("rule") && pair[1] == stem);
        assert!(named, "{position}: the rule is not named `{stem}`");
        let matching =
            scenario.cases.iter().filter(|case| case.expect.triggered == [stem.to_string()]).count();
        let passing = scenario.cases.iter().filter(|case| case.expect.triggered.is_empty()).count();
        assert!(matching > 0 && passing > 0, "{position}: {matching} cases match and {passing} do not");
    }
}

#[test]
fn every_scenario_has_a_rule() {
    for path in repository::files("rules", ".json") {
        assert!(path.with_extension("ws").exists(), "{} has no rule", repository::relative(&path));
    }
}

#[test]
fn all_example_rules_load_together() {
    let rules = rules();
    let service = Service::start(&home_of(&rules));
    let instructions = service.get("/instructions").expect(200);
    let instructions = instructions.as_array().unwrap();
    assert_eq!(instructions.len(), rules.len(), "some example rules are not in force");
    for instruction in instructions {
        let name = &instruction["name"];
        assert_eq!(instruction["status"], "active", "{name}");
        assert_eq!(instruction["warnings"], serde_json::json!([]), "{name} has warnings");
    }
}

#[test]
fn the_binary_runs_the_scenarios_of_the_shipped_rules_in_process() {
    let home = Home::new();
    let junit = home.at("junit.xml").display().to_string();
    let folder = repository::root().join("rules").display().to_string();
    let output = home
        .command(&["test", "--json", "--junit", &junit, &folder])
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let report: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(output.status.code(), Some(0), "{said}");
    let rules = rules();
    let n_cases: usize = rules.iter().map(|rule| scenario(rule).cases.len()).sum();
    assert_eq!((&report["cases"], &report["failed"]), (&Value::from(n_cases), &Value::from(0)), "{said}");
    assert_eq!(report["scenarios"].as_array().map(Vec::len), Some(rules.len()), "{said}");
    let junit = fs::read_to_string(junit).unwrap();
    assert_eq!(junit.matches("<testcase ").count(), n_cases, "{junit}");
    assert!(!junit.contains("<failure"), "{junit}");
}

#[test]
fn a_case_that_fails_and_a_module_that_traps_are_reported_in_every_format() {
    let rule = tollgate_tests::sample::rule("a", "amount > 1000");
    let home =
        Home::with_rules(&[("a.ws", rule), ("a.json", cases_of("a")), ("m/cases.json", cases_of("m"))]);
    let module = r#"(module
      (func $inner (param i32) unreachable)
      (func (export "evaluate") (result i64) (call $inner (i32.const 1)) (i64.const 0)))"#;
    home.write_rule("m/m.wasm", modules::with_manifest(&modules::of_text(module), &modules::manifest("m")));
    let rules = home.rules().display().to_string();
    let junit = home.at("junit.xml").display().to_string();
    let output = home.command(&["test", "--junit", &junit, &rules]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let of_script = "failed: a.json: 10 is above: expected block 0.9 by [a], answered approve 0 by []";
    let of_module = "rule `m` failed (trap) in `inner` at byte ";
    let trap = ": wasm trap: wasm `unreachable` instruction executed, ";
    for part in [of_script, of_module, trap, "2 scenarios, 2 cases: 2 failed, 0 scenarios not run"] {
        assert!(said.contains(part), "no `{part}` in:\n{said}");
    }
    let junit = fs::read_to_string(junit).unwrap();
    assert_eq!(junit.matches("<failure ").count(), 2, "{junit}");
    let output = home.command(&["test", "--json", &rules]).stdout(Stdio::piped()).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let failure = &report["scenarios"][1]["cases"][0]["failures"][0];
    assert_eq!(failure["function"], "inner", "{report:#}");
    let [offset, fuel] = ["offset", "fuel"].map(|name| failure[name].as_u64().unwrap_or_default());
    assert!(offset > 0 && fuel > 0, "{report:#}");
}

#[test]
fn a_scenario_that_cannot_be_run_and_a_folder_without_one_fail() {
    let rule = tollgate_tests::sample::rule("a", "amount > 1");
    for (files, words) in [
        (vec![("a.ws", rule.clone())], "nothing to test"),
        (vec![("a.ws", rule), ("a.json", "{}".to_owned())], "error: a.json: the scenario cannot be read"),
        (vec![("cases.json", cases_of("gone"))], "there is no rule `gone`"),
        (vec![("a.ws", "rule a {".to_owned()), ("a.json", cases_of("a"))], "error: a.json: a.ws: "),
    ] {
        let home = Home::with_rules(&files);
        let output = home.command(&["test", &home.rules().display().to_string()]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(words), "no `{words}` in:\n{said}");
    }
}

/// Returns a scenario with one case: a payment of 10 that the rule blocks.
fn cases_of(rule: &str) -> String {
    let transaction = tollgate_tests::sample::transaction("t");
    let expect = serde_json::json!({"verdict": "block", "score": 0.9, "triggered": [rule]});
    let case = serde_json::json!({"name": "10 is above", "transaction": transaction, "expect": expect});
    serde_json::json!({"rule": rule, "cases": [case]}).to_string()
}

/// Creates a home with these rules at their paths, and the lists.
fn home_of(rules: &[PathBuf]) -> Home {
    let home = Home::new();
    let top = repository::root().join("rules");
    for path in repository::files("rules/lists", "").iter().chain(rules) {
        let position = path.strip_prefix(&top).unwrap().to_str().unwrap();
        home.write_rule(position, fs::read_to_string(path).unwrap());
    }
    home
}

fn rules() -> Vec<PathBuf> {
    repository::files("rules", ".ws")
}

#[track_caller]
fn scenario(rule: &Path) -> Scenario {
    let path = rule.with_extension("json");
    serde_json::from_str(&repository::read(&path))
        .unwrap_or_else(|error| panic!("{}: {error}", repository::relative(&path)))
}
