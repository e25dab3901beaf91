//! The rules of each owner in a set, and bounds of what they cost.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tollgate_compiler::emit::repetitions;
use tollgate_guest_abi::Verdict;
use tollgate_model::instruction::RuleOwner;

use crate::registry::{BodyInForce, BoundRule, RuleInForce, SlotBindings};

/// Upper bound of the fuel a call uses before its first instruction.
pub(crate) const FUEL_OF_A_CALL: u64 = 16;

/// The rules of one owner. Together they may use the fuel of the owner on each transaction.
#[derive(Debug)]
pub struct OwnerInForce {
    /// The owner.
    pub owner: RuleOwner,
    /// Indices of the bodies whose members are its rules.
    pub bodies: Vec<usize>,
    /// Indices of its rules that are in no body.
    pub alone: Vec<u32>,
    /// Indices of all its rules in the order in which they are charged: first those that block, then oldest first. A
    /// rule that is added can only displace milder and newer ones.
    pub order: Vec<u32>,
    /// Bound of the cost of the rules that are in a body, if each ran alone.
    pub fused: CostBound,
    /// Bound of the costliest of them.
    pub costliest: CostBound,
    /// How often they ask each aggregate of the set, and each previous transaction, if each ran alone.
    aggregate_uses: BTreeMap<usize, u64>,
    previous_uses: BTreeMap<usize, u64>,
}

/// Upper bound of the cost of rules without what their lookups read, in fuel.
#[derive(Debug, Clone, Copy, Default)]
pub struct CostBound {
    fixed: u64,
    per_text_byte: u64,
    per_searched_byte: u64,
}

/// The longest texts that calls read on a transaction, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct LongestReads {
    /// By calls that compare.
    pub compared: usize,
    /// By searches.
    pub searched: usize,
}

impl LongestReads {
    /// Records that a comparison read this many bytes.
    #[inline]
    pub fn note_compared(&mut self, n_bytes: usize) {
        self.compared = self.compared.max(n_bytes);
    }

    /// Records that a search read this many bytes.
    #[inline]
    pub fn note_searched(&mut self, n_bytes: usize) {
        self.searched = self.searched.max(n_bytes);
    }
}

impl CostBound {
    /// Returns the bound of a rule that was compiled from a script.
    pub(super) fn of(rule: &BoundRule) -> Self {
        let (module, patterns) = (&rule.bound.module, &rule.bound.patterns);
        let calls = module.calls();
        let per_byte = patterns.iter().map(|pattern| pattern.price_per_byte()).max().unwrap_or(0);
        Self {
            fixed: u64::from(module.manifest.cost.instructions) + FUEL_OF_A_CALL + calls.fuel,
            // A comparison reads at most two texts.
            per_text_byte: 2 * u64::from(calls.n_reading),
            per_searched_byte: u64::from(calls.n_searches) * per_byte,
        }
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            fixed: self.fixed + other.fixed,
            per_text_byte: self.per_text_byte + other.per_text_byte,
            per_searched_byte: self.per_searched_byte.saturating_add(other.per_searched_byte),
        }
    }

    fn or_more(self, other: Self) -> Self {
        Self {
            fixed: self.fixed.max(other.fixed),
            per_text_byte: self.per_text_byte.max(other.per_text_byte),
            per_searched_byte: self.per_searched_byte.max(other.per_searched_byte),
        }
    }

    /// Returns the bound for texts that are at most this long.
    #[must_use]
    pub const fn fuel(&self, longest: LongestReads) -> u64 {
        let of_texts = self.per_text_byte.saturating_mul(longest.compared as u64);
        let of_searches = self.per_searched_byte.saturating_mul(longest.searched as u64);
        self.fixed.saturating_add(of_texts).saturating_add(of_searches)
    }
}

impl OwnerInForce {
    /// Groups the rules of a set by owner. `alone` has the rules that are in no body.
    pub(super) fn all(rules: &[RuleInForce], bodies: &[BodyInForce], alone: &[u32]) -> Vec<Self> {
        let mut owners: Vec<Self> = Vec::new();
        for (place, in_force) in (0..).zip(rules) {
            let of_rule = in_force.rule.owner();
            let owner = match owners.iter_mut().position(|known| known.owner == of_rule) {
                Some(known) => owners.get_mut(known),
                None => {
                    owners.push(Self::new(of_rule));
                    owners.last_mut()
                }
            };
            let Some(owner) = owner else { continue };
            owner.order.push(place);
            if alone.binary_search(&place).is_ok() {
                owner.alone.push(place);
            } else {
                owner.add_fused(&in_force.rule, &in_force.asker);
            }
        }
        for (number, body) in bodies.iter().enumerate() {
            let of_body = body.places.first().and_then(|place| rules.get(*place as usize));
            let owner = of_body.map(|in_force| in_force.rule.owner());
            if let Some(owner) = owners.iter_mut().find(|known| Some(&known.owner) == owner.as_ref()) {
                owner.bodies.push(number);
            }
        }
        for owner in &mut owners {
            // Stable: rules are sorted by id, and so by age.
            owner
                .order
                .sort_by_key(|place| rules.get(*place as usize).map(|rule| Reverse(blocks(&rule.rule))));
        }
        owners
    }

    const fn new(owner: RuleOwner) -> Self {
        const NOTHING: CostBound = CostBound { fixed: 0, per_text_byte: 0, per_searched_byte: 0 };
        Self {
            owner,
            bodies: Vec::new(),
            alone: Vec::new(),
            order: Vec::new(),
            fused: NOTHING,
            costliest: NOTHING,
            aggregate_uses: BTreeMap::new(),
            previous_uses: BTreeMap::new(),
        }
    }

    fn add_fused(&mut self, rule: &BoundRule, asker: &SlotBindings) {
        let bound = CostBound::of(rule);
        self.fused = self.fused.plus(bound);
        self.costliest = self.costliest.or_more(bound);
        // Only rules with a checked form are fused.
        let n = rule.checked.as_ref().and_then(|checked| repetitions(checked).ok()).unwrap_or(1).max(1);
        for (uses, numbers) in
            [(&mut self.aggregate_uses, &asker.aggregates), (&mut self.previous_uses, &asker.previous)]
        {
            numbers.iter().for_each(|number| *uses.entry(*number as usize).or_default() += u64::from(n));
        }
    }

    /// Returns how often its fused rules ask this aggregate of the set.
    #[must_use]
    pub fn aggregate_uses(&self, number: usize) -> u64 {
        self.aggregate_uses.get(&number).copied().unwrap_or(1)
    }

    /// Returns how often its fused rules ask this previous transaction of the set.
    #[must_use]
    pub fn previous_uses(&self, number: usize) -> u64 {
        self.previous_uses.get(&number).copied().unwrap_or(1)
    }
}

fn blocks(rule: &BoundRule) -> bool {
    rule.instruction.entry.verdict.severity() >= Verdict::Block.severity()
}
