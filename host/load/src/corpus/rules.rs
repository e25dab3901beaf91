//! Generated rules, in the form an analyst would write them.

use fastrand::Rng;

use super::{COUNTRIES, CURRENCIES, N_ACCOUNTS, RARE_COUNTRIES, SEED, STATUSES, WORDS, pick};

/// The largest number of distinct aggregates in the corpus.
pub const AGGREGATES_MAX: usize = KEYS.len() * ASKED.len() * WINDOWS.len();
/// The largest number of aggregates in one rule.
const PER_RULE_MAX: usize = 8;
/// The number of distinct aggregates in [`usual_scripts`].
const N_AGGREGATES: usize = 10;
/// The named list that some rules search.
pub const WATCHED: &str = "bench_watched";

const KEYS: [&str; 5] = ["source", "destination", "metadata.card", "metadata.device", "metadata.merchant"];
/// Function, value and limit; the limits are almost never reached.
const ASKED: [(&str, &str, u32); 5] = [
    ("count", "", 1_000_000),
    ("sum", "amount ", 1_000_000_000),
    ("avg", "amount ", 100_000),
    ("max", "amount ", 200_000),
    ("distinct", "destination ", 100_000),
];
const WINDOWS: [&str; 4] = ["PT10M", "PT1H", "P1D", "P30D"];

/// A rule file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Path relative to the rules directory.
    pub path: String,
    /// Text of the rule.
    pub text: String,
}

/// Whether `n_rules` rules can contain `n_aggregates` distinct aggregates.
#[must_use]
pub(crate) const fn can_ask(n_rules: usize, n_aggregates: usize) -> bool {
    n_aggregates <= AGGREGATES_MAX && n_aggregates <= n_rules * PER_RULE_MAX
}

/// Returns `n_rules` rules with `n_aggregates` distinct aggregates in total; the same for every call.
#[must_use]
pub fn scripts(n_rules: usize, n_aggregates: usize) -> Vec<Script> {
    let mut random = Rng::with_seed(SEED);
    let n_asking = match n_aggregates {
        0 => 0,
        n => (n_rules / 10).max(n.div_ceil(PER_RULE_MAX)).min(n_rules),
    };
    let mut n_plain = 0;
    (0..n_rules)
        .map(|number| {
            // Spread rules with aggregates evenly among the others.
            let first = number * n_asking / n_rules;
            let asks = (number + 1) * n_asking / n_rules > first;
            n_plain += usize::from(!asks);
            let when = match n_plain % 9 {
                _ if asks => history(first, n_asking, n_aggregates),
                0..6 => comparison(&mut random),
                6 | 7 => list(&mut random),
                _ => pattern(&mut random),
            };
            let text = format!(
                "rule bench_{number} {{\n  when {when}\n  then review score 0.5 reason \"Measured rule {number}\"\n}}\n"
            );
            Script { path: format!("{}/bench_{number}.ws", number % 10), text }
        })
        .collect()
}

/// Returns `n_rules` rules with ten distinct aggregates, or with none if they are too few for ten.
#[must_use]
pub fn usual_scripts(n_rules: usize) -> Vec<Script> {
    scripts(n_rules, if can_ask(n_rules, N_AGGREGATES) { N_AGGREGATES } else { 0 })
}

/// The accounts on the named list: one in a thousand.
#[must_use]
pub fn watched() -> String {
    let accounts = (0..N_ACCOUNTS).step_by(1_000).map(|number| format!("acc-{number:06}\n"));
    accounts.collect()
}

fn comparison(random: &mut Rng) -> String {
    let (limit, risk) = (2_000 + random.u32(..20_000), 50 + random.u32(..50));
    let (currency, status) = (pick(random, &CURRENCIES), pick(random, &STATUSES));
    match random.u32(..3) {
        0 => format!("amount > {limit} and metadata.risk >= {risk} and currency == \"{currency}\""),
        1 => format!("amount between {limit} and {} and status != \"{status}\"", limit + 500),
        _ => format!("metadata.risk > {risk} and amount >= {limit} and source != destination"),
    }
}

fn list(random: &mut Rng) -> String {
    let rare: Vec<String> = (0..4).map(|_| format!("\"{}\"", pick(random, &RARE_COUNTRIES))).collect();
    let (rare, limit) = (rare.join(", "), 300 + random.u32(..2_000));
    match random.u32(..4) {
        0 => format!("source in ${WATCHED} and amount > {limit}"),
        1 => format!("metadata.country in ({rare}) and amount > {limit}"),
        2 => format!("currency not_in (\"EUR\", \"USD\", \"GBP\") and metadata.country in ({rare})"),
        _ => format!("metadata.country == \"{}\" and metadata.home in ({rare})", pick(random, &COUNTRIES)),
    }
}

fn pattern(random: &mut Rng) -> String {
    let (one, other) = (pick(random, &WORDS).replace(' ', " ?"), pick(random, &WORDS).replace(' ', " ?"));
    format!("description regex \"(?i){one}|{other}\"")
}

/// The condition of the rule at position `first` among the rules with aggregates.
fn history(first: usize, n_asking: usize, n_aggregates: usize) -> String {
    let own: Vec<usize> = match n_aggregates {
        n if n <= n_asking => vec![first % n.max(1)],
        n => (first..n).step_by(n_asking.max(1)).collect(),
    };
    own.into_iter().map(aggregate).collect::<Vec<_>>().join("\n   or ")
}

/// Returns the aggregate with this number; numbers below [`AGGREGATES_MAX`] give distinct aggregates.
fn aggregate(number: usize) -> String {
    let (n_keys, n_pairs) = (KEYS.len(), KEYS.len() * ASKED.len());
    let key = KEYS.get(number % n_keys).copied().unwrap_or_default();
    let asked = ASKED.get(number / n_keys % ASKED.len()).copied().unwrap_or_default();
    let window = (number + number / n_keys + number / n_pairs) % WINDOWS.len();
    let window = WINDOWS.get(window).copied().unwrap_or_default();
    let (function, value, limit) = asked;
    format!("{function}({value}when {key} == $current.{key}, \"{window}\") >= {limit}")
}
