//! Holds the rule set in force: one immutable [`RuleSet`], swapped as a whole.
//!
//! Each evaluation takes one rule set and keeps it to the end. A change builds the next set, carries unchanged rules
//! over with their compiled modules, and swaps the pointer.

mod bound_module;
mod field_watch;
mod fused_body;
mod joint;
mod lists;
mod membership;
mod mismatches;
mod owners;
mod rule;
mod rule_set;
mod selector;
mod slot_bindings;
mod symbols;
mod tables;

use std::sync::Arc;

use arc_swap::ArcSwap;

pub use bound_module::{BindError, BoundModule};
pub use field_watch::{FieldWatch, ValueClass};
pub use fused_body::{FusedBody, FusedMember};
pub use joint::{JointQuestion, JointSearch};
pub use lists::{ALL_LISTS_BYTES_MAX, LISTS_MAX, ListInForce, Lists};
pub use membership::{ComparedValues, ListMembership};
pub use mismatches::{ComparedForm, Mismatch, MismatchKind, Mismatches};
pub use owners::{CostBound, OwnerInForce};
pub use rule::{BoundRule, CountedMismatch, FailedRun, MATCHES_KEPT, OutcomeCounts};
pub use rule_set::{BodyInForce, RuleInForce, RuleSet, TimeQuestion};
pub use selector::Selector;
pub use slot_bindings::{SlotBindings, SymbolTexts};
pub use symbols::Symbols;

pub(crate) use field_watch::{form_of_item, may_be_in};
pub(crate) use membership::ELEMENT_BYTES;
pub(crate) use owners::FUEL_OF_A_CALL;

/// Version of the service; part of every rule set version, since it can affect verdicts.
pub const SERVICE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The largest number of rules in force.
pub const RULES_MAX: usize = 10_000;

/// The current rule set.
#[derive(Debug)]
pub struct Registry {
    current: ArcSwap<RuleSet>,
}

impl Registry {
    /// Creates a registry with this rule set in force.
    #[must_use]
    pub fn new(rule_set: RuleSet) -> Self {
        Self { current: ArcSwap::from_pointee(rule_set) }
    }

    /// Returns the rule set in force.
    #[must_use]
    pub fn current(&self) -> Arc<RuleSet> {
        self.current.load_full()
    }

    /// Puts another rule set in force for all transactions admitted from now on.
    pub fn swap(&self, rule_set: RuleSet) {
        self.current.store(Arc::new(rule_set));
    }
}
