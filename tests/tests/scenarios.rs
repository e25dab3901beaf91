#![cfg(test)]
//! Every example rule with the real binary: transactions in, verdicts out.
//!
//! Each `rules/<typology>/<name>.ws` has a `<name>.json`: `{rule, cases: [{name, history, transaction, expect}]}`. The
//! cases of a rule run on one service with only that rule and the shared lists; ids and accounts keep them independent.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::Deserialize;
use serde_json::Value;
use tollgate_tests::{Home, Service, repository};

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

#[test]
fn every_scenario_gives_its_verdict() {
    let rules = rules();
    let next = AtomicUsize::new(0);
    let deviations = Mutex::new(Vec::new());
    let n_cases = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..N_SERVICES {
            scope.spawn(|| {
                while let Some(rule) = rules.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let service = Service::start(&home_of(std::slice::from_ref(rule)));
                    for case in scenario(rule).cases {
                        n_cases.fetch_add(1, Ordering::Relaxed);
                        deviations.lock().unwrap().extend(judge(&service, rule, &case));
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
fn judge(service: &Service, rule: &Path, case: &Case) -> Option<String> {
    for past in &case.history {
        let answer = service.inject(past);
        assert_eq!(answer.status, 200, "{}, {}: {}", repository::relative(rule), case.name, answer.text());
    }
    let answer = service.inject(&case.transaction);
    let judged = (answer.status == 200).then(|| Expectation {
        verdict: answer.at("/verdict").as_str().unwrap_or_default().to_owned(),
        score: answer.at("/score").as_f64().unwrap_or(f64::NAN),
        triggered: answer.triggered(),
    });
    let is_clean = answer.at("/failures").as_array().is_some_and(Vec::is_empty);
    if judged.as_ref() == Some(&case.expect) && is_clean {
        return None;
    }
    let place = repository::relative(rule);
    Some(format!("{place}, {}: expected {:?}, answered {}", case.name, case.expect, answer.text()))
}

#[test]
fn every_rule_has_a_scenario_and_the_name_of_its_file() {
    let rules = rules();
    assert!(rules.len() >= N_RULES_MIN, "only {} rules", rules.len());
    for rule in &rules {
        let place = repository::relative(rule);
        let stem = rule.file_stem().unwrap().to_string_lossy();
        let scenario = scenario(rule);
        assert_eq!(scenario.rule, stem, "{place}: its scenario is about another rule");
        let words: Vec<String> = repository::read(rule).split_whitespace().map(str::to_owned).collect();
        let named = words.windows(2).any(|pair| pair[0].eq_ignore_ascii_case("rule") && pair[1] == stem);
        assert!(named, "{place}: the rule is not named `{stem}`");
        let matching =
            scenario.cases.iter().filter(|case| case.expect.triggered == [stem.to_string()]).count();
        let passing = scenario.cases.iter().filter(|case| case.expect.triggered.is_empty()).count();
        assert!(matching > 0 && passing > 0, "{place}: {matching} cases match and {passing} do not");
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

/// Creates a home with these rules at their paths, and the lists.
fn home_of(rules: &[PathBuf]) -> Home {
    let home = Home::new();
    let top = repository::root().join("rules");
    for path in repository::files("rules/lists", "").iter().chain(rules) {
        let place = path.strip_prefix(&top).unwrap().to_str().unwrap();
        home.write_rule(place, fs::read_to_string(path).unwrap());
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
