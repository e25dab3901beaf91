//! Detects rules that keep failing or cost too much.
//!
//! A rule is reported after a [stretch](FaultStretch) of runs nearly all of which failed by its own fault, for minutes and
//! for many sources. A few crafted transactions are no such stretch, and neither are many of one source.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tollgate_model::assessment::{RuleFailure, RuleOutcome};
use tollgate_model::instruction::{ContentDigest, InstructionId};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::evaluation::displaced::DisplacedRules;
use crate::evaluation::fault::{FailingRule, RuleFault};
use crate::evaluation::fault_stretch::{FaultStretch, RUNS};
use crate::evaluation::sustained_costs::{Excess, OwnerRunCost, SustainedCosts};
use crate::evaluation::{Evaluated, RuleOutcomes};
use crate::registry::{RuleInForce, RuleSet};

/// Rules that have to be quarantined together.
#[derive(Debug)]
pub struct FaultReport {
    /// The rules.
    pub failing: Vec<FailingRule>,
    /// Rules that would take their place, and of which some may have to follow.
    pub displaced: Option<DisplacedRules>,
}

/// Rules of which nearly all runs failed lately, and owners whose rules cost too much on nearly all transactions.
#[derive(Debug)]
pub struct Breakers {
    failing: Mutex<HashMap<InstructionId, FailingStretch>>,
    /// The number of failing rules, to check without the lock that there is none.
    n_failing: AtomicUsize,
    costs: Mutex<SustainedCosts>,
    /// The shortest time over which a rule must fail, or an owner cost too much, to be reported.
    least: Duration,
    reports: UnboundedSender<FaultReport>,
    hasher: ahash::RandomState,
}

#[derive(Debug)]
struct FailingStretch {
    digest: ContentDigest,
    stretch: FaultStretch,
}

impl Breakers {
    /// Creates an instance that reports what lasts this long, and the receiver of its reports.
    #[must_use]
    pub fn new(least: Duration) -> (Self, UnboundedReceiver<FaultReport>) {
        let (reports, receiver) = unbounded_channel();
        let hasher = ahash::RandomState::new();
        let (failing, costs, n_failing) = (Mutex::default(), Mutex::default(), AtomicUsize::new(0));
        (Self { failing, n_failing, costs, least, reports, hasher }, receiver)
    }

    /// Records the evaluation of a rule set for a transaction with this number.
    pub fn note_evaluated(
        &self,
        rule_set: &Arc<RuleSet>,
        evaluated: &Evaluated,
        (transaction, as_of): (&Arc<Transaction>, Sequence),
    ) {
        let occasion = || (self.hasher.hash_one(transaction.source.as_deref()), Instant::now());
        self.note(rule_set, &evaluated.outcomes, occasion);
        for (owner, cost) in &evaluated.costs {
            let displaced = |fuel| DisplacedRules {
                rule_set: Arc::clone(rule_set),
                transaction: Arc::clone(transaction),
                as_of,
                rule_indices: cost.displaced.clone(),
                fuel,
            };
            let (source, now) = occasion();
            let run = OwnerRunCost { cost, source, now, others_wait: evaluated.others_wait };
            self.note_cost(rule_set, *owner, run, displaced);
        }
    }

    /// Records the outcomes of a rule set for a transaction. `occasion` returns the hash of its source, and the time.
    fn note(&self, rule_set: &RuleSet, outcomes: &RuleOutcomes, occasion: impl Fn() -> (u64, Instant)) {
        let failed =
            |outcome: &RuleOutcome| matches!(outcome, RuleOutcome::Failed(failure) if counts(*failure));
        if self.n_failing.load(Ordering::Relaxed) == 0
            && !outcomes.noted().any(|(_, outcome)| failed(outcome))
        {
            return;
        }
        let (source, now) = occasion();
        let mut all = self.failing.lock();
        all.retain(|id, failing| failing.goes_on(rule_set, outcomes, *id, now));
        for (rule_index, outcome) in outcomes.noted() {
            let &RuleOutcome::Failed(failure) = outcome else { continue };
            if !counts(failure) {
                continue;
            }
            let Some(in_force) = rule_set.rules.get(rule_index) else { continue };
            let instruction = &in_force.rule.instruction;
            let (id, digest) = (instruction.record.id, instruction.digest);
            let begin = || FailingStretch { digest, stretch: FaultStretch::begin() };
            let stretch = &mut all.entry(id).or_insert_with(begin).stretch;
            stretch.note_faulty(source, now);
            if stretch.is_due(now, self.least) {
                let fault =
                    RuleFault::Failures { last: failure, n_failures: stretch.n_faulty(), n_runs: RUNS };
                let failing = vec![FailingRule { id, digest, fault }];
                self.reports.send(FaultReport { failing, displaced: None }).ok();
                // If it stays in force, it is reported again after another stretch.
                all.remove(&id);
            }
        }
        self.n_failing.store(all.len(), Ordering::Relaxed);
    }

    /// Records what the rules of an owner, by its index, cost on a transaction. `displaced` returns the rules that did not
    /// run, which may cost this much.
    fn note_cost(
        &self,
        rule_set: &RuleSet,
        owner: usize,
        run: OwnerRunCost<'_>,
        displaced: impl FnOnce(u64) -> DisplacedRules,
    ) {
        let Some(owner) = rule_set.owners.get(owner) else { return };
        let blamed = self.costs.lock().note(rule_set, owner, run, self.least);
        let Some(Excess { blamed, fuel_left }) = blamed else { return };
        let failing = blamed.into_iter().map(|(rule, mean_fuel)| {
            let (id, digest) = (rule.rule.instruction.record.id, rule.rule.instruction.digest);
            FailingRule { id, digest, fault: RuleFault::SustainedCost { mean_fuel } }
        });
        let failing: Vec<FailingRule> = failing.collect();
        if failing.is_empty() {
            // All are cheap, so nothing makes room for the displaced ones.
            return;
        }
        let displaced = (!run.cost.displaced.is_empty()).then(|| displaced(fuel_left));
        self.reports.send(FaultReport { failing, displaced }).ok();
    }

    /// Forgets the failures of a rule after an operator has reviewed it.
    pub fn forgive(&self, id: InstructionId) {
        let mut all = self.failing.lock();
        all.remove(&id);
        self.n_failing.store(all.len(), Ordering::Relaxed);
    }
}

impl FailingStretch {
    /// Adds the outcome for one transaction unless it is a failure that counts. Returns whether the stretch goes on.
    fn goes_on(
        &mut self,
        rule_set: &RuleSet,
        outcomes: &RuleOutcomes,
        id: InstructionId,
        now: Instant,
    ) -> bool {
        let id_of = |in_force: &RuleInForce| in_force.rule.instruction.record.id;
        // Rules no longer in the set produce no more outcomes.
        let Ok(rule_index) = rule_set.rules.binary_search_by_key(&id, id_of) else { return false };
        let is_same = |in_force: &RuleInForce| in_force.rule.instruction.digest == self.digest;
        if !rule_set.rules.get(rule_index).is_some_and(is_same) {
            return false;
        }
        match outcomes.outcome_of(rule_index) {
            // The rule was reported; after its release a new stretch begins.
            RuleOutcome::Failed(RuleFailure::Quarantined) => false,
            // The failure counts, or leaves open what the rule would have answered.
            RuleOutcome::Failed(_) => true,
            RuleOutcome::Matched | RuleOutcome::MatchedSaying(_) | RuleOutcome::NotMatched => {
                self.stretch.note_sound(now)
            }
        }
    }
}

/// Whether a failure counts towards a stretch. A timeout may be the fault of the machine, but hardly nine times of ten for
/// minutes; and a rule that only times out takes longer than any other.
fn counts(failure: RuleFailure) -> bool {
    failure.is_own_fault() || failure == RuleFailure::Timeout
}

#[cfg(test)]
mod tests;
