//! All rules in force, and one table of what they ask about.

use std::sync::Arc;

use tollgate_guest_abi::Semantics;
use tollgate_history::{AggregateQuery, PreviousQuery};
use tollgate_model::background::yielding;
use tollgate_model::calendar::{TimePart, ZoneData};
use tollgate_model::transaction::FieldAccess;

use crate::registry::tables::{PendingBindings, RuleSetTables};
use crate::registry::{
    BoundModule, BoundRule, FieldWatch, FusedBody, FusedMember, Lists, Selector, SlotBindings, Symbols,
};

/// One immutable version of everything that decides a verdict besides the transaction and the history.
///
/// Rules ask by the slots of their own module; the set numbers the same questions of all rules once, so that each is
/// answered at most once per transaction, whoever asks.
#[derive(Debug)]
pub struct RuleSet {
    /// Strictly increasing with every change; 0 is the empty set before the first.
    pub version: u64,
    /// By instruction id.
    pub rules: Vec<RuleInForce>,
    /// What answers for several of them at once.
    pub bodies: Vec<BodyInForce>,
    /// Places of the rules for which no body answers.
    pub alone: Vec<u32>,
    /// Places of the rules that name a list nobody set: they fail, without being run.
    pub lacking: Vec<u32>,
    /// Whether every rule was a script: none of them can loop.
    pub is_of_scripts: bool,
    /// The meaning of the language that it has. A module may have an earlier one.
    pub semantics: Semantics,
    /// The named lists.
    pub lists: Lists,
    /// The Git commit whose rules are among these, in hexadecimal digits; `None` when none ever was.
    pub commit: Option<Arc<str>>,
    /// What clocks of time zones show.
    pub zones: Arc<ZoneData>,
    /// Every field some rule reads.
    pub fields: Vec<FieldAccess>,
    /// Every text some rule compares with, numbered.
    pub symbols: Symbols,
    /// How many different patterns there are.
    pub n_patterns: usize,
    /// How many different lists rules look into.
    pub n_lists: usize,
    /// Every aggregate some rule asks for.
    pub aggregates: Vec<Arc<AggregateQuery>>,
    /// Every previous transaction some rule asks for.
    pub previous: Vec<Arc<PreviousQuery>>,
    /// Every part of a date-time some rule asks for.
    pub times: Vec<TimeQuestion>,
    /// Of which values some rule's test makes nothing.
    pub watch: FieldWatch,
}

/// A rule with its slots resolved to the tables of the set.
#[derive(Debug)]
pub struct RuleInForce {
    /// What runs.
    pub rule: Arc<BoundRule>,
    /// Whether it does not run, and fails instead.
    pub is_quarantined: bool,
    /// The named lists that it asks and nobody set: then it does not run either, and fails.
    pub missing_lists: Vec<String>,
    /// What its own module asks about.
    pub asker: SlotBindings,
}

/// Several rules in one module, with its slots resolved to the tables of the set.
#[derive(Debug)]
pub struct BodyInForce {
    /// What runs.
    pub body: Arc<FusedBody>,
    /// The place in [`RuleSet::rules`] behind each bit.
    pub places: Vec<u32>,
    /// The bits that count: not those of rules that name a list nobody set.
    pub counted: u64,
    /// What the module asks about.
    pub asker: SlotBindings,
    /// What a transaction must have for one of them to match.
    pub selector: Selector,
}

/// Which part of which field.
#[derive(Debug, Clone)]
pub struct TimeQuestion {
    /// Of which field.
    pub field: FieldAccess,
    /// Which part, in which zone.
    pub part: TimePart,
}

impl RuleSet {
    /// The set of these rules and lists, each rule in a module of its own.
    #[must_use]
    pub fn new(version: u64, rules: Vec<Arc<BoundRule>>, lists: Lists) -> Self {
        Self::fused(version, rules, &[], lists)
    }

    /// The set of these rules and lists. A body answers for its members; one that does not fit, because a member is not
    /// here, is another one, or does not run, is left out.
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
            let Some(places) = places_of(body, &rules, &is_fused) else { continue };
            for &place in &places {
                is_fused.get_mut(place as usize).map(|is_fused| std::mem::replace(is_fused, true));
            }
            fitting.push((Arc::clone(body), places));
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
            .filter_map(|(place, in_force)| (!in_force.missing_lists.is_empty()).then_some(place))
            .collect();
        let alone =
            (0..).zip(is_fused).filter_map(|(place, is_fused)| (!is_fused).then_some(place)).collect();
        let bodies = fitting.into_iter().zip(of_bodies).map(|((body, places), resolved)| {
            let asker = resolved.finish(&tables);
            let selector = Selector::of(&body.selection, &asker, &tables);
            let counted = counted_bits(&places, &lacking);
            BodyInForce { body, places, counted, asker, selector }
        });
        let bodies = bodies.collect();
        let watch = FieldWatch::of(&rules, &tables.fields.items);
        Self {
            version,
            is_of_scripts: rules.iter().all(|in_force| in_force.rule.instruction.record.script.is_some()),
            rules,
            bodies,
            alone,
            lacking,
            semantics: Semantics::CURRENT,
            lists,
            commit: None,
            zones: ZoneData::built_in(),
            fields: tables.fields.items,
            symbols: tables.symbols,
            n_patterns: tables.patterns.items.len(),
            n_lists: tables.lists.items.len(),
            aggregates: tables.aggregates.items,
            previous: tables.previous.items,
            times: tables.times.items,
            watch,
        }
    }

    /// Compiles what makes it quicker, and changes no answer, as far as that is not done: for when nobody waits. Takes some
    /// milliseconds for each body whose rules search many patterns.
    pub fn hasten(&self) {
        self.bodies.iter().for_each(|in_force| in_force.body.bound.hasten());
    }

    /// The same, with an earlier meaning of the language.
    #[must_use]
    pub fn meaning(self, semantics: Semantics) -> Self {
        Self { semantics, ..self }
    }

    /// The same, with the zone data that its rules were bound by.
    #[must_use]
    pub fn in_zones(self, zones: Arc<ZoneData>) -> Self {
        Self { zones, ..self }
    }

    /// The same, with the Git commit whose rules are among its own.
    #[must_use]
    pub fn at_commit(self, commit: Option<Arc<str>>) -> Self {
        Self { commit, ..self }
    }
}

/// The named lists that a rule asks and nobody set. Under the first meaning of the language a rule does without them.
fn missing_lists(rule: &BoundRule, lists: &Lists) -> Vec<String> {
    let BoundModule { module, named_lists, .. } = &*rule.bound;
    if module.manifest.semantics.is_first() {
        return Vec::new();
    }
    named_lists.iter().filter(|name| lists.get(name).is_none()).cloned().collect()
}

/// Bit `n` is set where the place `n` of these is not lacking.
fn counted_bits(places: &[u32], lacking: &[u32]) -> u64 {
    let counts = |place: &u32| u64::from(lacking.binary_search(place).is_err());
    places.iter().zip(0..u64::BITS).map(|(place, bit)| counts(place) << bit).fold(0, |all, bit| all | bit)
}

/// Where the members of a body stand among these rules, if all of them do and run, and no other body answers for one.
fn places_of(body: &FusedBody, rules: &[Arc<BoundRule>], is_fused: &[bool]) -> Option<Vec<u32>> {
    let place_of = |member: &FusedMember| {
        let place = rules.binary_search_by_key(&member.id, |rule| rule.instruction.record.id).ok()?;
        let rule = rules.get(place)?;
        let is_same = rule.instruction.digest == member.digest && !rule.is_quarantined();
        let is_free = is_fused.get(place) == Some(&false);
        if is_same && is_free { u32::try_from(place).ok() } else { None }
    };
    body.members.iter().map(place_of).collect()
}
