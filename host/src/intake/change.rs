//! From one rule set to the next.

use std::sync::Arc;

use crate::intake::{IntakeError, Means};
use crate::registry::{Lists, Rule, RuleSet};
use crate::store::{ListRecord, RuleSetRecord};
use crate::telemetry::logs::Causes;

/// The rules of a set, to be carried over.
pub(super) fn rules_of(rule_set: &RuleSet) -> Vec<Arc<Rule>> {
    rule_set.rules.iter().map(|in_force| Arc::clone(&in_force.rule)).collect()
}

/// Makes the next version of these rules and lists: durable first, then in force.
pub(super) async fn bring_into_force(
    means: &Means,
    current: &RuleSet,
    rules: Vec<Arc<Rule>>,
    lists: Lists,
) -> Result<(), IntakeError> {
    let next = RuleSet::new(current.version + 1, rules, lists);
    means.store.install(&record_of(means, &next)).await.map_err(|error| {
        tracing::error!(error = %Causes(&error), version = next.version, "a rule set could not be stored");
        IntakeError::Unavailable
    })?;
    swap(means, next);
    Ok(())
}

/// Brings a rule set that is durable into force.
pub(super) fn swap(means: &Means, rule_set: RuleSet) {
    means.metrics.rule_set_swapped(rule_set.version, rule_set.rules.len());
    means.registry.swap(rule_set);
}

fn record_of(means: &Means, rule_set: &RuleSet) -> RuleSetRecord {
    let instructions =
        rule_set.rules.iter().map(|in_force| in_force.rule.instruction.record.clone()).collect();
    let lists = rule_set
        .lists
        .texts()
        .map(|(name, text, _)| ListRecord { name: name.to_owned(), entries: text.to_string() })
        .collect();
    RuleSetRecord { version: rule_set.version, created_at: means.clock.now(), instructions, lists }
}
