//! Running every rule of a set on one transaction.
//!
//! An [`Evaluator`] belongs to one thread and keeps warm instances of the rule set it judged by last. A rule that dies
//! disturbs no other; its death is a [`RuleOutcome`] like any other. Where the set has bodies, each answers for its rules; when
//! one fails on a transaction, whatever the reason, its rules judge that transaction by their own modules. One whose rules all
//! need something that the transaction has not is spared.

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

pub use breakers::{Breakers, FAILURES_MAX, FailingRule, SOURCES_MAX};
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

/// Warm instances of one rule set.
#[derive(Debug)]
struct WarmInstances {
    rule_set: Arc<RuleSet>,
    runner: Runner<Facts>,
}

impl Evaluator {
    /// With nothing loaded yet.
    #[must_use]
    pub const fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, loaded: None, n_bodies_failed: 0, n_bodies_spared: 0 }
    }

    /// What each rule of the set says. Of the history it sees what was accepted before `as_of`.
    pub fn evaluate(
        &mut self,
        rule_set: &Arc<RuleSet>,
        transaction: &Arc<Transaction>,
        as_of: Sequence,
    ) -> RuleOutcomes {
        // They are filled where they stand: handed from call to call, they would take longer than many rules.
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
                // Whatever the panic left half done goes with the instances.
                self.loaded = None;
                tracing::error!("an evaluation panicked; every rule counts as failed");
                all_failed(rule_set)
            }
        }
    }

    /// Whether it has judged by any.
    const fn has_loaded_any(&self) -> bool {
        self.loaded.is_some()
    }

    /// Whether this is the rule set it judged by last.
    fn has_loaded(&self, rule_set: &Arc<RuleSet>) -> bool {
        self.loaded.as_ref().is_some_and(|loaded| Arc::ptr_eq(&loaded.rule_set, rule_set))
    }

    /// How many bodies failed on the last transaction, so that their rules were run one by one.
    #[must_use]
    pub const fn n_bodies_failed(&self) -> usize {
        self.n_bodies_failed
    }

    /// How many bodies were not run on the last transaction, since it has nothing that their rules look for.
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
                        "a body failed; its rules are run one by one"
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
            // It stays where it is: moved out and in again, it would cost more than many rules.
            (Some(loaded), true) => Ok(&mut loaded.runner),
            (loaded, _) => {
                // What the last set took is free before the next takes any.
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

/// What the rules at these places say by their own modules.
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
            // It fails without being run.
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
