//! Keeps the failed runs of rules, and logs the first one of each rule.

use std::sync::Arc;

use tollgate_engine::evaluation::Evaluated;
use tollgate_engine::registry::{BoundRule, FailedRun};
use tollgate_model::assessment::RuleFailure;
use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

/// Notes that the rule at an index failed on a transaction. A rule in quarantine is not run, so nothing is noted.
pub(super) fn note(
    rule: &BoundRule,
    failure: RuleFailure,
    rule_index: usize,
    evaluated: &Evaluated,
    (transaction, sequence): (&Arc<Transaction>, Sequence),
) {
    if failure == RuleFailure::Quarantined {
        return;
    }
    let mut details = evaluated.failures.iter().filter(|(failed, _)| *failed == rule_index);
    let detail = details.next().map(|(_, detail)| detail.clone());
    let run = FailedRun { sequence, failure, detail };
    if !rule.outcomes.note_failure(rule.instruction.digest, run.clone()) {
        return;
    }
    let record = &rule.instruction.record;
    let detail = run.detail.as_ref();
    tracing::warn!(
        instruction.id = record.id.0,
        rule.name = record.name,
        transaction_id = &*transaction.transaction_id,
        failure = failure.as_str(),
        reason = detail.map(|detail| detail.message.as_str()),
        fuel = detail.map(|detail| detail.fuel),
        "a rule failed for the first time; `tollgate test` shows the place in a module"
    );
}
