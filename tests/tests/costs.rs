//! The predicted cost of a rule is an upper bound. The fuel that is predicted from its code, plus the price of the past
//! transactions that its lookups read, suffices for every rule.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use tollgate_compiler::emit::emit;
use tollgate_compiler::{CheckedRule, CompileOptions, compile};
use tollgate_engine::evaluation::Evaluator;
use tollgate_engine::registry::{Lists, RuleSet};
use tollgate_engine::sandbox::Sandbox;
use tollgate_guest_abi::Cost;
use tollgate_guest_abi::prices;
use tollgate_history::History;
use tollgate_load::corpus;
use tollgate_model::assessment::{RuleFailure, RuleOutcome};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::{LongestReads, Transaction};
use tollgate_tests::{proof, repository, sample, subject};

/// Maximum price of reading and testing a row in any of these rules.
const ROW_PRICE_MAX: u64 = 500;
/// More than reading any field or list of these transactions costs.
const LONGEST: LongestReads = LongestReads { of_field: 4_000, n_elements: 16 };

/// A history, and transactions with their predecessors.
struct Stage {
    sandbox: Sandbox,
    history: History,
    stream: Vec<Arc<Transaction>>,
}

impl Stage {
    fn new(n_transactions: usize) -> Self {
        let stream = (0..n_transactions).map(transaction).collect();
        Self { sandbox: Sandbox::new().unwrap(), history: History::new(), stream }
    }

    /// Returns the bound of each rule, without what its lookups read.
    fn bounds(&self, rules: &[CheckedRule]) -> Vec<u64> {
        self.bounds_for(rules, LONGEST)
    }

    fn bounds_for(&self, rules: &[CheckedRule], longest: LongestReads) -> Vec<u64> {
        let bound = rules.iter().enumerate().map(|(number, rule)| {
            let rule = subject::bind(number, rule, &self.sandbox, &self.history).unwrap();
            rule.cost_bound().fuel(longest)
        });
        bound.collect()
    }

    /// Returns for each rule whether its fuel suffices.
    fn suffices(&self, rules: &[CheckedRule], fuel: &[u64]) -> Vec<bool> {
        let bound = rules.iter().zip(fuel).enumerate().map(|(number, (rule, fuel))| {
            let rule = subject::bind_within(number, rule, &self.sandbox, &self.history, *fuel);
            Arc::new(rule.unwrap())
        });
        let rule_set = Arc::new(RuleSet::new(1, bound.collect(), Lists::default()));
        let mut evaluator = Evaluator::new(self.sandbox.clone());
        let mut suffices = vec![true; rules.len()];
        for transaction in &self.stream {
            let number = self.history.admit(Arc::clone(transaction), |number: Sequence| number);
            let outcomes = evaluator.evaluate(&rule_set, transaction, number).of_each();
            for (suffices, outcome) in suffices.iter_mut().zip(outcomes) {
                *suffices &= outcome != RuleOutcome::Failed(RuleFailure::Fuel);
            }
        }
        suffices
    }
}

#[test]
fn no_rule_uses_more_than_is_predicted_of_it() {
    let rules = rules();
    let stage = Stage::new(proof::rounds(40, 400));
    let n_past = u64::try_from(2 * stage.stream.len()).unwrap();
    let costs: Vec<Cost> = rules.iter().map(cost).collect();
    let bounds = stage.bounds(&rules);
    let predicted: Vec<u64> = costs
        .iter()
        .zip(&bounds)
        .map(|(cost, bound)| {
            let of_lookup = prices::ROWS + n_past * (ROW_PRICE_MAX + prices::DISTINCT_VALUE);
            bound + u64::from(cost.history_lookups) * of_lookup
        })
        .collect();
    let enough = stage.suffices(&rules, &predicted);
    for ((rule, cost), enough) in rules.iter().zip(&costs).zip(enough) {
        assert!(enough, "`{}` runs out of what is predicted: {cost:?}", rule.entry.name);
    }

    // The prediction covers the longest path, while these transactions take shorter ones. It is still realistic: for
    // most rules without lookups a sixteenth of it does not suffice.
    let plain: Vec<CheckedRule> = rules
        .iter()
        .zip(&costs)
        .filter(|(_, cost)| cost.history_lookups == 0)
        .map(|(rule, _)| rule.clone())
        .collect();
    let part: Vec<u64> =
        stage.bounds_for(&plain, LongestReads::default()).iter().map(|bound| bound / 16).collect();
    let n_stopped = stage.suffices(&plain, &part).into_iter().filter(|enough| !enough).count();
    println!(
        "{} rules keep to what is predicted; {n_stopped} of {} not to a sixteenth of it",
        rules.len(),
        plain.len()
    );
    assert!(n_stopped * 2 > plain.len(), "{n_stopped} of {}", plain.len());
}

/// Returns the rules used for measurements, and the example rules.
fn rules() -> Vec<CheckedRule> {
    let named_lists = BTreeSet::from([corpus::WATCHED.to_owned()]);
    let options = CompileOptions { named_lists: Some(&named_lists), ..CompileOptions::default() };
    let measured = corpus::scripts(proof::rounds(100, 1_000), 50).into_iter().map(|script| script.text);
    let examples = repository::files("rules", ".ws").into_iter().map(|path| repository::read(&path));
    measured.chain(examples).map(|text| compile(&text, &options).rule.unwrap()).collect()
}

fn cost(rule: &CheckedRule) -> Cost {
    emit(std::slice::from_ref(rule)).unwrap().manifest.cost
}

/// Returns a transaction of one of a few accounts with all fields the rules read, alternating amounts and values.
fn transaction(number: usize) -> Arc<Transaction> {
    let amounts = [1, 40, 950, 9_500, 60_000, 240_000];
    let pick = |things: &[&'static str]| things[number % things.len()];
    let fields = json!({
        "amount": amounts[number % amounts.len()],
        "currency": pick(&["EUR", "USD", "NGN", "XOF", "KES"]),
        "source": format!("acc-{}", number % 3),
        "destination": format!("acc-{}", number % 4),
        "description": pick(&["gift card and crypto", "rent", "casino escrow voucher", ""]),
        "status": pick(&["applied", "pending", "failed", "declined"]),
        "created_at": format!("2026-03-01T{:02}:{:02}:00Z", number % 24, number % 60),
        "meta_data": metadata(number),
    });
    let sent = sample::with(&sample::transaction(&format!("t{number}")), &fields).to_string();
    let (transaction, _) = Transaction::parse(sent.as_bytes(), chrono::DateTime::UNIX_EPOCH).unwrap();
    Arc::new(transaction)
}

fn metadata(number: usize) -> Json {
    let (countries, homes) = (["IR", "DE", "NG", "KP"], ["DE", "IR"]);
    json!({
        "country": countries[number % countries.len()],
        "home": homes[number % homes.len()],
        "risk": number * 7 % 100,
        "card": format!("card-{}", number % 2),
        "device": format!("device-{}", number % 3),
        "merchant": format!("merchant-{}", number % 2),
    })
}
