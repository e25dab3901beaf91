//! Comparison of a stored answer with the derived one.

use std::collections::BTreeMap;

use chrono::DateTime;
use serde::Deserialize;
use serde_json::Value;
use tollgate_engine::evaluation::RuleOutcomes;
use tollgate_engine::registry::RuleSet;
use tollgate_model::assessment::{Assessment, RuleFailure, RuleOutcome};
use tollgate_model::instruction::InstructionId;
use tollgate_model::transaction::Transaction;

use crate::replay::AuditRemark;

/// One difference between the two answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The member of the answer, or another property of the verdict.
    pub what: &'static str,
    /// The stored value.
    pub stored: String,
    /// The derived value.
    pub derived: String,
}

/// The members of an answer that can be derived.
const MEMBERS: [&str; 7] =
    ["transaction_id", "verdict", "score", "reason", "triggered", "failures", "rule_set_version"];

/// The parts of a stored answer that are taken over.
#[derive(Debug, Deserialize)]
pub(super) struct StoredAnswer {
    evaluated_at: String,
    failures: Vec<StoredFailure>,
}

#[derive(Debug, Deserialize)]
struct StoredFailure {
    instruction_id: i64,
    failure: String,
}

impl StoredAnswer {
    /// Returns whether the stored answer says that this rule ran out of stack.
    fn says_stack(&self, id: InstructionId) -> bool {
        let is_it = |failed: &StoredFailure| {
            failed.instruction_id == id.0 && failed.failure == RuleFailure::Stack.as_str()
        };
        self.failures.iter().any(is_it)
    }
}

/// Returns whether a failure depends on the machine or on the history's memory instead of the stored data.
pub(super) const fn is_of_the_moment(failure: RuleFailure) -> bool {
    matches!(failure, RuleFailure::Timeout | RuleFailure::Lookup | RuleFailure::Internal)
}

/// Compares a stored answer with the derived outcomes. Returns `None` if they agree.
pub(super) fn compare(
    rule_set: &RuleSet,
    transaction: &Transaction,
    outcomes: &RuleOutcomes,
    stored: &str,
) -> Option<AuditRemark> {
    let known: StoredAnswer = match serde_json::from_str(stored) {
        Ok(known) => known,
        Err(error) => return Some(unreadable(stored, &error)),
    };
    let mut derived = noted_outcomes(rule_set, outcomes);
    let taken_over = take_over(rule_set, &known, &mut derived);
    let died = derived.iter().filter(|(id, _)| !taken_over.contains_key(id));
    let died = died.filter_map(|(id, outcome)| Some((*id, died_of(outcome, known.says_stack(*id))?)));
    let died = names(rule_set, died);
    if !died.is_empty() {
        return Some(AuditRemark::NotDerived(died));
    }
    let assessment = assessment(rule_set, transaction, known.evaluated_at, &derived);
    let text = serde_json::to_string(&assessment).unwrap_or_default();
    if text != stored {
        return Some(AuditRemark::Differs(differences(stored, &text)));
    }
    let taken_over = names(rule_set, taken_over.into_iter());
    (!taken_over.is_empty()).then_some(AuditRemark::TakenOver(taken_over))
}

fn noted_outcomes(rule_set: &RuleSet, outcomes: &RuleOutcomes) -> BTreeMap<InstructionId, RuleOutcome> {
    let noted = outcomes.noted().filter_map(|(rule_index, outcome)| {
        Some((rule_set.rules.get(rule_index)?.rule.instruction.record.id, outcome.clone()))
    });
    noted.collect()
}

/// Replaces derived outcomes by stored failures that cannot be derived again, and returns those failures.
fn take_over(
    rule_set: &RuleSet,
    stored: &StoredAnswer,
    derived: &mut BTreeMap<InstructionId, RuleOutcome>,
) -> BTreeMap<InstructionId, RuleFailure> {
    let mut taken_over = BTreeMap::new();
    for failed in &stored.failures {
        let id = InstructionId(failed.instruction_id);
        let failure = RuleFailure::ALL.into_iter().find(|failure| failure.as_str() == failed.failure);
        let ends_so_here = derived.get(&id) == Some(&RuleOutcome::Failed(RuleFailure::Stack));
        let is_believed = |failure: &RuleFailure| {
            is_of_the_moment(*failure) || (*failure == RuleFailure::Stack && !ends_so_here)
        };
        let Some(failure) = failure.filter(is_believed) else { continue };
        let runs = rule_set
            .rules
            .iter()
            .any(|in_force| in_force.rule.instruction.record.id == id && !in_force.is_quarantined);
        if runs {
            derived.insert(id, RuleOutcome::Failed(failure));
            taken_over.insert(id, failure);
        }
    }
    taken_over
}

/// Returns the failure of a rule if it says nothing about the stored data. Stack depth depends on the processor and on
/// whether the module is interpreted, so a stack overflow counts only if it is also stored.
fn died_of(outcome: &RuleOutcome, stack_is_stored: bool) -> Option<RuleFailure> {
    match outcome {
        RuleOutcome::Failed(failure) if is_of_the_moment(*failure) => Some(*failure),
        RuleOutcome::Failed(RuleFailure::Stack) if !stack_is_stored => Some(RuleFailure::Stack),
        RuleOutcome::Failed(_)
        | RuleOutcome::Matched
        | RuleOutcome::MatchedSaying(_)
        | RuleOutcome::NotMatched => None,
    }
}

fn names(
    rule_set: &RuleSet,
    failed: impl Iterator<Item = (InstructionId, RuleFailure)>,
) -> Vec<(String, RuleFailure)> {
    let name = |id| {
        let mut rules = rule_set.rules.iter().map(|in_force| &in_force.rule.instruction);
        rules.find(|known| known.record.id == id).map(|known| known.entry.name.clone()).unwrap_or_default()
    };
    failed.map(|(id, failure)| (name(id), failure)).collect()
}

fn assessment(
    rule_set: &RuleSet,
    transaction: &Transaction,
    evaluated_at: String,
    derived: &BTreeMap<InstructionId, RuleOutcome>,
) -> Assessment {
    let outcomes = rule_set.rules.iter().filter_map(|in_force| {
        let instruction = &in_force.rule.instruction;
        let outcome = derived.get(&instruction.record.id)?;
        Some((instruction.record.id, &instruction.entry, outcome.clone()))
    });
    let version = (rule_set.version, rule_set.semantics);
    let assessment =
        Assessment::consolidate(&transaction.transaction_id, version, DateTime::default(), outcomes)
            .with_left_out(transaction.left_out.as_deref())
            .held_for(rule_set.holds.reasons);
    Assessment { evaluated_at, ..assessment }
}

/// Returns every member that differs, or the spelling if all members are equal.
fn differences(stored: &str, derived: &str) -> Vec<Difference> {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (known, follows) = (read(stored), read(derived));
    let member = |value: &Value, name: &str| value.get(name).map(Value::to_string).unwrap_or_default();
    let found = MEMBERS.into_iter().filter_map(|what| {
        let (stored, derived) = (member(&known, what), member(&follows, what));
        (stored != derived).then_some(Difference { what, stored, derived })
    });
    let found: Vec<Difference> = found.collect();
    if found.is_empty() {
        return vec![Difference { what: "spelling", stored: stored.to_owned(), derived: derived.to_owned() }];
    }
    found
}

fn unreadable(stored: &str, error: &serde_json::Error) -> AuditRemark {
    AuditRemark::Differs(vec![Difference {
        what: "assessment",
        stored: stored.to_owned(),
        derived: format!("it cannot be read: {error}"),
    }])
}
