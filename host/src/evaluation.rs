//! Running every rule of a set on one transaction.
//!
//! An [`Evaluator`] belongs to one thread and keeps warm instances of the rule set it judged by last. A rule that dies
//! disturbs no other; its death is an [`Outcome`] like any other.

mod answers;
mod breakers;
mod facts;
mod pool;

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use crate::assessment::{Outcome, RuleFailure, Statement};
use crate::registry::RuleSet;
use crate::sandbox::{Answer, Runner, Sandbox, SandboxError};
use crate::sequence::Sequence;
use crate::transaction::Transaction;
use facts::Facts;

pub use breakers::{Breakers, FAILURES_MAX, Failing, SOURCES_MAX};
pub use pool::{Evaluated, Job, Pool};

/// Judges transactions, one at a time.
#[derive(Debug)]
pub struct Evaluator {
    sandbox: Sandbox,
    loaded: Option<Loaded>,
}

/// Warm instances of one rule set.
#[derive(Debug)]
struct Loaded {
    rule_set: Arc<RuleSet>,
    runner: Runner<Facts>,
}

impl Evaluator {
    /// With nothing loaded yet.
    #[must_use]
    pub const fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, loaded: None }
    }

    /// One outcome per rule of the set, in its order. Of the history it sees what was accepted before `as_of`.
    pub fn evaluate(
        &mut self,
        rule_set: &Arc<RuleSet>,
        transaction: &Arc<Transaction>,
        as_of: Sequence,
    ) -> Vec<Outcome> {
        let judged = panic::catch_unwind(AssertUnwindSafe(|| self.run_all(rule_set, transaction, as_of)));
        match judged {
            Ok(Ok(outcomes)) => outcomes,
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

    fn run_all(
        &mut self,
        rule_set: &Arc<RuleSet>,
        transaction: &Arc<Transaction>,
        as_of: Sequence,
    ) -> Result<Vec<Outcome>, SandboxError> {
        let runner = self.runner(rule_set)?;
        runner.host()?.begin(Arc::clone(transaction), as_of);
        let mut outcomes = Vec::with_capacity(rule_set.rules.len());
        for (place, in_force) in rule_set.rules.iter().enumerate() {
            if in_force.is_quarantined {
                outcomes.push(Outcome::Failed(RuleFailure::Quarantined));
                continue;
            }
            runner.host()?.turn_to(place);
            outcomes.push(match runner.run(place) {
                Ok(Answer { bits: 0, .. }) => Outcome::NotMatched,
                Ok(Answer { said, .. }) if said == Statement::default() => Outcome::Matched,
                Ok(Answer { said, .. }) => Outcome::MatchedSaying(Box::new(said)),
                Err(failure) => Outcome::Failed(failure),
            });
        }
        runner.host()?.end();
        Ok(outcomes)
    }

    fn runner(&mut self, rule_set: &Arc<RuleSet>) -> Result<&mut Runner<Facts>, SandboxError> {
        let loaded = match self.loaded.take() {
            Some(loaded) if Arc::ptr_eq(&loaded.rule_set, rule_set) => loaded,
            _ => {
                let modules = rule_set.rules.iter().map(|in_force| &*in_force.rule.module);
                let runner = Runner::new(&self.sandbox, Facts::new(Arc::clone(rule_set)), modules)?;
                Loaded { rule_set: Arc::clone(rule_set), runner }
            }
        };
        Ok(&mut self.loaded.insert(loaded).runner)
    }
}

fn all_failed(rule_set: &RuleSet) -> Vec<Outcome> {
    vec![Outcome::Failed(RuleFailure::Internal); rule_set.rules.len()]
}
