//! Runs every rule of a set on one transaction.
//!
//! An [`Evaluator`] belongs to one thread and keeps warm instances of the last rule set. A failing rule does not affect
//! the others; its failure is a [`RuleOutcome`] too. If a fused body fails, its rules judge that transaction with their
//! own modules. A body is skipped if its selector rules out a match. The rules of each owner share a ceiling.

mod answers;
mod breakers;
mod displaced;
mod exact_operand;
mod facts;
mod fault;
mod fault_stretch;
mod lookup_costs;
mod mismatches;
mod outcomes;
mod owner_run;
mod pool;
mod search_cache;
mod searches;
mod suspect_value;
mod sustained_costs;

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use tollgate_model::assessment::{RuleFailure, RuleOutcome};
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::registry::RuleSet;
use crate::sandbox::{FailureDetail, Runner, Sandbox, SandboxError};
use facts::Facts;
use owner_run::OwnerRun;

pub use breakers::{Breakers, FaultReport};
pub use displaced::DisplacedRules;
pub use fault::{FailingRule, RuleFault};
pub use outcomes::RuleOutcomes;
pub use pool::{Evaluated, EvaluationJob, EvaluatorPool};

/// Judges transactions, one at a time.
#[derive(Debug)]
pub struct Evaluator {
    sandbox: Sandbox,
    loaded: Option<WarmInstances>,
    n_bodies_failed: usize,
    n_bodies_spared: usize,
    costs: Vec<(usize, OwnerCost)>,
    failures: Vec<(usize, FailureDetail)>,
}

/// Cost of the rules of one owner on a transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnerCost {
    /// All rules, in fuel; a bound where it is small.
    pub fuel: u64,
    /// Rules that are not cheap, by index in the set, with their fuel.
    pub costly: Vec<(u32, u64)>,
    /// Rules that failed because those before them used up the fuel of the owner, by index in the set.
    pub displaced: Vec<u32>,
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
        Self {
            sandbox,
            loaded: None,
            n_bodies_failed: 0,
            n_bodies_spared: 0,
            costs: Vec::new(),
            failures: Vec::new(),
        }
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

    /// Returns the cost of the rules of each owner on the last transaction, by index of the owner; only of owners whose mean cost
    /// is limited.
    #[must_use]
    pub fn costs(&self) -> &[(usize, OwnerCost)] {
        &self.costs
    }

    /// Takes where and why rules failed on the last transaction, by index in the set.
    pub fn take_failures(&mut self) -> Vec<(usize, FailureDetail)> {
        std::mem::take(&mut self.failures)
    }

    fn run_all(
        &mut self,
        rule_set: &Arc<RuleSet>,
        transaction: &Arc<Transaction>,
        as_of: Sequence,
        outcomes: &mut RuleOutcomes,
    ) -> Result<(), SandboxError> {
        (self.n_bodies_failed, self.n_bodies_spared) = (0, 0);
        self.costs.clear();
        self.failures.clear();
        let (mut n_failed, mut n_spared, mut costs, mut failures) = (0, 0, Vec::new(), Vec::new());
        let runner = self.runner(rule_set)?;
        runner.host()?.begin(Arc::clone(transaction), as_of);
        for (number, owner) in rule_set.owners.iter().enumerate() {
            let mut run = OwnerRun {
                runner,
                rule_set,
                number,
                owner,
                outcomes,
                n_bodies_failed: 0,
                n_bodies_spared: 0,
                cost: OwnerCost::default(),
                failures: &mut failures,
                again: Vec::new(),
            };
            run.judge()?;
            n_failed += run.n_bodies_failed;
            n_spared += run.n_bodies_spared;
            if owner.owner.sustained_fuel.is_some() {
                costs.push((number, run.cost));
            }
        }
        for &rule_index in &rule_set.lacking {
            outcomes.note(rule_index, RuleOutcome::Failed(RuleFailure::List));
        }
        let facts = runner.host()?;
        let suspects = facts.take_suspects();
        if !suspects.is_empty() {
            mismatches::count(facts, rule_set, &suspects);
        }
        facts.end();
        (self.n_bodies_failed, self.n_bodies_spared, self.costs) = (n_failed, n_spared, costs);
        self.failures = failures;
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
                Ok(&mut loaded.insert(WarmInstances::new(&self.sandbox, rule_set)?).runner)
            }
        }
    }
}

impl WarmInstances {
    fn new(sandbox: &Sandbox, rule_set: &Arc<RuleSet>) -> Result<Self, SandboxError> {
        let n_modules = rule_set.rules.len() + rule_set.bodies.len();
        let runner = Runner::new(sandbox, Facts::new(Arc::clone(rule_set)), n_modules)?;
        Ok(Self { rule_set: Arc::clone(rule_set), runner })
    }
}

fn all_failed(rule_set: &RuleSet) -> RuleOutcomes {
    RuleOutcomes::all(rule_set.rules.len(), &RuleOutcome::Failed(RuleFailure::Internal))
}
