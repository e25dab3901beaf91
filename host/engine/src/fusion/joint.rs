//! Finds queries of a body that can be answered together: patterns in one field, and aggregates about one key.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tollgate_compiler::CheckedRule;
use tollgate_guest_abi::{AggregateSpec, Condition, FieldPath, Needs, Operand};
use tollgate_model::pattern::PatternSet;

use crate::registry::{BoundModule, JointQuestion, JointSearch};

/// Patterns of the rules, by field.
type ByField<'r> = BTreeMap<&'r FieldPath, BTreeSet<&'r str>>;

/// Joint searches of a body: fields in which it searches more than one pattern.
pub(super) fn searches(rules: &[CheckedRule], needs: &Needs) -> Vec<JointSearch> {
    let mut by_field = ByField::new();
    rules.iter().for_each(|rule| gather(&rule.when, &mut by_field));
    let joint = by_field.into_iter().flat_map(|(path, patterns)| {
        let field = slot_of(&needs.fields, |known| known == path);
        let slots: Vec<u32> =
            patterns.into_iter().filter_map(|own| slot_of(&needs.patterns, |known| known == own)).collect();
        let some = slots.chunks(PatternSet::PATTERNS_MAX).filter(|some| some.len() > 1);
        field.map_or_else(Vec::new, |field| some.map(|some| JointSearch::new(field, some.to_vec())).collect())
    });
    joint.collect()
}

fn gather<'r>(condition: &'r Condition, by_field: &mut ByField<'r>) {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => {
            parts.iter().for_each(|part| gather(part, by_field));
        }
        Condition::Not(inner) => gather(inner, by_field),
        Condition::Matches { value: Operand::Field(path), pattern, .. } => {
            by_field.entry(path).or_default().insert(pattern);
        }
        Condition::Matches { .. }
        | Condition::Compare { .. }
        | Condition::In { .. }
        | Condition::Previous(_) => {}
    }
}

/// Joint queries of a body. They contain only aggregates that some rule evaluates first, so each would be computed in
/// any case.
pub(super) fn questions(rules: &[CheckedRule], bound: &BoundModule) -> Vec<JointQuestion> {
    let mut certain = Vec::new();
    rules.iter().for_each(|rule| each_begun_with(&rule.when, &mut certain));
    let needed = &bound.module.manifest.needs.aggregates;
    let slots: BTreeSet<u32> =
        certain.into_iter().filter_map(|spec| slot_of(needed, |known| known == spec)).collect();
    let mut questions: Vec<JointQuestion> = Vec::new();
    for slot in slots {
        let Some(aggregate) = bound.aggregates.get(slot as usize) else { continue };
        let joined = questions.iter_mut().any(|question| question.add(slot, Arc::clone(aggregate)).is_ok());
        if !joined {
            questions.extend(JointQuestion::new(slot, Arc::clone(aggregate)));
        }
    }
    questions.retain(|question| question.slots.len() > 1);
    questions
}

/// Collects the aggregates in the first test of a condition.
fn each_begun_with<'r>(condition: &'r Condition, aggregates: &mut Vec<&'r AggregateSpec>) {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => {
            parts.iter().take(1).for_each(|part| each_begun_with(part, aggregates));
        }
        Condition::Not(inner) => each_begun_with(inner, aggregates),
        Condition::Compare { left, right, .. } => {
            [left, right].into_iter().for_each(|operand| each_within(operand, aggregates));
        }
        Condition::In { value, .. } | Condition::Matches { value, .. } => each_within(value, aggregates),
        Condition::Previous(_) => {}
    }
}

fn each_within<'r>(operand: &'r Operand, aggregates: &mut Vec<&'r AggregateSpec>) {
    match operand {
        Operand::Aggregate(spec) => aggregates.push(spec),
        Operand::Arithmetic { left, right, .. } => {
            [left, right].into_iter().for_each(|operand| each_within(operand, aggregates));
        }
        Operand::Negate(inner) => each_within(inner, aggregates),
        Operand::Number(_)
        | Operand::Text(_)
        | Operand::Boolean(_)
        | Operand::Field(_)
        | Operand::Current(_)
        | Operand::Time(_) => {}
    }
}

fn slot_of<T>(known: &[T], is_it: impl Fn(&T) -> bool) -> Option<u32> {
    known.iter().position(is_it).and_then(|slot| u32::try_from(slot).ok())
}
