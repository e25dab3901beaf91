//! Which patterns of a body are searched in the same field.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_compiler::CheckedRule;
use tollgate_guest_abi::{Condition, FieldPath, Needs, Operand};

use crate::pattern::PatternSet;
use crate::registry::JointSearch;

/// The patterns that these rules search, by slot.
type ByField<'r> = BTreeMap<&'r FieldPath, BTreeSet<&'r str>>;

/// The joint searches of a body of these rules: fields in which more than one pattern is searched.
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

fn slot_of<T>(known: &[T], is_it: impl Fn(&T) -> bool) -> Option<u32> {
    known.iter().position(is_it).and_then(|slot| u32::try_from(slot).ok())
}
