//! Transition from one version of the rule set to the next.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tollgate_engine::fusion;
use tollgate_engine::policy::Policy;
use tollgate_engine::registry::{BoundRule, FusedBody, ListInForce, Lists, RuleSet, SERVICE_VERSION};
use tollgate_model::background::in_background;
use tollgate_model::calendar::ZoneData;
use tollgate_model::instruction::{ContentDigest, InstructionId};
use tollgate_store::{ListRecord, RuleSetRecord, StatusWordsRecord, ZoneDataRecord};

use crate::intake::required::n_in_force;
use crate::intake::{IntakeDeps, IntakeError, off_the_executor};
use tollgate_telemetry::holding::HoldBasis;
use tollgate_telemetry::logs::ErrorChain;
use tollgate_telemetry::metrics::RuleSetFigures;

#[derive(Debug)]
pub(super) struct VersionContents {
    pub(super) rules: Vec<Arc<BoundRule>>,
    pub(super) lists: Lists,
    pub(super) commit: Option<Arc<str>>,
    /// Time zone data with which the rules were bound.
    pub(super) zones: Arc<ZoneData>,
    /// Fused bodies of the previous set, reused if they still fit.
    pub(super) bodies: Vec<Arc<FusedBody>>,
}

impl VersionContents {
    pub(super) fn from_rule_set(rule_set: &RuleSet) -> Self {
        Self {
            rules: rule_set.rules.iter().map(|in_force| Arc::clone(&in_force.rule)).collect(),
            lists: rule_set.lists.clone(),
            commit: rule_set.commit.clone(),
            zones: Arc::clone(&rule_set.zones),
            bodies: bodies_of(rule_set),
        }
    }

    /// Builds the rule set, and compiles the bodies that changed.
    pub(super) fn under(self, deps: &IntakeDeps, version: u64) -> RuleSet {
        let before = deps.registry.current();
        let replaced: HashMap<InstructionId, &BoundRule> =
            before.rules.iter().map(|known| (known.rule.instruction.record.id, &*known.rule)).collect();
        let rules = self.rules.into_iter().map(|rule| continued(owned(rule, &deps.policy), &replaced));
        let rules: Vec<Arc<BoundRule>> = rules.collect();
        // Only the bodies of a start are cached: those of a change differ from the ones that the next start makes.
        let admit = |bytes: &[u8]| match self.bodies.as_slice() {
            [] => deps.artifacts.admit_own(bytes),
            _ => deps.sandbox.admit(bytes),
        };
        let bodies = fusion::bodies(&admit, &self.bodies, &rules);
        let was_short = basis_of(deps, &VersionContents::from_rule_set(&before).rules).is_short;
        let holds = deps.holds.of_version(basis_of(deps, &rules), was_short);
        RuleSet::fused(version, rules, &bodies, self.lists)
            .at_commit(self.commit)
            .in_zones(self.zones)
            .with_status_words(Arc::clone(deps.history.status_words()))
            .holding(holds)
    }
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

pub(super) fn bodies_of(rule_set: &RuleSet) -> Vec<Arc<FusedBody>> {
    rule_set.bodies.iter().map(|in_force| Arc::clone(&in_force.body)).collect()
}

/// Makes the next version durable and then brings it into force. Returns its number.
pub(super) async fn bring_into_force(
    deps: &Arc<IntakeDeps>,
    last_version: u64,
    contents: VersionContents,
) -> Result<u64, IntakeError> {
    let made_by = Arc::clone(deps);
    let (next, record) = off_the_executor(move || {
        let next = contents.under(&made_by, last_version + 1);
        let record = record_of(&made_by, &next);
        Ok((next, record))
    })
    .await?;
    deps.store.install(&record).await.map_err(|error| {
        tracing::error!(error = %ErrorChain(&error), version = next.version, "a rule set could not be stored");
        IntakeError::Unavailable
    })?;
    let version = next.version;
    swap(deps, next);
    Ok(version)
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
    let rules = VersionContents::from_rule_set(&rule_set).rules;
    deps.required.came_into_force(n_in_force(&rules));
    deps.sources.came_into_force(&rule_set);
    deps.lists.came_into_force(&rule_set);
    let reasons = rule_set.holds.reasons;
    deps.registry.swap(rule_set);
    deps.holds.came_into_force(reasons, basis_of(deps, &rules).longest_window);
    // The rule set already evaluates transactions meanwhile.
    let in_force = deps.registry.current();
    tokio::spawn(in_background(move || in_force.compile_searches()));
}

/// Returns what decides about the holds of a version with these rules.
fn basis_of(deps: &IntakeDeps, rules: &[Arc<BoundRule>]) -> HoldBasis {
    let needs = rules.iter().map(|rule| &rule.bound.module.manifest.needs);
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
