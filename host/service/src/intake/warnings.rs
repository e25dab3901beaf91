//! Warnings of rules in force follow the lists there are: a rule may speak of a list that nobody set yet.

use std::sync::Arc;

use tollgate_engine::registry::{BoundRule, Lists};

use crate::intake::{Draft, Identity, IntakeDeps};

/// Whether a script may speak of one of these lists; it may say yes too often.
pub(super) fn speaks_of(script: &str, lists: &[String]) -> bool {
    lists.iter().any(|name| {
        let first_key = name.split('.').next().unwrap_or_default();
        script.contains(&format!("${first_key}"))
    })
}

/// The rule, compiled anew where it speaks of lists that appeared or went; its module stays the same.
pub(super) fn anew(
    deps: &IntakeDeps,
    lists: &Lists,
    rule: &Arc<BoundRule>,
    changed_lists: &[String],
) -> Arc<BoundRule> {
    let record = &rule.instruction.record;
    // Nobody warns of a module.
    let Some(script) = record.script.as_ref().filter(|script| speaks_of(script, changed_lists)) else {
        return Arc::clone(rule);
    };
    let draft = Draft::compile(&deps.sandbox, lists, deps.history.zones(), script.clone());
    let again = draft.and_then(|draft| draft.bind(&deps.history, Identity::of(record)));
    match again {
        Ok(again) if again.instruction.digest == rule.instruction.digest => Arc::new(again),
        _ => Arc::clone(rule),
    }
}
