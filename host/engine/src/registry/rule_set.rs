//! All rules in force, and the tables of everything they read.

use std::sync::Arc;

use tollgate_guest_abi::Semantics;
use tollgate_history::{AggregateQuery, PreviousQuery};
use tollgate_model::background::yielding;
use tollgate_model::calendar::{TimePart, ZoneData};
use tollgate_model::hold::Holds;
use tollgate_model::instruction::InstructionId;
use tollgate_model::transaction::{FieldAccess, StatusWords};

use crate::registry::tables::{PendingBindings, RuleSetTables};
use crate::registry::{
    BoundModule, BoundRule, FieldWatch, FusedBody, FusedMember, Lists, OwnerInForce, Selector, SlotBindings,
    Symbols,
};

/// One immutable version of everything that decides a verdict besides the transaction and the history.
///
/// Modules use their own slots. The set gives equal needs of all rules one index, so each is computed at most once per
/// transaction.
#[derive(Debug)]
pub struct RuleSet {
    /// Version number, increased with every change; 0 is the initial empty set.
    pub version: u64,
    /// Rules, sorted by instruction id.
    pub rules: Vec<RuleInForce>,
    /// Bodies, which answer for several rules each.
    pub bodies: Vec<BodyInForce>,
    /// Indices of the rules that are in no body.
    pub alone: Vec<u32>,
    /// The rules by owner.
    pub owners: Vec<OwnerInForce>,
    /// Indices of the rules whose named lists are missing: they fail without a run.
    pub lacking: Vec<u32>,
    /// Whether all rules are scripts, none of which can loop.
    pub is_of_scripts: bool,
    /// Language semantics of the set. A module may have earlier ones.
    pub semantics: Semantics,
    /// The named lists.
    pub lists: Lists,
    /// The Git commit of the synced rules, in hexadecimal; `None` before the first sync.
    pub commit: Option<Arc<str>>,
    /// Time zone data.
    pub zones: Arc<ZoneData>,
    /// Table of the stages that statuses mean.
    pub status_words: Arc<StatusWords>,
    /// All fields that rules read.
    pub fields: Vec<FieldAccess>,
    /// All texts that rules compare with.
    pub symbols: Symbols,
    /// The number of distinct patterns.
    pub n_patterns: usize,
    /// The number of distinct lists.
    pub n_lists: usize,
    /// All aggregates of the rules.
    pub aggregates: Vec<Arc<AggregateQuery>>,
    /// All previous-transaction lookups of the rules.
    pub previous: Vec<Arc<PreviousQuery>>,
    /// All time parts of the rules.
    pub times: Vec<TimeQuestion>,
    /// Fields watched for values that some test cannot compare.
    pub watch: FieldWatch,
    /// Reasons to hold every new transaction for review.
    pub holds: Holds,
}

/// A rule with its slots resolved to the tables of the set.
#[derive(Debug)]
pub struct RuleInForce {
    /// The rule.
    pub rule: Arc<BoundRule>,
    /// Whether it is quarantined: it fails without a run.
    pub is_quarantined: bool,
    /// Named lists it uses that do not exist; if there are any, it fails without a run.
    pub missing_lists: Vec<String>,
    /// Slot bindings of its module.
    pub asker: SlotBindings,
}

/// A body with its slots resolved to the tables of the set.
#[derive(Debug)]
pub struct BodyInForce {
    /// The body.
    pub body: Arc<FusedBody>,
    /// The index in [`RuleSet::rules`] of each bit.
    pub rule_indices: Vec<u32>,
    /// Mask of the bits that count; bits of rules with missing lists do not.
    pub counted: u64,
    /// Slot bindings of its module.
    pub asker: SlotBindings,
    /// Conditions a transaction must meet for one of the rules to match.
    pub selector: Selector,
}

/// A time part of a field.
#[derive(Debug, Clone)]
pub struct TimeQuestion {
    /// The field.
    pub field: FieldAccess,
    /// The part and its time zone.
    pub part: TimePart,
}

impl RuleSet {
    /// Creates a set in which every rule runs with its own module.
    #[must_use]
    pub fn new(version: u64, rules: Vec<Arc<BoundRule>>, lists: Lists) -> Self {
        Self::fused(version, rules, &[], lists)
    }

    /// Creates a set with bodies that answer for their members. A body is left out if a member is missing, differs or
    /// is quarantined.
    #[must_use]
    pub fn fused(
        version: u64,
        mut rules: Vec<Arc<BoundRule>>,
        bodies: &[Arc<FusedBody>],
        lists: Lists,
    ) -> Self {
        rules.sort_by_key(|rule| rule.instruction.record.id);
        let mut is_fused = vec![false; rules.len()];
        let mut fitting = Vec::with_capacity(bodies.len());
        for body in bodies {
            let Some(rule_indices) = rule_indices_of(body, &rules, &is_fused) else { continue };
            for &rule_index in &rule_indices {
                is_fused.get_mut(rule_index as usize).map(|is_fused| std::mem::replace(is_fused, true));
            }
            fitting.push((Arc::clone(body), rule_indices));
        }
        let mut tables = RuleSetTables::default();
        let of_rules: Vec<PendingBindings> =
            yielding(&rules).map(|rule| tables.resolve(&rule.bound)).collect();
        let of_bodies: Vec<PendingBindings> =
            fitting.iter().map(|(body, _)| tables.resolve(&body.bound)).collect();
        let rules = yielding(rules.into_iter().zip(of_rules)).map(|(rule, resolved)| {
            let is_quarantined = rule.is_quarantined();
            let missing_lists = if is_quarantined { Vec::new() } else { missing_lists(&rule, &lists) };
            RuleInForce { rule, is_quarantined, missing_lists, asker: resolved.finish(&tables) }
        });
        let rules: Vec<RuleInForce> = rules.collect();
        let lacking: Vec<u32> = (0..)
            .zip(&rules)
            .filter_map(|(rule_index, in_force)| (!in_force.missing_lists.is_empty()).then_some(rule_index))
            .collect();
        let alone: Vec<u32> = (0..)
            .zip(is_fused)
            .filter_map(|(rule_index, is_fused)| (!is_fused).then_some(rule_index))
            .collect();
        let bodies = fitting.into_iter().zip(of_bodies).map(|((body, rule_indices), resolved)| {
            let asker = resolved.finish(&tables);
            let selector = Selector::new(&body.selection, &asker, &tables);
            let counted = counted_bits(&rule_indices, &lacking);
            BodyInForce { body, rule_indices, counted, asker, selector }
        });
        let bodies: Vec<BodyInForce> = bodies.collect();
        let owners = OwnerInForce::all(&rules, &bodies, &alone);
        let watch = FieldWatch::new(&rules, &tables.fields.items);
        Self {
            version,
            is_of_scripts: rules.iter().all(|in_force| in_force.rule.instruction.record.script.is_some()),
            rules,
            bodies,
            alone,
            owners,
            lacking,
            semantics: Semantics::CURRENT,
            lists,
            commit: None,
            zones: ZoneData::built_in(),
            status_words: StatusWords::built_in(),
            fields: tables.fields.items,
            symbols: tables.symbols,
            n_patterns: tables.patterns.items.len(),
            n_lists: tables.lists.items.len(),
            aggregates: tables.aggregates.items,
            previous: tables.previous.items,
            times: tables.times.items,
            watch,
            holds: Holds::default(),
        }
    }

    /// Compiles optional joint searches and loads code that would be loaded at the first run, which speeds up
    /// evaluation and changes no answer. Runs in the background; it takes some milliseconds per body with many patterns.
    pub fn compile_searches(&self) {
        self.bodies.iter().for_each(|in_force| in_force.body.bound.compile_searches());
        for in_force in &self.rules {
            let module = &in_force.rule.bound.module;
            if let Err(refusal) = module.load_code() {
                tracing::error!(module = %module.digest, %refusal, "the code of a rule cannot be loaded; it fails when it is run");
            }
        }
    }

    /// Returns the rule of an instruction.
    #[must_use]
    pub fn rule(&self, id: InstructionId) -> Option<&Arc<BoundRule>> {
        let index =
            self.rules.binary_search_by_key(&id, |in_force| in_force.rule.instruction.record.id).ok()?;
        self.rules.get(index).map(|in_force| &in_force.rule)
    }

    /// Sets earlier language semantics.
    #[must_use]
    pub fn meaning(self, semantics: Semantics) -> Self {
        Self { semantics, ..self }
    }

    /// Sets the zone data its rules were bound with.
    #[must_use]
    pub fn in_zones(self, zones: Arc<ZoneData>) -> Self {
        Self { zones, ..self }
    }

    /// Sets the table of status words its rules were bound with.
    #[must_use]
    pub fn with_status_words(self, status_words: Arc<StatusWords>) -> Self {
        Self { status_words, ..self }
    }

    /// Sets the reasons to hold every new transaction.
    #[must_use]
    pub fn holding(self, holds: Holds) -> Self {
        Self { holds, ..self }
    }

    /// Sets the Git commit of the synced rules.
    #[must_use]
    pub fn at_commit(self, commit: Option<Arc<str>>) -> Self {
        Self { commit, ..self }
    }
}

/// Returns the missing named lists of a rule. Under the first semantics, a rule runs without them, so the result is
/// empty.
fn missing_lists(rule: &BoundRule, lists: &Lists) -> Vec<String> {
    let BoundModule { module, named_lists, .. } = &*rule.bound;
    if module.manifest.semantics.is_first() {
        return Vec::new();
    }
    named_lists.iter().filter(|name| lists.get(name).is_none()).cloned().collect()
}

/// Bit `n` is set unless `rule_indices[n]` is in `lacking`.
fn counted_bits(rule_indices: &[u32], lacking: &[u32]) -> u64 {
    let counts = |rule_index: &u32| u64::from(lacking.binary_search(rule_index).is_err());
    rule_indices
        .iter()
        .zip(0..u64::BITS)
        .map(|(rule_index, bit)| counts(rule_index) << bit)
        .fold(0, |all, bit| all | bit)
}

/// Returns the indices of the members of a body. Returns `None` if a member is missing, differs, is quarantined or
/// belongs to another body, or if they have several owners.
fn rule_indices_of(body: &FusedBody, rules: &[Arc<BoundRule>], is_fused: &[bool]) -> Option<Vec<u32>> {
    let rule_index_of = |member: &FusedMember| {
        let rule_index = rules.binary_search_by_key(&member.id, |rule| rule.instruction.record.id).ok()?;
        let rule = rules.get(rule_index)?;
        let is_same = rule.instruction.digest == member.digest && !rule.is_quarantined();
        let is_free = is_fused.get(rule_index) == Some(&false);
        if is_same && is_free { u32::try_from(rule_index).ok() } else { None }
    };
    let rule_indices: Vec<u32> = body.members.iter().map(rule_index_of).collect::<Option<_>>()?;
    let mut owners =
        rule_indices.iter().filter_map(|rule_index| rules.get(*rule_index as usize)).map(|rule| rule.owner());
    let first = owners.next();
    owners.all(|owner| Some(&owner) == first.as_ref()).then_some(rule_indices)
}
