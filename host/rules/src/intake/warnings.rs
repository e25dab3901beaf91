//! Updates the warnings of rules in force when lists are added or removed.

use std::sync::Arc;

use tollgate_engine::registry::{BoundRule, Lists, RuleSet};

use crate::intake::change::rules_of;
use crate::intake::{Draft, Identity, IntakeDeps, KnownNames};

/// Returns whether a script may refer to one of these lists; false positives are possible.
pub(super) fn speaks_of(script: &str, lists: &[String]) -> bool {
    lists.iter().any(|name| {
        let first_key = name.split('.').next().unwrap_or_default();
        script.contains(&format!("${first_key}"))
    })
}

/// Returns the rules in force that get other warnings with these lists, of which some were added or removed.
pub(super) fn renewed(
    deps: &IntakeDeps,
    lists: &Lists,
    in_force: &RuleSet,
    changed_lists: &[String],
) -> Vec<Arc<BoundRule>> {
    let renewed = rules_of(in_force).filter_map(|rule| {
        let again = recompute(deps, lists, rule, changed_lists);
        (!Arc::ptr_eq(&again, rule)).then_some(again)
    });
    renewed.collect()
}

/// Compiles the rule again if it refers to added or removed lists; its module stays the same.
pub(super) fn recompute(
    deps: &IntakeDeps,
    lists: &Lists,
    rule: &Arc<BoundRule>,
    changed_lists: &[String],
) -> Arc<BoundRule> {
    let record = &rule.instruction.record;
    // A placeholder stays one.
    if rule.bound.module.is_placeholder() {
        return Arc::clone(rule);
    }
    // Modules have no warnings.
    let Some(script) = record.script.as_ref().filter(|script| speaks_of(script, changed_lists)) else {
        return Arc::clone(rule);
    };
    let draft = Draft::compile(&deps.artifacts, KnownNames::new(deps, lists), script.clone());
    let again = draft.and_then(|draft| draft.bind(&deps.history, Identity::from_record(record)));
    match again {
        Ok(again) if again.instruction.digest == rule.instruction.digest => Arc::new(again),
        _ => Arc::clone(rule),
    }
}
