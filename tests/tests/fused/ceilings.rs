//! The rules of an owner share a ceiling. Which of them fail does not depend on the bodies or on other owners.

use std::sync::Arc;

use tollgate_engine::evaluation::Evaluator;
use tollgate_engine::fusion;
use tollgate_engine::registry::{BoundRule, Lists, RuleSet};
use tollgate_engine::sandbox::Sandbox;
use tollgate_history::History;
use tollgate_model::assessment::{RuleFailure, RuleOutcome};
use tollgate_model::instruction::RuleOwner;
use tollgate_model::transaction::Transaction;
use tollgate_tests::{proof, subject};

use super::{rule, wide};

/// First seed, far from those of the other comparisons.
const FIRST_SEED: u64 = 3 << 32;
/// Ceilings from one that no bound fits to one that every bound fits.
const CEILINGS: [u64; 6] = [1_000, 20_000, 60_000, 150_000, 400_000, 5_000_000];

/// The outcomes of all rules for each transaction of a stream, and what the owners were charged.
struct Judged {
    outcomes: Vec<Vec<RuleOutcome>>,
    costs: Vec<u64>,
}

fn judge(sandbox: &Sandbox, history: &History, rule_set: RuleSet, stream: &[Arc<Transaction>]) -> Judged {
    let (rule_set, mut evaluator) = (Arc::new(rule_set), Evaluator::new(sandbox.clone()));
    let mut judged = Judged { outcomes: Vec::new(), costs: Vec::new() };
    for (n, transaction) in (1..).zip(stream) {
        let outcomes = evaluator.evaluate(&rule_set, transaction, tollgate_model::sequence::Sequence(n));
        judged.outcomes.push(outcomes.of_each());
        judged.costs.push(evaluator.costs().iter().map(|(_, cost)| cost.fuel).sum());
    }
    assert_eq!(history.len(), stream.len());
    judged
}

fn is_over_budget(outcome: &RuleOutcome) -> bool {
    *outcome == RuleOutcome::Failed(RuleFailure::Budget)
}

#[test]
fn which_rules_fail_for_lack_of_fuel_does_not_depend_on_the_bodies() -> anyhow::Result<()> {
    let sandbox = Sandbox::new()?;
    let mut seeds = FIRST_SEED..;
    let (mut n_failed, mut n_whole, mut n_bodies_trusted) = (0, 0, 0);
    for round in 0..proof::rounds(6, 120) {
        let (scripts, stream) = wide(&mut seeds);
        let history = History::new();
        let fuel = CEILINGS[round % CEILINGS.len()];
        let owner = |number: usize| RuleOwner {
            name: format!("owner {}", number % 3).into(),
            fuel: if number.is_multiple_of(3) { 5_000_000 } else { fuel },
            // Half of the owners have a limit of their mean cost, so each of their rules is measured.
            sustained_fuel: (number % 3 == 2 && round % 2 == 1).then_some(fuel / 10),
        };
        let rules: Vec<Arc<BoundRule>> = (0..)
            .zip(&scripts)
            .map(|(number, script)| {
                let bound = subject::bind(number, &rule(script)?, &sandbox, &history)?;
                Ok(Arc::new(bound.owned_by(Some(&owner(number)))))
            })
            .collect::<anyhow::Result<_>>()?;
        let stream = subject::transactions(&stream)?;
        stream.iter().for_each(|transaction| history.admit(Arc::clone(transaction), |_| ()));
        let bodies = fusion::bodies(&|bytes| sandbox.admit(bytes), &[], &rules);
        let alone = RuleSet::new(1, rules.clone(), Lists::default());
        let fused = RuleSet::fused(1, rules.clone(), &bodies, Lists::default());
        assert!(fused.bodies.len() > 1, "one body or more for each owner");
        let alone = judge(&sandbox, &history, alone, &stream);
        let fused = judge(&sandbox, &history, fused, &stream);
        for (n, (alone, fused)) in alone.outcomes.iter().zip(&fused.outcomes).enumerate() {
            assert_eq!(alone, fused, "before seed {}, transaction {n}, ceiling {fuel}", seeds.start);
            n_failed += alone.iter().filter(|outcome| is_over_budget(outcome)).count();
            n_whole += usize::from(!alone.iter().any(is_over_budget));
        }
        // A bound is never below the cost.
        for (alone, fused) in alone.costs.iter().zip(&fused.costs) {
            assert!(fused >= alone, "{fused} is charged for rules that cost {alone} alone");
            n_bodies_trusted += usize::from(fused > alone);
        }
        // What owner 0 may use depends on nobody else.
        for outcomes in &alone.outcomes {
            assert!(!outcomes.iter().step_by(3).any(is_over_budget));
        }
    }
    println!(
        "{n_failed} failures for lack of fuel; {n_whole} transactions without one; {n_bodies_trusted} bounds above the cost"
    );
    assert!(n_failed > 100 && n_whole > 10, "{n_failed} failures, {n_whole} transactions without one");
    Ok(())
}
