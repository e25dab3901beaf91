//! Costs of the lookups of one transaction.

use std::cell::{Cell, RefCell};

use tollgate_model::assessment::RuleFailure;

use crate::registry::OwnerInForce;

/// A lookup, by its number in the tables of the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookupNumber {
    Aggregate(usize),
    Previous(usize),
}

/// Costs of lookups.
#[derive(Debug, Default)]
pub(super) struct LookupCosts {
    /// Set while the bodies of an owner run.
    bodies: Option<BodyCosts>,
    /// Lookups of these bodies that were paid for.
    paid: RefCell<Vec<LookupNumber>>,
    /// Lookups that cost more than this, so that none is tried again in vain.
    in_vain: RefCell<Vec<(LookupNumber, u64)>>,
}

/// Cost of the lookups in the bodies of one owner, if each of its rules asked alone.
#[derive(Debug)]
struct BodyCosts {
    owner: usize,
    left: Cell<u64>,
}

impl LookupNumber {
    fn uses(self, owner: &OwnerInForce) -> u64 {
        match self {
            Self::Aggregate(number) => owner.aggregate_uses(number),
            Self::Previous(number) => owner.previous_uses(number),
        }
    }
}

impl LookupCosts {
    /// Forgets the costs of the last transaction.
    pub(super) fn begin(&mut self) {
        self.bodies = None;
        self.in_vain.get_mut().clear();
    }

    pub(super) fn begin_bodies(&mut self, owner: usize, fuel: u64) {
        self.bodies = Some(BodyCosts { owner, left: Cell::new(fuel) });
        self.paid.get_mut().clear();
    }

    pub(super) fn end_bodies(&mut self) -> u64 {
        self.bodies.take().map_or(0, |bodies| bodies.left.get())
    }

    pub(super) fn owner_of_bodies(&self) -> Option<usize> {
        self.bodies.as_ref().map(|bodies| bodies.owner)
    }

    /// Returns the most that a lookup of a body may cost.
    pub(super) fn fuel_max_of(&self, lookup: LookupNumber, owner: &OwnerInForce, fuel_max: u64) -> u64 {
        match &self.bodies {
            Some(bodies) if !self.paid.borrow().contains(&lookup) => match lookup.uses(owner) {
                1 => fuel_max.min(bodies.left.get()),
                uses => fuel_max.min(bodies.left.get() / uses),
            },
            _ => fuel_max,
        }
    }

    /// Pays for a lookup of a body once, for all rules of the owner that ask it.
    pub(super) fn pay(
        &self,
        lookup: LookupNumber,
        owner: &OwnerInForce,
        fuel: u64,
    ) -> Result<(), RuleFailure> {
        let Some(bodies) = &self.bodies else { return Ok(()) };
        if self.paid.borrow().contains(&lookup) {
            return Ok(());
        }
        let cost = fuel.saturating_mul(lookup.uses(owner));
        bodies.left.set(bodies.left.get().checked_sub(cost).ok_or(RuleFailure::Fuel)?);
        self.paid.borrow_mut().push(lookup);
        Ok(())
    }

    /// Fails for a lookup that is known to cost more.
    pub(super) fn check(&self, lookup: LookupNumber, fuel_max: u64) -> Result<(), RuleFailure> {
        let costs_more = |(known, fuel): &(LookupNumber, u64)| *known == lookup && *fuel >= fuel_max;
        if self.in_vain.borrow().iter().any(costs_more) { Err(RuleFailure::Fuel) } else { Ok(()) }
    }

    /// Records that a lookup costs more than this.
    pub(super) fn costs_more_than(&self, lookup: LookupNumber, fuel: u64) {
        self.in_vain.borrow_mut().push((lookup, fuel));
    }
}
