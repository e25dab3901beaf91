//! 249 good rules beside one hostile rule of each class.

use std::ops::Range;
use std::slice;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_compiler::emit::emit;
use tollgate_compiler::{CheckedRule, CompileOptions, compile};
use tollgate_guest_abi::limits::FUEL_PER_RUN;
use tollgate_guest_abi::{AggregateSpec, Comparison, Condition, Operand};
use tollgate_tests::generator::{self, Batch};
use tollgate_tests::{Home, RuleNames, Service, proof, repository, sample};

use super::guest::{self, Expected};
use super::traffic::percentiles;

const N_GOOD: usize = 249;
/// One rule of each class.
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

/// Number of transactions from distinct sources. A rule that fails for all of them, and for those before, is quarantined.
const N_SOURCES: usize = 120;
/// Maximum ratio of the p99 latency beside one hostile rule to that without, not counting the fuel of the hostile rule.
const P99_RATIO_MAX: f64 = 1.2;
/// Time of the fuel of one rule on one transaction. A hostile rule uses all of it until it is quarantined.
const FUEL_TIME: Duration = Duration::from_nanos(2 * FUEL_PER_RUN);

/// A service with the good rules and some hostile ones, and its measurements.
struct Fixture {
    hostile: Vec<&'static str>,
    service: Service,
    names: RuleNames,
    /// The hostile rules that are admitted and fail.
    failing: Vec<Value>,
    times: Times,
}

/// Latencies by phase.
#[derive(Default)]
struct Times {
    /// Few sources, so that no hostile rule is in quarantine.
    before: Vec<Duration>,
    /// Many sources: first no rule is in quarantine, and soon all hostile ones are.
    many: Vec<Duration>,
    /// After all hostile rules are in quarantine.
    after: Vec<Duration>,
}

/// A phase of a run.
type Phase = fn(&Times) -> &Vec<Duration>;

#[test]
fn good_rules_say_the_same_beside_hostile_ones() {
    let rules = good_rules();
    let (n_before, n_after) = (proof::rounds(150, 900), proof::rounds(150, 1_000));
    let stir = n_before..n_before + N_SOURCES;
    let mut fixtures: Vec<Fixture> =
        companies().into_iter().map(|company| Fixture::new(&rules, company)).collect();
    let n_fixtures = fixtures.len();
    let transactions = transactions(stir.end + n_after);
    let mut n_matched = 0;
    for (n, transaction) in transactions.iter().enumerate() {
        let source = stir.contains(&n).then(|| format!("stir-{n}"));
        let transaction = source.map_or_else(
            || transaction.clone(),
            |source| sample::with(transaction, &json!({"source": source})),
        );
        // The order rotates, so that no service always follows the same other one.
        let mut names = vec![Vec::new(); n_fixtures];
        for index in (0..n_fixtures).map(|index| (n + index) % n_fixtures) {
            names[index] = fixtures[index].judge(&transaction, n, &stir);
        }
        n_matched += usize::from(!names[0].is_empty());
        for (fixture, names_beside) in fixtures.iter().zip(&names) {
            assert_eq!(names[0], *names_beside, "transaction {n} beside {:?}", fixture.hostile);
        }
        if n + 1 == stir.end {
            fixtures.iter().for_each(Fixture::wait_for_quarantine);
        }
    }
    assert!(n_matched * 10 > transactions.len(), "only {n_matched} matched anything");
    println!(
        "{N_GOOD} good rules, {} transactions, {n_matched} with a match, 0 differences",
        transactions.len()
    );
    report(&fixtures);
}

/// Returns the sets of hostile rules: none, all, and in full mode each by itself.
fn companies() -> Vec<Vec<&'static str>> {
    let singles = HOSTILE.iter().map(|name| vec![*name]).filter(|_| proof::is_full());
    [Vec::new(), HOSTILE.to_vec()].into_iter().chain(singles).collect()
}

/// Prints the measurements. In full mode, the limit applies to single hostile rules; all of them together are only
/// reported.
fn report(fixtures: &[Fixture]) {
    let Some((alone, beside)) = fixtures.split_first() else { return };
    let phases: [(&str, Phase, Duration); 3] = [
        ("few sources, none in quarantine", |times| &times.before, FUEL_TIME),
        ("many sources, from the first on", |times| &times.many, FUEL_TIME),
        ("once they are in quarantine", |times| &times.after, Duration::ZERO),
    ];
    for (phase, of, fuel_time) in phases {
        let (alone_99, alone_50) = percentiles(of(&alone.times).clone());
        println!("{phase}: alone p50 {alone_50:?}, p99 {alone_99:?}");
        for Fixture { hostile, times, .. } in beside {
            let (p99, p50) = percentiles(of(times).clone());
            let (ratio_99, ratio_50) =
                (p99.as_secs_f64() / alone_99.as_secs_f64(), p50.as_secs_f64() / alone_50.as_secs_f64());
            let who =
                if let [name] = hostile[..] { name.to_owned() } else { format!("all {}", hostile.len()) };
            println!("  beside {who}: p50 {p50:?} (x {ratio_50:.2}), p99 {p99:?} (x {ratio_99:.2})");
            let is_held = proof::is_full() && hostile.len() == 1;
            let limit = alone_99.mul_f64(P99_RATIO_MAX) + fuel_time;
            assert!(
                !is_held || p99 <= limit,
                "{phase}: {who} slows its neighbours to {p99:?}, limit {limit:?}"
            );
        }
    }
}

impl Fixture {
    fn new(rules: &[(String, String)], hostile: Vec<&'static str>) -> Self {
        let mut home = Home::with_rules(rules);
        home.set("SERVICE_QUARANTINE_AFTER", "0s");
        let service = Service::start(&home);
        let mut failing = Vec::new();
        for guest in guest::of_files().iter().filter(|guest| hostile.contains(&guest.name.as_str())) {
            let id = service.upload("", &guest.bytes).expect(201)["id"].clone();
            if matches!(guest.expected, Expected::Fails(_)) {
                failing.push(id);
            }
        }
        let names = RuleNames::fetch(&service.client());
        Self { hostile, service, names, failing, times: Times::default() }
    }

    /// Returns the good rules that match the `n`th transaction.
    fn judge(&mut self, transaction: &Value, n: usize, stir: &Range<usize>) -> Vec<String> {
        let start = Instant::now();
        let answer = self.service.inject(transaction);
        let duration = start.elapsed();
        let of_sources = if n < stir.start { &mut self.times.before } else { &mut self.times.many };
        of_sources.push(duration);
        if n >= stir.end {
            self.times.after.push(duration);
        }
        let is_hostile = |name: &str| self.hostile.contains(&name);
        for failed in self.names.in_member(&answer, "failures") {
            assert!(is_hostile(&failed), "a good rule failed: {failed}");
        }
        let matched = self.names.in_member(&answer, "triggered").into_iter();
        matched.filter(|name| !is_hostile(name)).collect()
    }

    fn wait_for_quarantine(&self) {
        let status = |id: &Value| self.service.get(&format!("/instructions/{id}")).at("/status").clone();
        self.service.until("what keeps failing is in quarantine", || {
            self.failing.iter().all(|id| status(id) == "quarantined")
        });
    }
}

/// Returns the example rules, and generated ones up to the required number.
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
    let fit = generated.filter(|(_, script)| {
        compile(script, &CompileOptions::default()).rule.is_some_and(|rule| has_bounded_lookups(&rule))
    });
    let missing = N_GOOD - rules.len();
    rules.extend(fit.take(missing));
    rules.extend(
        lists.iter().map(|path| (format!("lists/{}", repository::name(path)), repository::read(path))),
    );
    rules.extend(generator::lists().into_iter().map(|(name, entries)| {
        let lines = if entries.is_empty() { "# empty on purpose".to_owned() } else { entries.join("\n") };
        (format!("lists/{name}.txt"), lines)
    }));
    rules
}

/// Returns whether every aggregate selects transactions by an equality with the one under evaluation, or selects all. Others
/// examine each transaction of their window, so that they run out of fuel by themselves after some 2,000.
fn has_bounded_lookups(rule: &CheckedRule) -> bool {
    let module = emit(slice::from_ref(rule)).expect("a checked rule has a module");
    let mut aggregates = module.manifest.needs.aggregates.iter();
    aggregates.all(|AggregateSpec { filter, .. }| match filter {
        Condition::All(parts) => parts.is_empty() || parts.iter().any(is_equality_with_current),
        filter => is_equality_with_current(filter),
    })
}

fn is_equality_with_current(condition: &Condition) -> bool {
    let Condition::Compare { left, operator: Comparison::Equal, right } = condition else { return false };
    matches!(
        (left, right),
        (Operand::Field(_), Operand::Current(_)) | (Operand::Current(_), Operand::Field(_))
    )
}

/// Returns generated transactions with unique ids.
fn transactions(count: usize) -> Vec<Value> {
    let generated = (10_000..).flat_map(|seed| Batch::of_seed(seed).transactions);
    let numbered = generated.take(count).enumerate();
    numbered
        .map(|(n, transaction)| {
            sample::with(&transaction, &json!({"transaction_id": format!("neighbour-{n}")}))
        })
        .collect()
}
