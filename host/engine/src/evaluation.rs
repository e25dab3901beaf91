//! Runs every rule of a set on one transaction.
//!
//! An [`Evaluator`] belongs to one thread and keeps warm instances of the last rule set. A failing rule does not affect
//! the others; its failure is a [`RuleOutcome`] too. If a fused body fails, its rules judge that transaction with their
//! own modules. A body is skipped if its selector rules out a match.

mod answers;
mod breakers;
mod facts;
mod mismatches;
mod outcomes;
mod pool;
mod searches;

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use tollgate_model::assessment::{RuleFailure, RuleOutcome, RuleStatement};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::registry::RuleSet;
use crate::sandbox::{ModuleAnswer, Runner, Sandbox, SandboxError};
use facts::{Facts, ModuleIndex};

pub use breakers::{Breakers, FailingRule};
pub use outcomes::RuleOutcomes;
pub use pool::{Evaluated, EvaluationJob, EvaluatorPool};

/// Judges transactions, one at a time.
#[derive(Debug)]
pub struct Evaluator {
    sandbox: Sandbox,
    loaded: Option<WarmInstances>,
    n_bodies_failed: usize,
    n_bodies_spared: usize,
}

#[derive(Debug)]
struct WarmInstances {
    rule_set: Arc<RuleSet>,
    runner: Runner<Facts>,
}

impl Evaluator {
    /// Creates an evaluator without a loaded rule set.
    #[must_use]
    pub const fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, loaded: None, n_bodies_failed: 0, n_bodies_spared: 0 }
    }

    /// Returns the outcome of every rule of the set. History queries see transactions accepted before `as_of`.
    pub fn evaluate(
        &mut self,
        rule_set: &Arc<RuleSet>,
        transaction: &Arc<Transaction>,
        as_of: Sequence,
    ) -> RuleOutcomes {
        // Filled in place: moving the outcomes from call to call takes longer than many rules.
        let mut outcomes = RuleOutcomes::none_of(rule_set.rules.len());
        let judged = panic::catch_unwind(AssertUnwindSafe(|| {
            self.run_all(rule_set, transaction, as_of, &mut outcomes)
        }));
        match judged {
            Ok(Ok(())) => outcomes,
            Ok(Err(error)) => {
                tracing::error!(error = %error, "the rule set could not be loaded; every rule counts as failed");
                all_failed(rule_set)
            }
            Err(_) => {
                // Dropping the instances discards any state the panic left inconsistent.
                self.loaded = None;
                tracing::error!("an evaluation panicked; every rule counts as failed");
                all_failed(rule_set)
            }
        }
    }

    const fn has_loaded_any(&self) -> bool {
        self.loaded.is_some()
    }

    fn has_loaded(&self, rule_set: &Arc<RuleSet>) -> bool {
        self.loaded.as_ref().is_some_and(|loaded| Arc::ptr_eq(&loaded.rule_set, rule_set))
    }

    /// The number of bodies that failed on the last transaction; their rules were run one by one.
    #[must_use]
    pub const fn n_bodies_failed(&self) -> usize {
        self.n_bodies_failed
    }

    /// The number of bodies skipped on the last transaction because none of their rules could match.
    #[must_use]
    pub const fn n_bodies_spared(&self) -> usize {
        self.n_bodies_spared
    }

    fn run_all(
        &mut self,
        rule_set: &Arc<RuleSet>,
        transaction: &Arc<Transaction>,
        as_of: Sequence,
        outcomes: &mut RuleOutcomes,
    ) -> Result<(), SandboxError> {
        (self.n_bodies_failed, self.n_bodies_spared) = (0, 0);
        let runner = self.runner(rule_set)?;
        runner.host()?.begin(Arc::clone(transaction), as_of);
        let (mut n_failed, mut n_spared) = (0, 0);
        for (number, in_force) in rule_set.bodies.iter().enumerate() {
            let facts = runner.host()?;
            if facts.rule_out(&in_force.selector).unwrap_or(false) {
                n_spared += 1;
                continue;
            }
            facts.turn_to(ModuleIndex::Body(number));
            match runner.run(rule_set.rules.len() + number, &in_force.asker.bound.module) {
                Ok(ModuleAnswer { bits, .. }) => {
                    outcomes.note_matches(bits & in_force.counted, &in_force.places);
                }
                Err(failure) => {
                    n_failed += 1;
                    tracing::debug!(
                        failure = failure.as_str(),
                        "a fused body failed; its rules are run one by one"
                    );
                    run_each(runner, rule_set, &in_force.places, outcomes)?;
                }
            }
        }
        run_each(runner, rule_set, &rule_set.alone, outcomes)?;
        for &place in &rule_set.lacking {
            outcomes.note(place, RuleOutcome::Failed(RuleFailure::List));
        }
        let facts = runner.host()?;
        let suspects = facts.take_suspects();
        if !suspects.is_empty() {
            mismatches::count(facts, rule_set, &suspects);
        }
        facts.end();
        (self.n_bodies_failed, self.n_bodies_spared) = (n_failed, n_spared);
        outcomes.finish();
        Ok(())
    }

    fn runner(&mut self, rule_set: &Arc<RuleSet>) -> Result<&mut Runner<Facts>, SandboxError> {
        let is_loaded = self.has_loaded(rule_set);
        match (&mut self.loaded, is_loaded) {
            // Returned by reference: moving the runner costs more than many rules.
            (Some(loaded), true) => Ok(&mut loaded.runner),
            (loaded, _) => {
                // Free the resources of the last set before the next one allocates.
                *loaded = None;
                Ok(&mut loaded.insert(WarmInstances::of(&self.sandbox, rule_set)?).runner)
            }
        }
    }
}

impl WarmInstances {
    fn of(sandbox: &Sandbox, rule_set: &Arc<RuleSet>) -> Result<Self, SandboxError> {
        let n_modules = rule_set.rules.len() + rule_set.bodies.len();
        let runner = Runner::new(sandbox, Facts::new(Arc::clone(rule_set)), n_modules)?;
        Ok(Self { rule_set: Arc::clone(rule_set), runner })
    }
}

/// Runs the rules at these indices with their own modules.
fn run_each(
    runner: &mut Runner<Facts>,
    rule_set: &RuleSet,
    places: &[u32],
    outcomes: &mut RuleOutcomes,
) -> Result<(), SandboxError> {
    for &number in places {
        let place = number as usize;
        let Some(in_force) = rule_set.rules.get(place) else {
            outcomes.note(number, RuleOutcome::Failed(RuleFailure::Internal));
            continue;
        };
        if !in_force.missing_lists.is_empty() {
            // Fails without a run; `run_all` notes the failure of every rule with a missing list.
            continue;
        }
        if in_force.is_quarantined {
            outcomes.note(number, RuleOutcome::Failed(RuleFailure::Quarantined));
            continue;
        }
        runner.host()?.turn_to(ModuleIndex::Rule(place));
        let outcome = match runner.run(place, &in_force.asker.bound.module) {
            Ok(ModuleAnswer { bits: 0, .. }) => RuleOutcome::NotMatched,
            Ok(ModuleAnswer { said, .. }) if said == RuleStatement::default() => RuleOutcome::Matched,
            Ok(ModuleAnswer { said, .. }) => RuleOutcome::MatchedSaying(Box::new(said)),
            Err(failure) => RuleOutcome::Failed(failure),
        };
        outcomes.note(number, outcome);
    }
    Ok(())
}

fn all_failed(rule_set: &RuleSet) -> RuleOutcomes {
    RuleOutcomes::all(rule_set.rules.len(), &RuleOutcome::Failed(RuleFailure::Internal))
}
