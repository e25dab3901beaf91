//! The rules of each owner in a set, and bounds of what they cost.

use std::cmp::Reverse;

use tollgate_compiler::emit::repetitions;
use tollgate_guest_abi::limits::PATTERN_HAYSTACK_BYTES_MAX;
use tollgate_guest_abi::{Item, ListSource, Verdict};
use tollgate_model::instruction::RuleOwner;
use tollgate_model::pattern::{NUMBER_BYTES_MAX, SCALAR_BYTES_MAX};
use tollgate_model::transaction::LongestReads;

use crate::registry::membership::ELEMENT_BYTES;
use crate::registry::{BodyInForce, BoundRule, RuleInForce, SlotBindings};

/// Upper bound of the fuel a call uses before its first instruction.
pub(crate) const FUEL_OF_A_CALL: u64 = 16;

/// Price of an item of a list that is a field of the transaction, besides the bytes that are read.
const PRICE_OF_A_PATH: u64 = 272;

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
    /// rule that is added displaces no rule that is as severe and older.
    pub order: Vec<u32>,
    /// Bound of the cost of the rules that are in a body, if each ran alone.
    fused: CostBound,
    /// Bound of the costliest of them.
    costliest: CostBound,
    /// Both bounds, for every transaction without arrays whose texts have at most 128 bytes.
    usual: FusedBounds,
    /// How often they ask each aggregate of the set, and each previous transaction, if each ran alone; by index.
    aggregate_uses: Vec<u64>,
    previous_uses: Vec<u64>,
}

/// Upper bounds of what the rules of an owner in bodies cost on a transaction without their lookups, in fuel.
#[derive(Debug, Clone, Copy)]
pub struct FusedBounds {
    /// All of them.
    pub all: u64,
    /// The costliest.
    pub costliest: u64,
}

/// The most that rules read of a usual transaction at once.
const USUAL_READS: LongestReads = LongestReads { of_field: 128, n_elements: 0 };

/// Upper bound of the cost of rules without what their lookups read, in fuel.
#[derive(Debug, Clone, Copy, Default)]
pub struct CostBound {
    fixed: u64,
    per_text_byte: u64,
    per_searched_byte: u64,
    /// Comparisons of a value with every element of an array.
    n_arrays: u64,
}

impl CostBound {
    /// Returns the bound of a rule that was compiled from a script.
    pub(super) fn of_rule(rule: &BoundRule) -> Self {
        let (module, patterns) = (&rule.bound.module, &rule.bound.patterns);
        let calls = module.calls();
        let (n_reading, n_members) = (u64::from(calls.n_reading), u64::from(calls.n_members));
        let per_byte = patterns.iter().map(|pattern| pattern.price_per_byte()).max().unwrap_or(0);
        // Each list has at most this many fields of the transaction, which are all read.
        let lists = module.manifest.needs.lists.iter();
        let n_compared = lists.clone().map(n_current_items).max().unwrap_or(0);
        let has_array = lists.clone().any(|list| matches!(list, ListSource::Current(_)));
        let of_numbers = u64::from(calls.n_number_searches) * NUMBER_BYTES_MAX as u64;
        Self {
            fixed: u64::from(module.manifest.cost.instructions)
                + FUEL_OF_A_CALL
                + calls.fuel
                + of_numbers.saturating_mul(per_byte)
                + n_members * n_compared * PRICE_OF_A_PATH,
            // A comparison reads at most two texts; a value is compared with each item, after its path was resolved.
            per_text_byte: 2 * n_reading + 2 * n_members * n_compared,
            per_searched_byte: u64::from(calls.n_searches).saturating_mul(per_byte),
            n_arrays: if has_array { n_members } else { 0 },
        }
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            fixed: self.fixed + other.fixed,
            per_text_byte: self.per_text_byte + other.per_text_byte,
            per_searched_byte: self.per_searched_byte.saturating_add(other.per_searched_byte),
            n_arrays: self.n_arrays + other.n_arrays,
        }
    }

    fn or_more(self, other: Self) -> Self {
        Self {
            fixed: self.fixed.max(other.fixed),
            per_text_byte: self.per_text_byte.max(other.per_text_byte),
            per_searched_byte: self.per_searched_byte.max(other.per_searched_byte),
            n_arrays: self.n_arrays.max(other.n_arrays),
        }
    }

    /// Returns the bound for a transaction of which rules read at most this at once.
    #[must_use]
    pub const fn fuel(&self, longest: LongestReads) -> u64 {
        let longest_read = longest.of_field as usize;
        let searched = if longest_read < SCALAR_BYTES_MAX {
            SCALAR_BYTES_MAX
        } else if longest_read > PATTERN_HAYSTACK_BYTES_MAX {
            PATTERN_HAYSTACK_BYTES_MAX
        } else {
            longest_read
        };
        let of_texts = self.per_text_byte.saturating_mul(longest_read as u64);
        let of_searches = self.per_searched_byte.saturating_mul(searched as u64);
        let of_element = longest.of_field as u64 + ELEMENT_BYTES as u64;
        let of_array = (longest.n_elements as u64).saturating_mul(of_element).saturating_add(PRICE_OF_A_PATH);
        let of_arrays = self.n_arrays.saturating_mul(of_array.saturating_add(2 * longest.of_field as u64));
        self.fixed.saturating_add(of_texts).saturating_add(of_searches).saturating_add(of_arrays)
    }
}

fn n_current_items(list: &ListSource) -> u64 {
    match list {
        ListSource::Items(items) => {
            items.iter().filter(|item| matches!(item, Item::Current(_))).count() as u64
        }
        ListSource::Current(_) | ListSource::Named(_) => 0,
    }
}

impl OwnerInForce {
    /// Groups the rules of a set by owner. `alone` has the rules that are in no body.
    pub(super) fn all(rules: &[RuleInForce], bodies: &[BodyInForce], alone: &[u32]) -> Vec<Self> {
        let mut owners: Vec<Self> = Vec::new();
        for (rule_index, in_force) in (0..).zip(rules) {
            let of_rule = in_force.rule.owner();
            let owner = match owners.iter_mut().position(|known| known.owner == of_rule) {
                Some(known) => owners.get_mut(known),
                None => {
                    owners.push(Self::new(of_rule));
                    owners.last_mut()
                }
            };
            let Some(owner) = owner else { continue };
            owner.order.push(rule_index);
            if alone.binary_search(&rule_index).is_ok() {
                owner.alone.push(rule_index);
            } else {
                owner.add_fused(&in_force.rule, &in_force.asker);
            }
        }
        for (number, body) in bodies.iter().enumerate() {
            let of_body = body.rule_indices.first().and_then(|rule_index| rules.get(*rule_index as usize));
            let owner = of_body.map(|in_force| in_force.rule.owner());
            if let Some(owner) = owners.iter_mut().find(|known| Some(&known.owner) == owner.as_ref()) {
                owner.bodies.push(number);
            }
        }
        for owner in &mut owners {
            owner.usual = owner.bounds_of(USUAL_READS);
            // Stable: rules are sorted by id, and so by age.
            owner.order.sort_by_key(|rule_index| {
                rules.get(*rule_index as usize).map(|rule| Reverse(blocks(&rule.rule)))
            });
        }
        owners
    }

    const fn new(owner: RuleOwner) -> Self {
        const NOTHING: CostBound =
            CostBound { fixed: 0, per_text_byte: 0, per_searched_byte: 0, n_arrays: 0 };
        Self {
            owner,
            bodies: Vec::new(),
            alone: Vec::new(),
            order: Vec::new(),
            fused: NOTHING,
            costliest: NOTHING,
            usual: FusedBounds { all: 0, costliest: 0 },
            aggregate_uses: Vec::new(),
            previous_uses: Vec::new(),
        }
    }

    fn add_fused(&mut self, rule: &BoundRule, asker: &SlotBindings) {
        let bound = CostBound::of_rule(rule);
        self.fused = self.fused.plus(bound);
        self.costliest = self.costliest.or_more(bound);
        // Only rules with a checked form are fused.
        let n = rule
            .instruction
            .checked
            .as_ref()
            .and_then(|checked| repetitions(checked).ok())
            .unwrap_or(1)
            .max(1);
        for (uses, numbers) in
            [(&mut self.aggregate_uses, &asker.aggregates), (&mut self.previous_uses, &asker.previous)]
        {
            for &number in numbers {
                let number = number as usize;
                uses.resize(uses.len().max(number + 1), 0);
                if let Some(uses) = uses.get_mut(number) {
                    *uses += u64::from(n);
                }
            }
        }
    }

    /// Returns bounds for a transaction of which rules read at most this at once. Those of usual transactions are taken
    /// where they leave most of `threshold` for lookups, and none costs more than `costliest_max`.
    #[must_use]
    #[inline]
    pub fn bounds(&self, longest: LongestReads, threshold: u64, costliest_max: u64) -> FusedBounds {
        let is_usual =
            longest.of_field <= USUAL_READS.of_field && longest.n_elements == USUAL_READS.n_elements;
        if is_usual && self.usual.all <= threshold / 4 && self.usual.costliest <= costliest_max {
            return self.usual;
        }
        self.bounds_of(longest)
    }

    #[inline(never)]
    fn bounds_of(&self, longest: LongestReads) -> FusedBounds {
        FusedBounds { all: self.fused.fuel(longest), costliest: self.costliest.fuel(longest) }
    }

    /// Returns the least that a bound of all its rules in bodies can be, in fuel.
    #[must_use]
    pub const fn least_bound(&self) -> u64 {
        self.fused.fuel(LongestReads { of_field: 0, n_elements: 0 })
    }

    /// Returns how often its fused rules ask this aggregate of the set.
    #[must_use]
    pub fn aggregate_uses(&self, number: usize) -> u64 {
        self.aggregate_uses.get(number).map_or(1, |uses| (*uses).max(1))
    }

    /// Returns how often its fused rules ask this previous transaction of the set.
    #[must_use]
    pub fn previous_uses(&self, number: usize) -> u64 {
        self.previous_uses.get(number).map_or(1, |uses| (*uses).max(1))
    }
}

fn blocks(rule: &BoundRule) -> bool {
    rule.instruction.entry.verdict.severity() >= Verdict::Block.severity()
}
