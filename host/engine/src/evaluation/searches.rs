//! Searches for patterns and in lists, by the slots of the running module.

use tollgate_history::ExactValue;
use tollgate_model::assessment::RuleFailure;
use tollgate_model::transaction::Value;

use crate::evaluation::exact_operand::ExactOperand;
use crate::evaluation::facts::{Facts, at};
use crate::evaluation::search_cache::{LastSearch, answer};
use crate::evaluation::suspect_value::SuspectValue;
use crate::registry::{JointSearch, ListMembership, SlotBindings};

impl Facts {
    pub(super) fn membership(&self, slot: u32) -> Result<&ListMembership, RuleFailure> {
        self.asker()?.bound.lists.get(slot as usize).map(|list| &**list).ok_or(RuleFailure::HostCall)
    }

    /// Whether a value is in the list with this slot; `None` when either is missing.
    pub(super) fn find_member(
        &self,
        value: &ExactOperand<'_>,
        list: u32,
    ) -> Result<Option<bool>, RuleFailure> {
        let (membership, current) = (self.membership(list)?, self.transaction()?);
        let lists = &self.rule_set().lists;
        Ok(match value {
            ExactOperand::Value(value) => membership.of_value(*value, current, lists),
            ExactOperand::Computed(ExactValue::Double(double)) => {
                membership.of_number(*double, current, lists)
            }
            // A number with more digits than any value is in no list, but is not missing either.
            ExactOperand::Computed(exact) => {
                let number = exact.as_decimal().map_or(Value::List(&[]), Value::Number);
                membership.of_value(number, current, lists)
            }
        })
    }

    /// Searches a field for a pattern, by the slots of the running module.
    pub(super) fn find(&mut self, field: u32, pattern: u32) -> Result<i32, RuleFailure> {
        let (rule_set, asker, transaction, searches) = self.searching()?;
        let number_of_field = *asker.fields.get(field as usize).ok_or(RuleFailure::HostCall)?;
        let number = at(&asker.patterns, pattern)?;
        if let Some(known) = searches.patterns.answer(number, number_of_field) {
            return Ok(known);
        }
        let access = rule_set.fields.get(number_of_field as usize).ok_or(RuleFailure::Internal)?;
        let value = access.read(transaction);
        let joint = asker.bound.searches.iter().find(|joint| joint.has(field, pattern));
        if let (Some(joint), Some(text)) = (joint, value.as_text())
            && let Some(found) = joint.search(text)
        {
            note_all(asker, joint, found, number_of_field, &mut searches.patterns)?;
            return searches.patterns.answer(number, number_of_field).ok_or(RuleFailure::Internal);
        }
        let pattern = asker.bound.patterns.get(pattern as usize).ok_or(RuleFailure::HostCall)?;
        let found = searches.patterns.note(number, number_of_field, answer(pattern.search(&value)));
        if matches!(value, Value::List(_) | Value::Object(_)) {
            self.suspect(SuspectValue::Field(number_of_field));
        }
        found
    }

    /// Searches a list for the value of a field, by the slots of the running module.
    pub(super) fn find_in_list(&mut self, field: u32, list: u32) -> Result<i32, RuleFailure> {
        let (rule_set, asker, transaction, searches) = self.searching()?;
        let number_of_field = *asker.fields.get(field as usize).ok_or(RuleFailure::HostCall)?;
        let number = at(&asker.lists, list)?;
        if let Some(known) = searches.lists.answer(number, number_of_field) {
            return Ok(known);
        }
        let access = rule_set.fields.get(number_of_field as usize).ok_or(RuleFailure::Internal)?;
        let membership = asker.bound.lists.get(list as usize).ok_or(RuleFailure::HostCall)?;
        let value = access.read(transaction);
        let holds = membership.of_value(value, transaction, &rule_set.lists);
        let found = searches.lists.note(number, number_of_field, answer(holds));
        // A value in the list was comparable, so only absent values can be suspect.
        let is_of_interest =
            holds == Some(false) && rule_set.watch.is_value_of_interest(number_of_field as usize, &value);
        if is_of_interest {
            self.suspect(SuspectValue::Field(number_of_field));
        }
        found
    }
}

/// Records the results of a joint search: bit `n` is the result of its pattern `n`.
fn note_all(
    asker: &SlotBindings,
    joint: &JointSearch,
    found: u64,
    field: u32,
    patterns: &mut LastSearch,
) -> Result<(), RuleFailure> {
    for (bit, &slot) in joint.patterns.iter().enumerate() {
        patterns.note(at(&asker.patterns, slot)?, field, answer(Some(found >> bit & 1 == 1)))?;
    }
    Ok(())
}
