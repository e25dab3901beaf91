//! Nanoseconds per rule, warm: fused modules, a module per rule, and hand-written Rust closures, in one process and
//! run.
//!
//! `cargo bench -p tollgate-benches --bench rules [-- [ordinary] [only=VARIANT] [batches=N] [RULES…]]`
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Arc;

use chrono::Utc;
use tollgate_benches::report::{Variant, interleave, machine};
use tollgate_benches::twins::{self, Context, Traffic, TwinRule};
use tollgate_compiler::emit::Selection;
use tollgate_engine::artifacts::{Artifacts, Compiler};
use tollgate_engine::evaluation::Evaluator;
use tollgate_engine::fusion;
use tollgate_engine::registry::{FusedBody, Lists, RuleSet};
use tollgate_engine::sandbox::Execution;
use tollgate_engine::sandbox::Sandbox;
use tollgate_history::History;
use tollgate_model::assessment::RuleOutcome;
use tollgate_model::calendar::ZoneData;
use tollgate_model::instruction::{InstructionId, InstructionSource};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;
use tollgate_rules::intake::{Draft, Identity, KnownNames};

/// Number of transactions in the history, and how many of them each batch evaluates again.
const N_HISTORY: usize = 20_000;
const N_JUDGED: usize = 1_024;
const N_BATCHES: usize = 31;

fn main() -> anyhow::Result<()> {
    let history = History::new();
    let course = Course::from_words(std::env::args().skip(1));
    let transactions = twins::transactions(N_HISTORY, course.traffic)?;
    for transaction in &transactions {
        history.admit(Arc::clone(transaction), |_| ());
    }
    let as_of = history.last_sequence().next();
    let judged: Vec<_> = transactions.into_iter().rev().take(N_JUDGED).collect();
    println!(
        "machine: {}; {N_JUDGED} transactions a batch, {} batches, history of {N_HISTORY}, {:?} traffic",
        machine(),
        course.n_batches,
        course.traffic,
    );
    println!(
        "{:>6}  {:<28} {:>12} {:>12} {:>12} {:>8}",
        "rules", "variant", "min ns/rule", "median", "µs/trans.", "ratio"
    );
    for &n_rules in &course.sizes {
        measure(n_rules, &course, &history, &judged, as_of)?;
    }
    Ok(())
}

/// The selected measurements.
struct Course {
    sizes: Vec<usize>,
    /// Prefix of the only variant to run.
    only: Option<String>,
    n_batches: usize,
    traffic: Traffic,
}

impl Course {
    fn from_words(words: impl Iterator<Item = String>) -> Self {
        let (traffic, n_batches) = (Traffic::Suspicious, N_BATCHES);
        let mut course = Self { sizes: Vec::new(), only: None, n_batches, traffic };
        for word in words {
            match word.split_once('=') {
                Some(("only", name)) => course.only = Some(name.to_owned()),
                Some(("batches", n)) => course.n_batches = n.parse().unwrap_or(N_BATCHES),
                None if word == "ordinary" => course.traffic = Traffic::Ordinary,
                _ => course.sizes.extend(word.parse::<usize>()),
            }
        }
        if course.sizes.is_empty() {
            course.sizes.extend([10, 100, 1_000, 10_000]);
        }
        course
    }
}

fn measure(
    n_rules: usize,
    course: &Course,
    history: &History,
    judged: &[Arc<Transaction>],
    as_of: Sequence,
) -> anyhow::Result<()> {
    let rules = twins::rules(n_rules, history)?;
    let sandbox = Sandbox::new()?;
    let single = compile(&rules, &sandbox, history)?;
    let fused = fuse(&single, &sandbox);
    let all_run = without_selection(&fused);
    let interpreter = Sandbox::executing(Execution::Interpreted)?;
    let interpreted = fuse(&compile(&rules, &interpreter, history)?, &interpreter);
    let closures = || {
        for transaction in judged {
            let context = Context::new(transaction, as_of);
            black_box(rules.iter().filter(|rule| (rule.native)(black_box(&context))).count());
        }
    };
    let mut variants: Vec<Variant<'_>> = vec![("Rust closures", Box::new(closures))];
    for (name, rule_set, sandbox) in [
        ("module per rule", single, &sandbox),
        ("fused modules, none spared", all_run, &sandbox),
        ("fused modules", fused, &sandbox),
        ("interpreted fused modules", interpreted, &interpreter),
    ] {
        let (rule_set, mut evaluator) = (Arc::new(rule_set), Evaluator::new(sandbox.clone()));
        agree(&rules, &rule_set, &mut evaluator, judged, as_of)?;
        let judge_all = move || {
            for transaction in judged {
                black_box(evaluator.evaluate(&rule_set, black_box(transaction), as_of));
            }
        };
        variants.push((name, Box::new(judge_all)));
    }
    variants.retain(|(name, _)| course.only.as_ref().is_none_or(|only| name.starts_with(only.as_str())));
    let samples = interleave(course.n_batches, variants);
    let n_items = n_rules * judged.len();
    let base = samples.first().map_or(f64::NAN, |samples| samples.median_ns(n_items));
    for variant in &samples {
        let (minimum, median) = (variant.minimum_ns(n_items), variant.median_ns(n_items));
        let micros = median * n_rules as f64 / 1e3;
        println!(
            "{n_rules:>6}  {:<28} {minimum:>12.1} {median:>12.1} {micros:>12.2} {:>7.2}x",
            variant.name,
            median / base
        );
    }
    Ok(())
}

fn compile(rules: &[TwinRule], sandbox: &Sandbox, history: &History) -> anyhow::Result<RuleSet> {
    let lists = Lists::default();
    let artifacts = Arc::new(Artifacts::without_cache(sandbox, Compiler::in_this_process()));
    let bound = (1..).zip(rules).map(|(number, rule)| {
        let (zones, currencies) = (ZoneData::built_in(), BTreeSet::new());
        let known = KnownNames { lists: &lists, zones: &zones, currencies: &currencies };
        let draft = Draft::compile(&artifacts, known, rule.script.clone())?;
        let identity = Identity::new(InstructionId(number), InstructionSource::Api, Utc::now());
        Ok(Arc::new(draft.bind(history, identity)?))
    });
    Ok(RuleSet::new(1, bound.collect::<anyhow::Result<_>>()?, lists.clone()))
}

/// Fuses the rules as the service does.
fn fuse(single: &RuleSet, sandbox: &Sandbox) -> RuleSet {
    let rules: Vec<_> = single.rules.iter().map(|in_force| Arc::clone(&in_force.rule)).collect();
    let bodies = fusion::bodies(&|bytes| sandbox.admit(bytes), &[], &rules);
    let fused = RuleSet::fused(1, rules, &bodies, single.lists.clone());
    fused.compile_searches();
    fused
}

/// Returns the same bodies without selection, so that each runs on every transaction.
fn without_selection(fused: &RuleSet) -> RuleSet {
    let rules: Vec<_> = fused.rules.iter().map(|in_force| Arc::clone(&in_force.rule)).collect();
    let bodies = fused.bodies.iter().map(|in_force| {
        let FusedBody { members, bound, is_full, .. } = &*in_force.body;
        let (members, bound) = (members.clone(), Arc::clone(bound));
        Arc::new(FusedBody { members, bound, selection: Selection::default(), is_full: *is_full })
    });
    RuleSet::fused(1, rules, &bodies.collect::<Vec<_>>(), fused.lists.clone())
}

/// Checks that both variants match the same rules; otherwise the figures are not comparable.
fn agree(
    rules: &[TwinRule],
    rule_set: &Arc<RuleSet>,
    evaluator: &mut Evaluator,
    judged: &[Arc<Transaction>],
    as_of: Sequence,
) -> anyhow::Result<()> {
    for transaction in judged {
        let context = Context::new(transaction, as_of);
        let outcomes = evaluator.evaluate(rule_set, transaction, as_of).of_each();
        for (rule, outcome) in rules.iter().zip(outcomes) {
            let native = if (rule.native)(&context) { RuleOutcome::Matched } else { RuleOutcome::NotMatched };
            anyhow::ensure!(
                native == outcome,
                "{} on {}: {outcome:?}",
                rule.script,
                transaction.transaction_id
            );
        }
    }
    Ok(())
}
