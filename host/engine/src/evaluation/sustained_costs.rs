//! Finds the rules to blame when the rules of an owner who is not trusted keep taking too long.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tollgate_model::instruction::InstructionId;

use crate::evaluation::OwnerCost;
use crate::registry::{OwnerInForce, RuleInForce, RuleSet};

/// Transactions over which the mean cost is computed.
pub(super) const TRANSACTIONS: usize = 64;

/// The costs of the last transactions, by name of the owner.
#[derive(Debug, Default)]
pub(super) struct SustainedCosts {
    owners: HashMap<Arc<str>, VecDeque<RecentCost>>,
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
    /// Records the cost of one transaction. If the mean is too high, returns the rules that came into force last and
    /// together account for the excess; none of them is cheap.
    pub(super) fn note<'s>(
        &mut self,
        rule_set: &'s RuleSet,
        owner: &OwnerInForce,
        cost: &OwnerCost,
        others_wait: bool,
    ) -> Option<Excess<'s>> {
        let limit = owner.owner.sustained_fuel?;
        let recent = self.owners.entry(Arc::clone(&owner.owner.name)).or_default();
        let id_of = |place: u32| Some(rule_set.rules.get(place as usize)?.rule.instruction.record.id);
        let costly = cost.costly.iter().filter_map(|(place, fuel)| Some((id_of(*place)?, *fuel))).collect();
        recent.push_back(RecentCost { fuel: cost.fuel, costly });
        if recent.len() > TRANSACTIONS {
            recent.pop_front();
        }
        let allowed = limit.saturating_mul(TRANSACTIONS as u64);
        let mut sum: u64 = recent.iter().map(|cost| cost.fuel).sum();
        if sum <= allowed || !others_wait {
            return None;
        }
        let mut costs: HashMap<InstructionId, u64> = HashMap::new();
        for (id, fuel) in recent.iter().flat_map(|cost| &cost.costly) {
            *costs.entry(*id).or_default() += fuel;
        }
        let own = owner.order.iter().filter_map(|place| rule_set.rules.get(*place as usize));
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
            blamed.push((newest, fuel / TRANSACTIONS as u64));
        }
        // What the others cost without them is measured anew.
        recent.clear();
        Some(Excess { blamed, fuel_left: limit.saturating_sub(sum / TRANSACTIONS as u64) })
    }
}
