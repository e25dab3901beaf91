//! 249 good rules, and one hostile rule of each class beside them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_compiler::{Options, compile};
use tollgate_tests::generator::Batch;
use tollgate_tests::{Home, Service, proof, repository, sample};

use super::guest::{self, Expected};
use super::traffic::percentiles;

const N_GOOD: usize = 249;
/// One of each class.
const HOSTILE: [&str; 12] = [
    "a1_loop",
    "a1_recursion",
    "a2_grow_loop",
    "a2_touch_every_page",
    "a3_fill_in_a_loop",
    "a3_table_copy_in_a_loop",
    "a9_unreachable",
    "a11_reason_not_utf_8",
    "a11_score_nan",
    "a18_flood_of_number",
    "a18_flood_of_aggregate",
    "a18_flood_of_text",
];

/// Transactions of as many sources: a rule that fails for all of them is taken out of the way.
const N_SOURCES: usize = 40;
/// Transactions of few sources before those: as many failures in a row would do so too.
const N_BEFORE_MAX: usize = 900;

/// What a run saw: the good rules that matched, by transaction, and how long the answers took.
#[derive(Default)]
struct Run {
    triggered: Vec<Vec<String>>,
    /// As long as no hostile rule is in quarantine, because the traffic is of few sources.
    before: Vec<Duration>,
    /// Of many sources: first none is, and soon all of them are.
    many: Vec<Duration>,
    /// Once they are.
    after: Vec<Duration>,
}

#[test]
fn good_rules_say_the_same_beside_hostile_ones() {
    let rules = good_rules();
    let n_transactions = proof::rounds(150, 5_000);
    let alone = run(&rules, &[], n_transactions);
    let beside = run(&rules, &HOSTILE, n_transactions);
    for (n, (alone, beside)) in alone.triggered.iter().zip(&beside.triggered).enumerate() {
        assert_eq!(alone, beside, "transaction {n}");
    }
    let n_judged = alone.triggered.len();
    let n_matched = alone.triggered.iter().filter(|names| !names.is_empty()).count();
    assert!(n_matched * 10 > n_judged, "only {n_matched} of {n_judged} matched anything");
    println!(
        "{N_GOOD} good rules, {n_judged} transactions, {n_matched} with a match; beside {} hostile rules 0 differences",
        HOSTILE.len()
    );
    compare("traffic of few sources, none in quarantine", alone.before, beside.before);
    compare("traffic of many sources, from the first on", alone.many, beside.many);
    compare("once they are in quarantine", alone.after, beside.after);
}

fn compare(when: &str, alone: Vec<Duration>, beside: Vec<Duration>) {
    let (alone, beside) = (percentiles(alone), percentiles(beside));
    let more = |alone: Duration, beside: Duration| 100.0 * (beside.as_secs_f64() / alone.as_secs_f64() - 1.0);
    println!(
        "{when}: p50 {:?} alone, {:?} beside ({:+.0} %); p99 {:?} alone, {:?} beside ({:+.0} %)",
        alone.1,
        beside.1,
        more(alone.1, beside.1),
        alone.0,
        beside.0,
        more(alone.0, beside.0)
    );
}

fn run(rules: &[(String, String)], hostile: &[&str], n_transactions: usize) -> Run {
    let service = Service::start(&Home::with_rules(rules));
    let mut ids = Vec::new();
    for guest in guest::of_files().iter().filter(|guest| hostile.contains(&guest.name.as_str())) {
        let id = service.upload("", &guest.bytes).expect(201)["id"].clone();
        if matches!(guest.expected, Expected::Fails(_)) {
            ids.push(id);
        }
    }
    let mut run = Run::default();
    let n_before = n_transactions.min(N_BEFORE_MAX);
    let stir = n_before..n_before + N_SOURCES;
    let transactions = transactions(stir.end + n_transactions);
    for (n, transaction) in transactions.iter().enumerate() {
        let is_stir = stir.contains(&n);
        let fields = if is_stir { json!({"source": format!("stir-{n}")}) } else { json!({}) };
        let start = Instant::now();
        let answer = service.inject(&sample::with(transaction, &fields));
        let duration = start.elapsed();
        if n < stir.start {
            run.before.push(duration);
        } else {
            run.many.push(duration);
        }
        if n >= stir.end {
            run.after.push(duration);
        }
        let mut names = answer.triggered();
        names.retain(|name| !hostile.contains(&name.as_str()));
        run.triggered.push(names);
        for failure in answer.at("/failures").as_array().unwrap() {
            let name = failure["name"].as_str().unwrap();
            assert!(hostile.contains(&name), "a good rule failed: {failure}");
        }
        if n + 1 == stir.end {
            service.until("what keeps failing is in quarantine", || {
                ids.iter()
                    .all(|id| service.get(&format!("/instructions/{id}")).at("/status") == "quarantined")
            });
        }
    }
    run
}

/// The example rules, and generated ones until there are enough.
fn good_rules() -> Vec<(String, String)> {
    let mut rules: Vec<(String, String)> = repository::files("rules", ".ws")
        .iter()
        .map(|path| (repository::name(path), repository::read(path)))
        .collect();
    let lists = repository::files("rules/lists", ".txt");
    let generated = (0..).flat_map(|seed| {
        let scripts = Batch::of_seed(seed).scripts.into_iter().enumerate();
        scripts.map(move |(n, script)| {
            let name = format!("Generated_{seed}_{n}");
            (format!("{name}.ws"), script.replacen(&format!("Generated_{n}"), &name, 1))
        })
    });
    let fit = generated.filter(|(_, script)| compile(script, &Options::default()).rule.is_some());
    let missing = N_GOOD - rules.len();
    rules.extend(fit.take(missing));
    rules.extend(
        lists.iter().map(|path| (format!("lists/{}", repository::name(path)), repository::read(path))),
    );
    rules
}

/// Of the generator, each under an id of its own.
fn transactions(count: usize) -> Vec<Value> {
    let generated = (10_000..).flat_map(|seed| Batch::of_seed(seed).transactions);
    let numbered = generated.take(count).enumerate();
    numbered
        .map(|(n, transaction)| {
            sample::with(&transaction, &json!({"transaction_id": format!("neighbour-{n}")}))
        })
        .collect()
}
