//! Keeper of what is in force: one immutable rule set, swapped as a whole.
//!
//! Whoever judges a transaction takes one [`RuleSet`] and stays with it; a change makes the next one beside it and
//! swaps the pointer. A rule that did not change is carried over, compiled module and all.

mod bound_module;
mod field_watch;
mod fused_body;
mod joint;
mod lists;
mod membership;
mod mismatches;
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
pub use mismatches::{COUNT_MAX, COUNTS_MAX, ComparedForm, Mismatch, MismatchKind, Mismatches};
pub use rule::{BoundRule, CountedMismatch};
pub use rule_set::{BodyInForce, RuleInForce, RuleSet, TimeQuestion};
pub use selector::Selector;
pub use slot_bindings::{SlotBindings, SymbolTexts};
pub use symbols::Symbols;

pub(crate) use field_watch::{form_of_item, may_be_in};

/// This version of the service: part of every version of the rule set, as all that decides a verdict beside the transaction and
/// the history.
pub const SERVICE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Most rules in force at once.
pub const RULES_MAX: usize = 10_000;

/// Points to the rule set in force.
#[derive(Debug)]
pub struct Registry {
    current: ArcSwap<RuleSet>,
}

impl Registry {
    /// With this rule set in force.
    #[must_use]
    pub fn new(rule_set: RuleSet) -> Self {
        Self { current: ArcSwap::from_pointee(rule_set) }
    }

    /// The rule set in force.
    #[must_use]
    pub fn current(&self) -> Arc<RuleSet> {
        self.current.load_full()
    }

    /// Brings another rule set into force, for every transaction admitted from now on.
    pub fn swap(&self, rule_set: RuleSet) {
        self.current.store(Arc::new(rule_set));
    }
}
