//! Tests of rules that keep failing and of owners whose rules cost too much.

use std::sync::Arc;

use chrono::DateTime;
use tollgate_compiler::emit::emit;
use tollgate_compiler::{CompileOptions, compile};
use tollgate_history::History;
use tollgate_model::instruction::{Instruction, InstructionRecord, InstructionSource, RuleOwner};

use super::*;
use crate::evaluation::OwnerCost;
use crate::registry::{BoundRule, Lists};
use crate::sandbox::Sandbox;

const FAILED: RuleOutcome = RuleOutcome::Failed(RuleFailure::Fuel);
const LEAST: Duration = Duration::from_secs(300);

fn rule_set() -> RuleSet {
    owned(None)
}

/// Returns a set of two rules of this owner.
fn owned(owner: Option<RuleOwner>) -> RuleSet {
    let (sandbox, lists, history) = (Sandbox::new().unwrap(), Lists::default(), History::new());
    let rule = |id: i64| {
        let script = format!("rule r{id} {{ when amount > {id} then review }}");
        let rule = compile(&script, &CompileOptions::default()).rule.unwrap();
        let emitted = emit(std::slice::from_ref(&rule)).unwrap();
        let module = sandbox.admit(&emitted.bytes).unwrap();
        let instruction = Instruction {
            record: Arc::new(InstructionRecord {
                owner: owner.clone(),
                id: InstructionId(id),
                name: rule.entry.name.clone(),
                script: Some(script),
                source: InstructionSource::Api,
                module: emitted.bytes,
                created_at: DateTime::UNIX_EPOCH,
                updated_at: DateTime::UNIX_EPOCH,
                quarantine: None,
                origin: None,
            }),
            entry: rule.entry,
            checked: None,
            digest: module.digest,
            abi_version: emitted.manifest.abi_version,
            cost: emitted.manifest.cost,
            warnings: Vec::new(),
        };
        Arc::new(BoundRule::bind(Arc::new(instruction), module, &history).unwrap())
    };
    RuleSet::new(1, vec![rule(1), rule(2)], lists)
}

fn they_say(first: RuleOutcome, second: RuleOutcome) -> RuleOutcomes {
    let mut outcomes = RuleOutcomes::none_of(2);
    outcomes.note(0, first);
    outcomes.note(1, second);
    outcomes
}

fn n_failures(failing: &FailingRule) -> u64 {
    match failing.fault {
        RuleFault::Failures { n_failures, .. } => n_failures,
        RuleFault::SustainedCost { .. } | RuleFault::DisplacedCost { .. } => 0,
    }
}

/// Returns the rule of the next report.
fn next(failing: &mut UnboundedReceiver<FaultReport>) -> Option<FailingRule> {
    failing.try_recv().ok().and_then(|report| report.failing.into_iter().next())
}

/// An outcome of the first rule, for a transaction from this source.
type Run = (RuleOutcome, u64);

fn failed_for(n_sources: u64) -> impl Iterator<Item = Run> {
    (0..).map(move |run| (FAILED, run % n_sources))
}

/// Checks after how many of the runs, which take so long together, the rule is reported; `None` for never.
#[track_caller]
fn check(runs: impl Iterator<Item = Run>, n_runs: u32, lasts: Duration, expected: Option<u32>) {
    let rule_set = rule_set();
    let (breakers, mut failing) = Breakers::new(LEAST);
    let begun = Instant::now();
    let mut reported = None;
    for (n, (outcome, source)) in (0..n_runs).zip(runs) {
        let now = begun + lasts * n / (n_runs - 1);
        breakers.note(&rule_set, &they_say(outcome, RuleOutcome::NotMatched), || (source, now));
        if let Some(failing) = next(&mut failing) {
            assert_eq!(failing.id, InstructionId(1));
            reported = reported.or(Some(n + 1));
        }
    }
    assert_eq!(reported, expected);
}

#[test]
fn a_rule_that_fails_for_many_sources_for_long_is_reported() {
    check(failed_for(32), 511, 2 * LEAST, Some(511));
    check(failed_for(1_000), 2_001, 2 * LEAST, Some(1_256));
}

#[test]
fn a_rule_that_fails_for_few_sources_or_too_short_or_too_seldom_is_not() {
    check(failed_for(1), 10_000, 2 * LEAST, None);
    check(failed_for(31), 10_000, 2 * LEAST, None);
    check(failed_for(1_000), 10_000, LEAST - Duration::from_secs(1), None);
    check(failed_for(1_000), 255, 2 * LEAST, None);
}

#[test]
fn an_answer_to_every_tenth_transaction_is_enough() {
    let with_answers = |n: u64| {
        failed_for(64).zip(1..).map(move |((failed, source), run)| {
            (if run % n == 0 { RuleOutcome::NotMatched } else { failed }, source)
        })
    };
    check(with_answers(9), 10_000, 2 * LEAST, None);
    check(with_answers(11), 10_001, 2 * LEAST, Some(5_256));
}

#[test]
fn failures_long_ago_do_not_begin_the_time() {
    let early = failed_for(64).take(200).chain((0..26).map(|_| (RuleOutcome::Matched, 0)));
    check(early.chain(failed_for(64)), 1_000, LEAST, None);
}

#[test]
fn a_failure_that_is_not_the_rules_own_fault_is_not_counted() {
    for failure in [RuleFailure::Lookup, RuleFailure::Internal, RuleFailure::Budget, RuleFailure::Quarantined]
    {
        check((0..).map(|source| (RuleOutcome::Failed(failure), source)), 2_000, LEAST, None);
    }
    let between =
        |run| RuleOutcome::Failed(if run % 2 == 0 { RuleFailure::Fuel } else { RuleFailure::Lookup });
    check((0..).map(|run| (between(run), run)), 1_021, 2 * LEAST, Some(1_021));
}

#[test]
fn a_rule_that_only_runs_out_of_time_is_reported_too() {
    let timed_out = |source| (RuleOutcome::Failed(RuleFailure::Timeout), source);
    check((0..).map(timed_out), 511, 2 * LEAST, Some(511));
}

#[test]
fn a_rule_that_was_reported_or_let_run_again_has_no_earlier_runs() {
    let rule_set = rule_set();
    let (breakers, mut failing) = Breakers::new(Duration::ZERO);
    let begun = Instant::now();
    let note = |outcome, n| {
        for source in 0..n {
            let outcomes = they_say(RuleOutcome::clone(&outcome), RuleOutcome::NotMatched);
            breakers.note(&rule_set, &outcomes, || (source, begun));
        }
    };
    for _ in 0..2 {
        note(FAILED, 255);
        assert!(next(&mut failing).is_none());
        note(FAILED, 1);
        assert_eq!(next(&mut failing).map(|failing| n_failures(&failing)), Some(RUNS));
        note(FAILED, 3);
        note(RuleOutcome::Failed(RuleFailure::Quarantined), 1);
        assert_eq!(breakers.n_failing.load(Ordering::Relaxed), 0, "who answers is not looked at");
    }
    note(FAILED, 255);
    breakers.forgive(InstructionId(1));
    note(FAILED, 255);
    assert!(next(&mut failing).is_none());
    note(FAILED, 1);
    assert!(next(&mut failing).is_some());
}

/// Checks after how many transactions, which take so long together, the rules of an owner are reported. The costs are
/// those of the first rule.
#[track_caller]
fn check_costs(costs: impl Iterator<Item = (u64, u64)>, n_runs: u32, lasts: Duration, expected: Option<u32>) {
    const LIMIT: u64 = 100_000;
    let owner = RuleOwner { name: "api".into(), fuel: 10 * LIMIT, sustained_fuel: Some(LIMIT) };
    let rule_set = owned(Some(owner));
    let (breakers, mut failing) = Breakers::new(LEAST);
    let begun = Instant::now();
    let mut reported = None;
    for (n, (fuel, source)) in (0..n_runs).zip(costs) {
        let now = begun + lasts * n / (n_runs - 1);
        let cost = OwnerCost { fuel, costly: vec![(0, fuel)], displaced: Vec::new() };
        let run = OwnerRunCost { cost: &cost, source, now, others_wait: true };
        breakers.note_cost(&rule_set, 0, run, |_| unreachable!("no rule was displaced"));
        if let Some(failing) = next(&mut failing) {
            assert_eq!(failing.id, InstructionId(1));
            reported = reported.or(Some(n + 1));
        }
    }
    assert_eq!(reported, expected);
}

#[test]
fn an_owner_whose_rules_cost_too_much_for_many_sources_for_long_is_reported() {
    let costing = |fuel: u64, n_sources: u64| (0..).map(move |run| (fuel, run % n_sources));
    check_costs(costing(200_000, 32), 511, 2 * LEAST, Some(511));
    check_costs(costing(200_000, 31), 10_000, 2 * LEAST, None);
    check_costs(costing(200_000, 64), 10_000, LEAST - Duration::from_secs(1), None);
    check_costs(costing(99_999, 64), 10_000, 2 * LEAST, None);
    let cheap_at_times =
        |n: u64| (0..).map(move |run| (if run % n == n - 1 { 0 } else { 1_000_000 }, run % 64));
    check_costs(cheap_at_times(9), 10_000, 2 * LEAST, None);
    check_costs(cheap_at_times(11), 10_001, 2 * LEAST, Some(5_256));
}
