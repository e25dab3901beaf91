//! Runs the cases of an example: transactions, and the expected responses of a service with only that rule.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use tollgate_tests::{Home, Service, repository};

/// Content of `cases.json`. Ids and accounts keep the cases independent.
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
    reason: String,
    triggered: Vec<String>,
}

/// Uploads the module of the rule in this folder and checks all its cases.
#[track_caller]
pub(crate) fn check(module: &[u8], folder: &Path) {
    let scenario: Scenario = serde_json::from_str(&repository::read(&folder.join("cases.json"))).unwrap();
    let service = Service::start(&Home::new());
    let instruction = service.upload("", module).expect(201);
    assert_eq!(instruction["name"], json!(scenario.rule));
    assert_eq!(instruction["source"]["kind"], "upload");
    let matching = scenario.cases.iter().filter(|case| !case.expect.triggered.is_empty()).count();
    assert!(matching > 0 && matching < scenario.cases.len(), "some cases match and some do not");
    for case in &scenario.cases {
        for past in &case.history {
            assert_eq!(service.inject(past).status, 200, "{}, {}", scenario.rule, case.name);
        }
        let answer = service.inject(&case.transaction);
        let location = format!("{}, {}: {}", scenario.rule, case.name, answer.text());
        assert_eq!(answer.status, 200, "{location}");
        assert_eq!(answer.at("/failures"), json!([]), "{location}");
        let judged = Expectation {
            verdict: answer.at("/verdict").as_str().unwrap().to_owned(),
            score: answer.at("/score").as_f64().unwrap(),
            reason: answer.at("/reason").as_str().unwrap().to_owned(),
            triggered: answer.triggered(),
        };
        assert_eq!(judged, case.expect, "{location}");
    }
    println!("{}: {} cases", scenario.rule, scenario.cases.len());
}
