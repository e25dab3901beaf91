//! Rules that did not run because others had used up the fuel of their owner.
//!
//! When those others are quarantined, the next ones take their place. So what the displaced rules cost is measured at
//! the same time, each alone, away from the transactions that wait.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::evaluation::facts::ModuleIndex;
use crate::evaluation::fault::{FailingRule, RuleFault};
use crate::evaluation::owner_run::CHEAP_FUEL;
use crate::evaluation::{Evaluator, WarmInstances};
use crate::registry::RuleSet;
use crate::sandbox::{CallCharges, RunCost, RunTerms, Sandbox, SandboxError};

/// Maximum time of a measurement. Those that displaced the others stay in force meanwhile.
const MEASURED_MAX: Duration = Duration::from_secs(1);

/// Rules of an owner that were displaced on a transaction.
#[derive(Debug)]
pub struct DisplacedRules {
    /// The rule set.
    pub rule_set: Arc<RuleSet>,
    pub(super) transaction: Arc<Transaction>,
    pub(super) as_of: Sequence,
    /// Indices of the rules.
    pub(super) rule_indices: Vec<u32>,
    /// Fuel that they may cost together.
    pub(super) fuel: u64,
}

impl DisplacedRules {
    /// Runs the rules and returns those that came into force last and together account for the excess. None of them is
    /// cheap.
    ///
    /// # Errors
    /// When the rule set cannot be loaded.
    pub fn to_blame(&self, sandbox: &Sandbox) -> Result<Vec<FailingRule>, SandboxError> {
        let mut costs = Evaluator::new(sandbox.clone()).costs_alone(self)?;
        let mut sum: u64 = costs.iter().map(|(_, fuel)| fuel).sum();
        costs.retain(|(_, fuel)| *fuel >= CHEAP_FUEL);
        let rule = |rule_index: u32| Some(&*self.rule_set.rules.get(rule_index as usize)?.rule.instruction);
        let age = |rule_index: u32| rule(rule_index).map(|rule| (rule.record.updated_at, rule.record.id));
        costs.sort_by_key(|(rule_index, _)| age(*rule_index));
        let mut blamed = Vec::new();
        while sum > self.fuel
            && let Some((rule_index, fuel)) = costs.pop()
        {
            sum -= fuel;
            let fault = RuleFault::DisplacedCost { fuel };
            let failing =
                rule(rule_index).map(|rule| FailingRule { id: rule.record.id, digest: rule.digest, fault });
            blamed.extend(failing);
        }
        Ok(blamed)
    }
}

impl Evaluator {
    /// Returns the fuel that each of the rules uses if it runs alone, as far as the time suffices.
    fn costs_alone(&mut self, displaced: &DisplacedRules) -> Result<Vec<(u32, u64)>, SandboxError> {
        let DisplacedRules { rule_set, transaction, as_of, rule_indices, .. } = displaced;
        let (mut costs, end) = (Vec::new(), Instant::now() + MEASURED_MAX);
        let WarmInstances { runner, .. } = self.loaded.insert(WarmInstances::new(&self.sandbox, rule_set)?);
        for &rule_index in rule_indices.iter().take_while(|_| Instant::now() < end) {
            let Some(in_force) = rule_set.rules.get(rule_index as usize) else { continue };
            let facts = runner.host()?;
            facts.begin(Arc::clone(transaction), *as_of);
            facts.turn_to(ModuleIndex::Rule(rule_index as usize));
            let terms =
                RunTerms { fuel_max: u64::MAX, charges: CallCharges::of_semantics(rule_set.semantics) };
            let mut cost = RunCost::default();
            // A rule that fails costs what it used until then.
            runner.run(rule_index as usize, &in_force.asker.bound.module, terms, &mut cost).ok();
            costs.push((rule_index, cost.fuel));
        }
        Ok(costs)
    }
}
