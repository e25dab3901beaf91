//! Changes of the rules and lists in force. A save, a removal, a list, a quarantine, a directory and a commit are each one
//! [`RuleChange`], which makes one version of the rule set.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tollgate_engine::fusion;
use tollgate_engine::policy::Policy;
use tollgate_engine::registry::{BoundRule, FusedBody, ListInForce, Lists, RuleSet, SERVICE_VERSION};
use tollgate_model::background::in_background;
use tollgate_model::instruction::{ContentDigest, InstructionId};
use tollgate_store::{ListRecord, RuleSetRecord, StatusWordsRecord, ZoneDataRecord};

use crate::intake::required::n_in_force;
use crate::intake::{IntakeDeps, IntakeError, off_the_executor};
use tollgate_telemetry::holding::HoldBasis;
use tollgate_telemetry::logs::ErrorChain;
use tollgate_telemetry::metrics::RuleSetFigures;

/// The difference between the rule set in force and its next version. By default there is none.
#[derive(Debug, Default)]
pub(super) struct RuleChange {
    /// Rules with new ids.
    pub(super) add: Vec<Arc<BoundRule>>,
    /// Rules that replace those with the same ids. The ids must be in force; others have no effect.
    pub(super) replace: Vec<Arc<BoundRule>>,
    /// Rules that are not in force any more. The ids must be in force; others have no effect.
    pub(super) remove: Vec<InstructionId>,
    /// All named lists, if they change.
    pub(super) lists: Option<Lists>,
    /// Commit of the repository, if it changes.
    pub(super) commit: Option<Arc<str>>,
}

impl RuleChange {
    /// Returns the difference between a rule set and the rules and lists that are to be in force instead.
    pub(super) fn between(base: &RuleSet, rules: Vec<Arc<BoundRule>>, lists: Lists) -> Self {
        let mut before: BTreeMap<InstructionId, &Arc<BoundRule>> =
            rules_of(base).map(|rule| (id_of(rule), rule)).collect();
        let mut change = Self { lists: Some(lists), ..Self::default() };
        for rule in rules {
            match before.remove(&id_of(&rule)) {
                None => change.add.push(rule),
                Some(known) if Arc::ptr_eq(known, &rule) => {}
                Some(_) => change.replace.push(rule),
            }
        }
        change.remove = before.into_keys().collect();
        change
    }

    /// Returns the rules of a rule set after the change.
    pub(super) fn rules_after(&self, base: &RuleSet) -> Vec<Arc<BoundRule>> {
        let gone = self.remove.iter().map(|id| (*id, None));
        let replaced = self.replace.iter().map(|rule| (id_of(rule), Some(rule)));
        let changed: HashMap<InstructionId, Option<&Arc<BoundRule>>> = gone.chain(replaced).collect();
        let stay = rules_of(base).filter_map(|rule| changed.get(&id_of(rule)).copied().unwrap_or(Some(rule)));
        stay.chain(&self.add).cloned().collect()
    }

    /// Builds the version that follows a rule set, and compiles the bodies that changed.
    pub(super) fn next_version(self, deps: &IntakeDeps, base: &RuleSet) -> RuleSet {
        let before: HashMap<InstructionId, &BoundRule> =
            rules_of(base).map(|rule| (id_of(rule), &**rule)).collect();
        let rules = self.rules_after(base).into_iter();
        let rules: Vec<Arc<BoundRule>> =
            rules.map(|rule| continued(owned(rule, &deps.policy), &before)).collect();
        let bodies: Vec<Arc<FusedBody>> =
            base.bodies.iter().map(|in_force| Arc::clone(&in_force.body)).collect();
        // Only the bodies of a start are cached: those of a change differ from the ones that the next start makes.
        let admit = |bytes: &[u8]| match bodies.as_slice() {
            [] => deps.artifacts.admit_own(bytes),
            _ => deps.sandbox.admit(bytes),
        };
        let fused = fusion::bodies(&admit, &bodies, &rules);
        let was_short = basis_of(deps, rules_of(base)).is_short;
        let holds = deps.holds.of_version(basis_of(deps, &rules), was_short);
        let lists = self.lists.unwrap_or_else(|| base.lists.clone());
        RuleSet::fused(base.version + 1, rules, &fused, lists)
            .at_commit(self.commit.or_else(|| base.commit.clone()))
            .in_zones(Arc::clone(deps.history.zones()))
            .with_status_words(Arc::clone(deps.history.status_words()))
            .holding(holds)
    }
}

/// Brings a change into force: makes the next version durable, and then swaps it in. Returns its number. The caller
/// holds the lock of the pipeline since it read what is in force.
pub(super) async fn bring_into_force(deps: &Arc<IntakeDeps>, change: RuleChange) -> Result<u64, IntakeError> {
    let made_by = Arc::clone(deps);
    let next =
        off_the_executor(move || Ok(change.next_version(&made_by, &made_by.registry.current()))).await?;
    install(deps, next).await
}

/// Makes a rule set durable and then brings it into force. Returns its version.
pub(super) async fn install(deps: &IntakeDeps, rule_set: RuleSet) -> Result<u64, IntakeError> {
    let version = rule_set.version;
    deps.store.install(&record_of(deps, &rule_set)).await.map_err(|error| {
        tracing::error!(error = %ErrorChain(&error), version, "a rule set could not be stored");
        IntakeError::Unavailable
    })?;
    swap(deps, rule_set);
    Ok(version)
}

/// Returns the rule with the owner that the policy gives it.
fn owned(rule: Arc<BoundRule>, policy: &Policy) -> Arc<BoundRule> {
    let owner = policy.owner_of(&rule.instruction.record.source);
    if rule.instruction.record.owner.as_ref() == Some(&owner) {
        return rule;
    }
    Arc::new(BoundRule::clone(&rule).owned_by(Some(&owner)))
}

/// Returns the rule with the counts of the one that it replaces.
fn continued(rule: Arc<BoundRule>, replaced: &HashMap<InstructionId, &BoundRule>) -> Arc<BoundRule> {
    match replaced.get(&rule.instruction.record.id) {
        Some(known) if !Arc::ptr_eq(&known.outcomes, &rule.outcomes) => {
            Arc::new(BoundRule { outcomes: Arc::clone(&known.outcomes), ..BoundRule::clone(&rule) })
        }
        _ => rule,
    }
}

/// Brings a durable rule set into force.
pub(super) fn swap(deps: &IntakeDeps, rule_set: RuleSet) {
    deps.metrics.rule_set_swapped(RuleSetFigures {
        version: rule_set.version,
        n_rules: rule_set.rules.len(),
        n_quarantined: rule_set.rules.iter().filter(|in_force| in_force.is_quarantined).count(),
        n_fused: rule_set.rules.len() - rule_set.alone.len(),
    });
    for owner in &rule_set.owners {
        if owner.least_bound() > owner.owner.fuel {
            tracing::warn!(
                owner = &*owner.owner.name,
                fuel = owner.owner.fuel,
                needed = owner.least_bound(),
                rules = owner.order.len(),
                "the rules of a source may need more fuel than they have on a transaction, and then fail as `budget`; \
                 raise SERVICE_FUEL_PER_OWNER or remove rules"
            );
        }
    }
    let basis = basis_of(deps, rules_of(&rule_set));
    deps.required.came_into_force(n_in_force(rules_of(&rule_set)));
    deps.sources.came_into_force(&rule_set);
    deps.lists.came_into_force(&rule_set);
    let reasons = rule_set.holds.reasons;
    deps.registry.swap(rule_set);
    deps.holds.came_into_force(reasons, basis.longest_window);
    // The rule set already evaluates transactions meanwhile.
    let in_force = deps.registry.current();
    tokio::spawn(in_background(move || in_force.compile_searches()));
}

/// Returns the rules of a rule set, by id.
pub(super) fn rules_of(rule_set: &RuleSet) -> impl Iterator<Item = &Arc<BoundRule>> + Clone {
    rule_set.rules.iter().map(|in_force| &in_force.rule)
}

fn id_of(rule: &BoundRule) -> InstructionId {
    rule.instruction.record.id
}

/// Returns what decides about the holds of a version with these rules.
fn basis_of<'r>(deps: &IntakeDeps, rules: impl IntoIterator<Item = &'r Arc<BoundRule>> + Clone) -> HoldBasis {
    let needs = rules.clone().into_iter().map(|rule| &rule.bound.module.manifest.needs);
    let windows = needs.flat_map(|needs| {
        let aggregates = needs.aggregates.iter().map(|query| query.window);
        aggregates.chain(needs.previous.iter().map(|query| query.window))
    });
    let longest_micros = windows.map(|window| window.micros().unsigned_abs()).max().unwrap_or(0);
    HoldBasis {
        is_short: deps.required.is_short(n_in_force(rules)),
        longest_window: Duration::from_micros(longest_micros),
    }
}

/// Converts a list for the store.
pub(super) fn list_record(name: &str, list: &ListInForce) -> ListRecord {
    ListRecord {
        name: name.to_owned(),
        entries: Arc::clone(&list.text),
        digest: list.digest,
        source: list.source.clone(),
    }
}

fn record_of(deps: &IntakeDeps, rule_set: &RuleSet) -> RuleSetRecord {
    let instructions =
        rule_set.rules.iter().map(|in_force| Arc::clone(&in_force.rule.instruction.record)).collect();
    RuleSetRecord {
        version: rule_set.version,
        created_at: deps.clock.now(),
        instructions,
        lists: rule_set.lists.iter().map(|(name, list)| list_record(name, list)).collect(),
        commit: rule_set.commit.clone(),
        service: Some(SERVICE_VERSION.into()),
        semantics: rule_set.semantics,
        zones: rule_set.zones.kept().map(|(digest, archive)| ZoneDataRecord {
            digest: ContentDigest(*digest),
            name: rule_set.zones.name().to_owned(),
            archive: Arc::clone(archive),
        }),
        status_words: Some(StatusWordsRecord {
            digest: ContentDigest(*rule_set.status_words.digest()),
            text: rule_set.status_words.to_stored(),
        }),
        holds: rule_set.holds,
    }
}
