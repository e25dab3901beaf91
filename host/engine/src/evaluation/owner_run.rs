//! Runs the rules of one owner on one transaction.
//!
//! ```text
//!  bodies, while a bound of what their rules cost alone fits ──▶ rules in no body ──▶ outcomes
//!     └─ it does not fit ──▶ every rule alone, in order, until the fuel is used up ──▶ outcomes
//! ```
//!
//! Both ways give the same outcomes. What an owner's rules cost is what each costs alone, so the outcomes depend neither
//! on the bodies nor on other owners.

use tollgate_model::assessment::{RuleFailure, RuleOutcome, RuleStatement};

use crate::evaluation::OwnerCost;
use crate::evaluation::facts::{Facts, ModuleIndex};
use crate::evaluation::outcomes::RuleOutcomes;
use crate::fusion::FUEL_BESIDE_LOOKUPS;
use crate::registry::{OwnerInForce, RuleSet};
use crate::sandbox::{CallCharges, FailureDetail, RunCost, RunTerms, Runner, SandboxError};

/// A rule that costs less is never blamed for the costs of its owner.
pub(super) const CHEAP_FUEL: u64 = 10_000;

/// The rules of one owner while they run.
pub(super) struct OwnerRun<'e> {
    pub(super) runner: &'e mut Runner<Facts>,
    pub(super) rule_set: &'e RuleSet,
    pub(super) number: usize,
    pub(super) owner: &'e OwnerInForce,
    pub(super) outcomes: &'e mut RuleOutcomes,
    pub(super) n_bodies_failed: usize,
    pub(super) n_bodies_spared: usize,
    pub(super) cost: OwnerCost,
    /// Where and why rules failed, by index in the set.
    pub(super) failures: &'e mut Vec<(usize, FailureDetail)>,
    /// Rules of bodies that failed, which must run alone.
    pub(super) again: Vec<u32>,
}

impl OwnerRun<'_> {
    /// Runs all rules of the owner.
    pub(super) fn judge(&mut self) -> Result<(), SandboxError> {
        if !self.rule_set.semantics.has_prices() {
            return self.judge_without_ceiling();
        }
        self.runner.host()?.begin_owner();
        let ceiling = self.owner.owner.fuel;
        // Above this, it matters which of the rules costs how much.
        let threshold = self.owner.owner.sustained_fuel.unwrap_or(ceiling).min(ceiling);
        if !self.owner.bodies.is_empty() {
            let longest = self.runner.host()?.longest_reads().unwrap_or_default();
            let bounds = self.owner.bounds(longest, threshold, FUEL_BESIDE_LOOKUPS);
            if bounds.all <= threshold && bounds.costliest <= FUEL_BESIDE_LOOKUPS {
                if self.judge_with_bodies(bounds.all, threshold)? {
                    return Ok(());
                }
                self.outcomes.take_back(&self.owner.order);
                self.cost = OwnerCost::default();
            }
        }
        self.run_in_order(&self.owner.order, ceiling).map(drop)
    }

    fn judge_without_ceiling(&mut self) -> Result<(), SandboxError> {
        self.run_bodies()?;
        let mut each = std::mem::take(&mut self.again);
        each.extend_from_slice(&self.owner.alone);
        let mut cost = RunCost::default();
        for &number in &each {
            let is_untrusted = self.is_untrusted(number);
            let charges = if is_untrusted { CallCharges::BeforeV4 } else { CallCharges::Nothing };
            self.run_alone(number, RunTerms { fuel_max: u64::MAX, charges }, &mut cost)?;
        }
        Ok(())
    }

    /// Runs the bodies and then the rules that are in none. Returns `false` if some might not fit, so that their order
    /// counts. `least` is a bound of the cost of the bodies without their lookups.
    fn judge_with_bodies(&mut self, least: u64, threshold: u64) -> Result<bool, SandboxError> {
        let for_lookups = threshold - least;
        self.runner.host()?.begin_bodies(self.number, for_lookups);
        self.run_bodies()?;
        let fused = threshold - self.runner.host()?.end_bodies();
        self.cost.fuel = fused;
        if self.again.is_empty() && self.owner.alone.is_empty() {
            return Ok(true);
        }
        let mut each = std::mem::take(&mut self.again);
        each.extend_from_slice(&self.owner.alone);
        self.run_in_order(&each, threshold - fused)
    }

    /// Runs the bodies.
    fn run_bodies(&mut self) -> Result<(), SandboxError> {
        for &number in &self.owner.bodies {
            let Some(in_force) = self.rule_set.bodies.get(number) else { continue };
            let facts = self.runner.host()?;
            if facts.rule_out(&in_force.selector).unwrap_or(false) {
                self.n_bodies_spared += 1;
                continue;
            }
            facts.turn_to(ModuleIndex::Body(number));
            let terms = RunTerms { fuel_max: u64::MAX, charges: CallCharges::Nothing };
            let module_index = self.rule_set.rules.len() + number;
            match self.runner.run(module_index, &in_force.asker.bound.module, terms, &mut RunCost::default())
            {
                Ok(bits) => self.outcomes.note_matches(bits & in_force.counted, &in_force.rule_indices),
                Err(failure) => {
                    self.n_bodies_failed += 1;
                    tracing::debug!(
                        failure = failure.as_str(),
                        "a fused body failed; its rules are run one by one"
                    );
                    self.again.extend_from_slice(&in_force.rule_indices);
                }
            }
        }
        Ok(())
    }

    /// Runs rules alone, one after the other, and adds their cost. Returns whether no rule failed for lack of fuel of the
    /// owner. Once a rule does, all later ones do.
    fn run_in_order(&mut self, rule_indices: &[u32], fuel: u64) -> Result<bool, SandboxError> {
        let (mut left, mut fits) = (fuel, true);
        for (n, &number) in rule_indices.iter().enumerate() {
            if !fits {
                rule_indices.iter().skip(n).for_each(|&number| self.note_budget(number));
                break;
            }
            let mut cost = RunCost::default();
            let terms =
                RunTerms { fuel_max: left, charges: CallCharges::of_semantics(self.rule_set.semantics) };
            fits &= self.run_alone(number, terms, &mut cost)?;
            left = if fits { left.saturating_sub(cost.fuel) } else { 0 };
            if cost.fuel >= CHEAP_FUEL && self.owner.owner.sustained_fuel.is_some() {
                self.cost.costly.push((number, cost.fuel));
            }
        }
        self.cost.fuel += fuel - left;
        Ok(fits)
    }

    /// Notes that a rule was not run, because those before it used up the fuel of the owner.
    fn note_budget(&mut self, number: u32) {
        let Some(in_force) = self.rule_set.rules.get(number as usize) else { return };
        if in_force.missing_lists.is_empty() {
            let failure =
                if in_force.is_quarantined { RuleFailure::Quarantined } else { RuleFailure::Budget };
            if failure == RuleFailure::Budget {
                self.note_displaced(number);
            }
            self.outcomes.note(number, RuleOutcome::Failed(failure));
        }
    }

    fn note_displaced(&mut self, number: u32) {
        if self.owner.owner.sustained_fuel.is_some() {
            self.cost.displaced.push(number);
        }
    }

    fn is_untrusted(&self, number: u32) -> bool {
        let in_force = self.rule_set.rules.get(number as usize);
        in_force.is_some_and(|in_force| in_force.asker.bound.module.origin().grant().is_some())
    }

    /// Runs the rule at this index with its own module. Returns `false` if it failed for lack of fuel of the owner.
    fn run_alone(&mut self, number: u32, terms: RunTerms, cost: &mut RunCost) -> Result<bool, SandboxError> {
        let rule_index = number as usize;
        let Some(in_force) = self.rule_set.rules.get(rule_index) else {
            self.outcomes.note(number, RuleOutcome::Failed(RuleFailure::Internal));
            return Ok(true);
        };
        if !in_force.missing_lists.is_empty() {
            // Fails without a run; the evaluator notes the failure of every rule with a missing list.
            return Ok(true);
        }
        if in_force.is_quarantined {
            self.outcomes.note(number, RuleOutcome::Failed(RuleFailure::Quarantined));
            return Ok(true);
        }
        self.runner.host()?.turn_to(ModuleIndex::Rule(rule_index));
        let module = &in_force.asker.bound.module;
        let outcome = match self.runner.run(rule_index, module, terms, cost) {
            Ok(0) => RuleOutcome::NotMatched,
            Ok(_) => match self.runner.take_statement() {
                said if said == RuleStatement::default() => RuleOutcome::Matched,
                said => RuleOutcome::MatchedSaying(Box::new(said)),
            },
            Err(RuleFailure::Fuel) if terms.fuel_max < module.fuel() => {
                RuleOutcome::Failed(RuleFailure::Budget)
            }
            Err(failure) => {
                let detail = self.runner.take_failure();
                self.failures.extend(detail.map(|detail| (rule_index, detail)));
                RuleOutcome::Failed(failure)
            }
        };
        let fits = outcome != RuleOutcome::Failed(RuleFailure::Budget);
        if !fits {
            self.note_displaced(number);
        }
        self.outcomes.note(number, outcome);
        Ok(fits)
    }
}
