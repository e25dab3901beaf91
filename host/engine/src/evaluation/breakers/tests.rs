//! Tests of failure streaks.

use std::sync::Arc;

use chrono::DateTime;
use tollgate_compiler::emit::emit;
use tollgate_compiler::{CompileOptions, compile};
use tollgate_history::History;
use tollgate_model::instruction::{Instruction, InstructionRecord, InstructionSource};

use super::*;
use crate::registry::{BoundRule, Lists};
use crate::sandbox::Sandbox;

const FAILED: RuleOutcome = RuleOutcome::Failed(RuleFailure::Fuel);

fn rule_set() -> RuleSet {
    let (sandbox, lists, history) = (Sandbox::new().unwrap(), Lists::default(), History::new());
    let rule = |id: i64| {
        let script = format!("rule r{id} {{ when amount > {id} then review }}");
        let rule = compile(&script, &CompileOptions::default()).rule.unwrap();
        let emitted = emit(std::slice::from_ref(&rule)).unwrap();
        let module = sandbox.admit(&emitted.bytes).unwrap();
        let instruction = Instruction {
            record: Arc::new(InstructionRecord {
                owner: None,
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

/// Checks after how many failures the first rule is reported; `None` for never.
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

#[track_caller]
fn check(outcomes: impl Iterator<Item = (RuleOutcome, String)>, expected: Option<u64>) {
    let rule_set = rule_set();
    let (breakers, mut failing) = Breakers::new();
    for (outcome, source) in outcomes {
        breakers.note(&rule_set, &they_say(outcome, RuleOutcome::NotMatched), Some(&source));
    }
    let reported = next(&mut failing);
    assert_eq!(
        reported.map(|failing| (failing.id, n_failures(&failing))),
        expected.map(|n| (InstructionId(1), n))
    );
    // Without a reaction it is reported again, after many more failures.
    let mut last = expected;
    while let Some(again) = next(&mut failing) {
        assert_eq!(Some(n_failures(&again)), last.map(|last| last + FAILURES_MAX));
        last = Some(n_failures(&again));
    }
}

#[test]
fn a_rule_that_fails_for_many_sources_in_a_row_is_reported() {
    check((0..100).map(|i| (FAILED, format!("source {i}"))), Some(SOURCES_MAX as u64));
    check((0..31).map(|i| (FAILED, format!("source {i}"))), None);
}

#[test]
fn one_source_alone_takes_much_longer() {
    check((0..999).map(|_| (FAILED, "mallory".to_owned())), None);
    check((0..3_000).map(|_| (FAILED, "mallory".to_owned())), Some(FAILURES_MAX));
}

#[test]
fn a_rule_that_was_let_run_again_begins_anew() {
    let rule_set = rule_set();
    let (breakers, mut failing) = Breakers::new();
    let note = |outcome| breakers.note(&rule_set, &they_say(outcome, RuleOutcome::NotMatched), None);
    for _ in 0..2 {
        (0..FAILURES_MAX).for_each(|_| note(FAILED));
        assert_eq!(next(&mut failing).map(|failing| n_failures(&failing)), Some(FAILURES_MAX));
        note(RuleOutcome::Failed(RuleFailure::Quarantined));
        assert_eq!(breakers.n_streaks.load(Ordering::Relaxed), 0, "who answers is not looked at");
    }
}

#[test]
fn an_answer_ends_the_row() {
    let now_and_then = |i| if i % 31 == 30 { RuleOutcome::NotMatched } else { FAILED };
    check((0..5_000).map(|i| (now_and_then(i), format!("source {i}"))), None);
}

#[test]
fn what_is_not_the_rules_own_fault_is_not_counted() {
    for failure in [RuleFailure::Lookup, RuleFailure::Internal, RuleFailure::Quarantined] {
        check((0..2_000).map(|i| (RuleOutcome::Failed(failure), format!("source {i}"))), None);
    }
}

#[test]
fn who_is_forgiven_begins_anew() {
    let rule_set = rule_set();
    let (breakers, mut failing) = Breakers::new();
    let fail = |n: usize| {
        for i in 0..n {
            breakers.note(&rule_set, &they_say(FAILED, RuleOutcome::Matched), Some(&i.to_string()));
        }
    };
    fail(31);
    breakers.forgive(InstructionId(1));
    fail(31);
    assert!(next(&mut failing).is_none());
    fail(32);
    assert!(next(&mut failing).is_some());
}

#[test]
fn running_out_of_time_counts_only_in_the_long_run() {
    let late = RuleOutcome::Failed(RuleFailure::Timeout);
    check((0..999).map(|i| (late.clone(), format!("source {i}"))), None);
    check((0..2_000).map(|i| (late.clone(), format!("source {i}"))), Some(FAILURES_MAX));
}
