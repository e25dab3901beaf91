//! The API against its own description: every request, valid or not, gets a response that `/openapi.json` allows.

use tollgate_tests::schemathesis::{Schemathesis, Verdict};
use tollgate_tests::{Home, Service, needs, proof, sample};

/// Operations whose bodies contain a script, a module or an address. A schema cannot express which are valid.
const OF_ANOTHER_LANGUAGE: [&str; 5] = [
    "/compile-and-save-instruction",
    "/instructions/wasm",
    "/instructions/{id}",
    "/instructions/{id}/module",
    "/git/clone",
];
/// An operation that answers lines: that of a body which is wrong is an error within the response.
const OF_LINES: &str = "/inject/batch";
/// Cases per operation, in addition to those derived from the schema.
const CASES: (usize, usize) = (6, 1_000);
/// Minimum number of cases in full mode.
const CASES_MIN: usize = 10_000;

#[test]
fn every_answer_is_one_that_the_description_names() {
    needs!(Python);
    let mut home = Home::with_rules(&[(
        "a.ws",
        sample::rule("a", r#"count(when source == $current.source, "P1D") >= 1"#),
    )]);
    // Prevents outgoing connections.
    home.set("SERVICE_GIT_ALLOW_HOSTS", "nowhere.invalid");
    // Ends the event stream, which a test case reads to its end.
    home.set("SERVICE_CONNECTION_AGE", "1s");
    let service = Service::start(&home);
    let n_cases = proof::rounds(CASES.0, CASES.1);
    let select = |flag: &'static str| OF_ANOTHER_LANGUAGE.into_iter().flat_map(move |path| [flag, path]);
    // The same cases on every run, except in full mode.
    let seed: &[&str] = if proof::is_full() { &[] } else { &["--seed", "20260301"] };

    let plain = select("--exclude-path").chain(["--exclude-path", OF_LINES]);
    let plain: Vec<&str> = plain.chain(seed.iter().copied()).collect();
    let lines = ["--include-path", OF_LINES, "--exclude-checks", "negative_data_rejection"];
    let lines: Vec<&str> = lines.into_iter().chain(seed.iter().copied()).collect();
    let others = ["--exclude-checks", "positive_data_acceptance"];
    let others: Vec<&str> = select("--include-path").chain(others).chain(seed.iter().copied()).collect();
    let verdicts = [plain, others, lines].map(|arguments| run(&service, n_cases, &arguments));

    let n_cases: usize = verdicts.iter().map(|verdict| verdict.n_cases).sum();
    let n_tried: usize = verdicts.iter().map(|verdict| verdict.n_operations).sum();
    assert_eq!(n_tried, n_operations(&service), "an operation was not tried");
    assert!(n_cases >= if proof::is_full() { CASES_MIN } else { 500 }, "only {n_cases} cases");
    println!("{n_cases} cases for {n_tried} operations");
}

#[track_caller]
fn run(service: &Service, n_cases: usize, arguments: &[&str]) -> Verdict {
    let verdict = Schemathesis::get().run(service.address(), n_cases, arguments);
    assert!(verdict.is_fine, "{}", verdict.report);
    verdict
}

/// Counts all operations except the one that returns the description itself.
fn n_operations(service: &Service) -> usize {
    let document = service.get("/openapi.json").expect(200);
    let paths = document["paths"].as_object().unwrap().iter().filter(|(path, _)| *path != "/openapi.json");
    paths.map(|(_, path)| path.as_object().unwrap().len()).sum()
}
