//! Detects rules that keep failing or cost too much.
//!
//! A streak begins with a failure that is the fault of the rule and ends with its first answer. A rule is reported
//! after [`SOURCES_MAX`] distinct sources in one streak, or [`FAILURES_MAX`] failures. A few crafted transactions reach
//! neither limit, and in ordinary traffic a correct rule answers in between.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tollgate_model::assessment::{RuleFailure, RuleOutcome};
use tollgate_model::instruction::{ContentDigest, InstructionId};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::evaluation::displaced::DisplacedRules;
use crate::evaluation::sustained_costs::{Excess, SustainedCosts};
use crate::evaluation::{Evaluated, OwnerCost, RuleOutcomes};
use crate::registry::{RuleInForce, RuleSet};

/// Consecutive failures with distinct sources before a rule is reported.
pub(crate) const SOURCES_MAX: usize = 32;
/// Consecutive failures before a rule is reported, regardless of sources.
pub(crate) const FAILURES_MAX: u64 = 1_000;

/// A rule that keeps failing or costs too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailingRule {
    /// The rule.
    pub id: InstructionId,
    /// Digest of its module; a later module under the same id is not affected.
    pub digest: ContentDigest,
    /// The fault.
    pub fault: RuleFault,
}

/// Rules that have to be quarantined together.
#[derive(Debug)]
pub struct FaultReport {
    /// The rules.
    pub failing: Vec<FailingRule>,
    /// Rules that would take their place, and of which some may have to follow.
    pub displaced: Option<DisplacedRules>,
}

/// Why a rule has to be quarantined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleFault {
    /// It keeps failing.
    Failures {
        /// The last failure.
        last: RuleFailure,
        /// The number of consecutive failures.
        n_failures: u64,
    },
    /// The rules of its owner keep taking too long while other transactions wait.
    SustainedCost {
        /// Its mean cost over the last transactions, in fuel.
        mean_fuel: u64,
    },
    /// It did not run, because rules of its owner displaced it that are quarantined for their cost, and costs too much
    /// itself.
    DisplacedCost {
        /// Its cost on the transaction on which it was displaced, in fuel.
        fuel: u64,
    },
}

/// Rules whose last runs failed, with the lengths of their streaks.
#[derive(Debug)]
pub struct Breakers {
    streaks: Mutex<HashMap<InstructionId, FailureStreak>>,
    /// The number of streaks, to check without the lock that there is none.
    n_streaks: AtomicUsize,
    costs: Mutex<SustainedCosts>,
    reports: UnboundedSender<FaultReport>,
    hasher: ahash::RandomState,
}

#[derive(Debug)]
struct FailureStreak {
    digest: ContentDigest,
    n_failures: u64,
    /// Hashes of distinct sources.
    sources: SmallVec<[u64; 4]>,
    /// The number of failures at the last report; 0 if there was none.
    reported_at: u64,
}

impl Breakers {
    /// Creates an instance without streaks, and the receiver of its reports.
    #[must_use]
    pub fn new() -> (Self, UnboundedReceiver<FaultReport>) {
        let (reports, failing) = unbounded_channel();
        let hasher = ahash::RandomState::new();
        let (streaks, costs, n_streaks) = (Mutex::default(), Mutex::default(), AtomicUsize::new(0));
        (Self { streaks, n_streaks, costs, reports, hasher }, failing)
    }

    /// Records the evaluation of a rule set for a transaction with this number.
    pub fn note_evaluated(
        &self,
        rule_set: &Arc<RuleSet>,
        evaluated: &Evaluated,
        (transaction, as_of): (&Arc<Transaction>, Sequence),
    ) {
        self.note(rule_set, &evaluated.outcomes, transaction.source.as_deref());
        for (owner, cost) in &evaluated.costs {
            let displaced = |fuel| DisplacedRules {
                rule_set: Arc::clone(rule_set),
                transaction: Arc::clone(transaction),
                as_of,
                places: cost.displaced.clone(),
                fuel,
            };
            self.note_cost(rule_set, (*owner, cost), evaluated.others_wait, displaced);
        }
    }

    /// Records the outcomes of a rule set for a transaction from this source.
    fn note(&self, rule_set: &RuleSet, outcomes: &RuleOutcomes, source: Option<&str>) {
        let failed =
            |outcome: &RuleOutcome| matches!(outcome, RuleOutcome::Failed(failure) if counts(*failure));
        if self.n_streaks.load(Ordering::Relaxed) == 0
            && !outcomes.noted().any(|(_, outcome)| failed(outcome))
        {
            return;
        }
        let source = self.hasher.hash_one(source);
        let mut streaks = self.streaks.lock();
        for (place, outcome) in outcomes.noted() {
            let &RuleOutcome::Failed(failure) = outcome else { continue };
            if !counts(failure) {
                continue;
            }
            let Some(in_force) = rule_set.rules.get(place) else { continue };
            let instruction = &in_force.rule.instruction;
            let (id, digest) = (instruction.record.id, instruction.digest);
            let streak = streaks.entry(id).or_insert_with(|| FailureStreak::of(digest));
            if streak.digest != digest {
                *streak = FailureStreak::of(digest);
            }
            // A timeout may be the fault of the machine, so it counts only towards [`FAILURES_MAX`].
            let source = (failure != RuleFailure::Timeout).then_some(source);
            if let Some(n_failures) = streak.grow(source) {
                let fault = RuleFault::Failures { last: failure, n_failures };
                let failing = vec![FailingRule { id, digest, fault }];
                self.reports.send(FaultReport { failing, displaced: None }).ok();
            }
        }
        streaks.retain(|id, _| goes_on(rule_set, outcomes, *id));
        self.n_streaks.store(streaks.len(), Ordering::Relaxed);
    }

    /// Records what the rules of an owner, by its index, cost on a transaction. `others_wait` tells whether other
    /// transactions wait to be evaluated, and `displaced` returns the rules that did not run, which may cost this much.
    fn note_cost(
        &self,
        rule_set: &RuleSet,
        (owner, cost): (usize, &OwnerCost),
        others_wait: bool,
        displaced: impl FnOnce(u64) -> DisplacedRules,
    ) {
        let Some(owner) = rule_set.owners.get(owner) else { return };
        let blamed = self.costs.lock().note(rule_set, owner, cost, others_wait);
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
        let displaced = (!cost.displaced.is_empty()).then(|| displaced(fuel_left));
        self.reports.send(FaultReport { failing, displaced }).ok();
    }

    /// Removes the streak of a rule after an operator has reviewed it.
    pub fn forgive(&self, id: InstructionId) {
        let mut streaks = self.streaks.lock();
        streaks.remove(&id);
        self.n_streaks.store(streaks.len(), Ordering::Relaxed);
    }
}

fn goes_on(rule_set: &RuleSet, outcomes: &RuleOutcomes, id: InstructionId) -> bool {
    let id_of = |in_force: &RuleInForce| in_force.rule.instruction.record.id;
    // Rules no longer in the set produce no more outcomes.
    let Ok(place) = rule_set.rules.binary_search_by_key(&id, id_of) else { return false };
    match outcomes.of(place) {
        // The rule was reported; after its release a new streak begins.
        RuleOutcome::Failed(RuleFailure::Quarantined) => false,
        // The failure leaves open what the rule would have answered.
        RuleOutcome::Failed(_) => true,
        RuleOutcome::Matched | RuleOutcome::MatchedSaying(_) | RuleOutcome::NotMatched => false,
    }
}

/// Whether a failure counts towards a streak.
fn counts(failure: RuleFailure) -> bool {
    failure.is_own_fault() || failure == RuleFailure::Timeout
}

impl FailureStreak {
    fn of(digest: ContentDigest) -> Self {
        Self { digest, n_failures: 0, sources: SmallVec::new(), reported_at: 0 }
    }

    /// Adds a failure. Returns their number if the rule is due for a report.
    fn grow(&mut self, source: Option<u64>) -> Option<u64> {
        self.n_failures += 1;
        let is_new = |source: &u64| self.sources.len() < SOURCES_MAX && !self.sources.contains(source);
        if let Some(source) = source.filter(is_new) {
            self.sources.push(source);
        }
        let is_enough = self.sources.len() >= SOURCES_MAX || self.n_failures >= FAILURES_MAX;
        // Reported once, and again after every further [`FAILURES_MAX`] failures.
        let is_due = self.reported_at == 0 || self.n_failures - self.reported_at >= FAILURES_MAX;
        if !is_enough || !is_due {
            return None;
        }
        self.reported_at = self.n_failures;
        Some(self.n_failures)
    }
}

#[cfg(test)]
mod tests;
