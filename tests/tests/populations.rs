//! The shipped rules leave honest customers alone and stop criminals, on populations that were written without them.
//!
//! The sample mode plays a small population, and compares the digest that stands above the table of `rules/README.md` with that of
//! the rules and of the population's source. The full mode plays the population of the table and further seeds;
//! `TOLLGATE_PROOF_SEED` plays only that one. `UPDATE_GOLDEN=1` in full mode rewrites the table. `TOLLGATE_PLAYED` names a file for
//! every payment with its verdict, a line of JSON each.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};
use tollgate_population::Population;
use tollgate_tests::played::{PlayedPayment, PopulationResult, RuleResult, play_past};
use tollgate_tests::{Home, Service, proof, repository};

/// The seed of the table.
const SEED: u64 = 1;
/// Further seeds, of the full mode. Nobody looked at them while the rules were changed.
const OTHER_SEEDS: [u64; 3] = [20_261, 20_262, 20_263];
/// Customers in sample and in full mode.
const N_CUSTOMERS: (usize, usize) = (50, 150);
const NOW: &str = "2026-10-15T12:00:00Z";

/// Most honest payments that may be held, as a share.
const HELD_MAX: f64 = 0.01;
/// Fewest stories that must be caught, as a share.
const CAUGHT_MIN: f64 = 0.95;

const BEGIN: &str = "<!-- populations: begin -->\n";
/// Stands before the digest.
const DIGEST: &str = "<!-- measured with ";
const END: &str = "<!-- populations: end -->\n";

/// Plays a population. Also returns the verdict of each rule.
fn result(seed: u64) -> (PopulationResult, BTreeMap<String, String>) {
    let home = Home::with_shipped_rules();
    let service = Service::start(&home);
    let now: DateTime<Utc> = NOW.parse().unwrap();
    let population = Population::ending_at(now, seed, proof::rounds(N_CUSTOMERS.0, N_CUSTOMERS.1));
    let played = play_past(&service, &population);
    let rules = service.get("/instructions/summaries").expect(200);
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let verdicts: BTreeMap<String, String> =
        rules.as_array().unwrap().iter().map(|rule| (text(&rule["name"]), text(&rule["verdict"]))).collect();
    let holds = |rule: &str| matches!(verdicts[rule].as_str(), "review" | "block" | "deny");
    let result = PopulationResult::new(&played, population.stories(), holds);
    println!("seed {seed}: {}", result.summary());
    if let Some(path) = std::env::var_os("TOLLGATE_PLAYED") {
        fs::write(path, played.iter().map(PlayedPayment::line).collect::<String>()).unwrap();
    }
    (result, verdicts)
}

#[track_caller]
fn check_limits(seed: u64, result: &PopulationResult) {
    let shares = (result.share_held(), result.share_caught());
    let some: Vec<_> = result.blocked.iter().take(5).collect();
    assert!(some.is_empty(), "seed {seed}: {} honest payments are blocked: {some:?} …", result.blocked.len());
    assert!(shares.0 <= HELD_MAX && shares.1 >= CAUGHT_MIN, "seed {seed}: {shares:?}; {}", result.summary());
}

fn table(result: &PopulationResult, verdicts: &BTreeMap<String, String>) -> String {
    let percent = |n: usize, all: usize| {
        format!(
            "{:.2} %",
            100.0 * f64::from(u32::try_from(n).unwrap()) / f64::from(u32::try_from(all.max(1)).unwrap())
        )
    };
    let mut text = format!(
        "Of {} honest payments, {} were held ({}) and {} blocked. Of {} criminal stories, {} were caught ({}).\n\n",
        result.n_honest,
        result.n_held,
        percent(result.n_held, result.n_honest),
        result.blocked.len(),
        result.n_stories,
        result.n_stories - result.missed.len(),
        percent(result.n_stories - result.missed.len(), result.n_stories),
    );
    text.push_str("| typology | stories | caught |\n|---|---|---|\n");
    for (typology, (n_all, n_caught)) in &result.by_typology {
        writeln!(text, "| {typology} | {n_all} | {n_caught} |").unwrap();
    }
    text.push_str("\n| rule | verdict | honest payments matched | stories matched in time | of them by no other rule that holds |\n|---|---|---|---|---|\n");
    for (name, verdict) in verdicts {
        let RuleResult { n_honest, n_stories, n_alone } = result.rules.get(name).cloned().unwrap_or_default();
        let share = percent(n_honest, result.n_honest);
        writeln!(text, "| `{name}` | {verdict} | {n_honest} ({share}) | {n_stories} | {n_alone} |").unwrap();
    }
    let idle = |name: &&String| result.rules.get(*name).is_none_or(|rule| rule.n_stories == 0);
    let idle: Vec<String> = verdicts.keys().filter(idle).map(|name| format!("`{name}`")).collect();
    writeln!(text, "\nRules that matched no story in time: {}.", idle.join(", ")).unwrap();
    text
}

/// Returns the digest of what the table was measured with.
fn digest() -> String {
    let mut files = repository::files("rules", ".ws");
    files.extend(repository::files("rules/lists", ""));
    files.extend(repository::files("population/src", ".rs"));
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        hash.update(repository::relative(&file));
        hash.update(repository::read(&file));
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn honest_customers_pass_and_criminals_are_stopped() {
    if let Some(seed) = std::env::var("TOLLGATE_PROOF_SEED").ok().and_then(|seed| seed.parse().ok()) {
        return check_limits(seed, &result(seed).0);
    }
    let (result, verdicts) = result(SEED);
    check_limits(SEED, &result);
    if !proof::is_full() {
        return;
    }
    let readme = repository::root().join("rules/README.md");
    let written = fs::read_to_string(&readme).unwrap();
    let (before, rest) = written.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let table = table(&result, &verdicts);
    let expected = format!("{before}{BEGIN}{DIGEST}{} -->\n\n{table}\n{END}{after}", digest());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&readme, &expected).unwrap();
    }
    assert!(
        fs::read_to_string(&readme).unwrap() == expected,
        "the table differs: UPDATE_GOLDEN=1 rewrites it"
    );
    for seed in OTHER_SEEDS {
        check_limits(seed, &self::result(seed).0);
    }
}

#[test]
fn the_table_was_measured_with_the_rules_and_the_population_of_now() {
    let readme = repository::read(&repository::root().join("rules/README.md"));
    let expected = format!("{BEGIN}{DIGEST}{} -->", digest());
    assert!(
        readme.contains(&expected),
        "TOLLGATE_PROOF=full UPDATE_GOLDEN=1 measures again; expected {expected}"
    );
}
