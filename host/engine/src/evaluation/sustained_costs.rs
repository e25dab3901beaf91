//! Finds the rules to blame when the rules of an owner who is not trusted keep taking too long: on nearly all transactions
//! of a [stretch](FaultStretch), of many sources and over minutes.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_model::instruction::InstructionId;

use crate::evaluation::OwnerCost;
use crate::evaluation::fault_stretch::{FaultStretch, RUNS};
use crate::registry::{OwnerInForce, RuleInForce, RuleSet};

/// The owners whose rules cost too much lately, by name.
#[derive(Debug, Default)]
pub(super) struct SustainedCosts {
    owners: HashMap<Arc<str>, CostlyStretch>,
}

/// Cost of the rules of an owner on one transaction, with its circumstances.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnerRunCost<'e> {
    pub(super) cost: &'e OwnerCost,
    /// Hash of the source of the transaction.
    pub(super) source: u64,
    pub(super) now: Instant,
    /// Whether other transactions wait to be evaluated.
    pub(super) others_wait: bool,
}

/// Transactions on nearly all of which the rules of an owner cost too much.
#[derive(Debug)]
struct CostlyStretch {
    stretch: FaultStretch,
    /// The costs on the last of them, at most [`RUNS`].
    recent: VecDeque<RecentCost>,
}

/// Rules to blame for a mean cost that is too high.
pub(super) struct Excess<'s> {
    /// The rules, each with its mean cost in fuel.
    pub(super) blamed: Vec<(&'s RuleInForce, u64)>,
    /// Fuel that is left on average without them.
    pub(super) fuel_left: u64,
}

/// Cost of the rules of an owner on one transaction.
#[derive(Debug)]
struct RecentCost {
    fuel: u64,
    /// Rules that were not cheap.
    costly: Vec<(InstructionId, u64)>,
}

impl SustainedCosts {
    /// Records the cost of one transaction. If the owner has cost too much for at least this long, returns the rules that
    /// came into force last and together account for the excess of the mean; none of them is cheap.
    pub(super) fn note<'s>(
        &mut self,
        rule_set: &'s RuleSet,
        owner: &OwnerInForce,
        run: OwnerRunCost<'_>,
        least: Duration,
    ) -> Option<Excess<'s>> {
        let limit = owner.owner.sustained_fuel?;
        let is_excess = run.cost.fuel > limit;
        let name = &owner.owner.name;
        if !self.owners.contains_key(name) {
            if !is_excess {
                return None;
            }
            let begun = CostlyStretch { stretch: FaultStretch::begin(), recent: VecDeque::new() };
            self.owners.insert(Arc::clone(name), begun);
        }
        let costly = self.owners.get_mut(name)?;
        if is_excess {
            costly.stretch.note_faulty(run.source, run.now);
        } else if !costly.stretch.note_sound(run.now) {
            self.owners.remove(name);
            return None;
        }
        costly.note_recent(rule_set, run.cost);
        if !run.others_wait || !costly.stretch.is_due(run.now, least) {
            return None;
        }
        let excess = costly.excess(rule_set, owner, limit)?;
        // The cost of the other rules without them is measured anew.
        self.owners.remove(name);
        Some(excess)
    }
}

impl CostlyStretch {
    fn note_recent(&mut self, rule_set: &RuleSet, cost: &OwnerCost) {
        let id_of =
            |rule_index: u32| Some(rule_set.rules.get(rule_index as usize)?.rule.instruction.record.id);
        let costly =
            cost.costly.iter().filter_map(|(rule_index, fuel)| Some((id_of(*rule_index)?, *fuel))).collect();
        self.recent.push_back(RecentCost { fuel: cost.fuel, costly });
        if self.recent.len() as u64 > RUNS {
            self.recent.pop_front();
        }
    }

    /// Returns the rules that came into force last and together account for the excess of the mean over the limit.
    fn excess<'s>(&self, rule_set: &'s RuleSet, owner: &OwnerInForce, limit: u64) -> Option<Excess<'s>> {
        let n_recent = self.recent.len() as u64;
        let allowed = limit.saturating_mul(n_recent);
        let mut sum: u64 = self.recent.iter().map(|cost| cost.fuel).sum();
        if sum <= allowed {
            return None;
        }
        let mut costs: HashMap<InstructionId, u64> = HashMap::new();
        for (id, fuel) in self.recent.iter().flat_map(|cost| &cost.costly) {
            *costs.entry(*id).or_default() += fuel;
        }
        let own = owner.order.iter().filter_map(|rule_index| rule_set.rules.get(*rule_index as usize));
        let mut own: Vec<&RuleInForce> =
            own.filter(|rule| costs.contains_key(&rule.rule.instruction.record.id)).collect();
        own.sort_by_key(|rule| {
            let record = &rule.rule.instruction.record;
            (record.updated_at, record.id)
        });
        let mut blamed = Vec::new();
        while sum > allowed
            && let Some(newest) = own.pop()
        {
            let fuel = costs.get(&newest.rule.instruction.record.id).copied().unwrap_or(0);
            sum = sum.saturating_sub(fuel);
            blamed.push((newest, fuel / n_recent));
        }
        Some(Excess { blamed, fuel_left: limit.saturating_sub(sum / n_recent) })
    }
}
