//! Caches whether a field contains a pattern or is in a list, since many rules repeat the same searches.

use tollgate_guest_abi::imports::test;
use tollgate_model::assessment::RuleFailure;
use tollgate_model::transaction::Value;

use crate::evaluation::facts::{Facts, at};
use crate::evaluation::mismatches::SuspectValue;
use crate::registry::{JointSearch, SlotBindings};

#[derive(Debug)]
pub(super) struct SearchCache {
    patterns: LastSearch,
    lists: LastSearch,
}

/// The last searched field and its result, for each pattern or each list of a set.
#[derive(Debug)]
struct LastSearch {
    found: Vec<SearchResult>,
    /// Number of transactions started, to tell results of earlier transactions apart.
    n_begun: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct SearchResult {
    /// The transaction, as counted by `n_begun`; 0 for none.
    begun: u64,
    field: u32,
    answer: i32,
}

impl SearchCache {
    /// Creates an empty cache for this number of patterns and lists.
    pub(super) fn new(n_patterns: usize, n_lists: usize) -> Self {
        Self { patterns: LastSearch::new(n_patterns), lists: LastSearch::new(n_lists) }
    }

    /// Invalidates all results for the next transaction.
    pub(super) fn begin(&mut self) {
        self.patterns.n_begun += 1;
        self.lists.n_begun += 1;
    }
}

impl LastSearch {
    fn new(n: usize) -> Self {
        Self { found: vec![SearchResult::default(); n], n_begun: 0 }
    }

    #[inline]
    fn answer(&self, number: usize, field: u32) -> Option<i32> {
        let found = self.found.get(number)?;
        (found.begun == self.n_begun && found.field == field).then_some(found.answer)
    }

    #[inline]
    fn note(&mut self, number: usize, field: u32, answer: i32) -> Result<i32, RuleFailure> {
        let found = self.found.get_mut(number).ok_or(RuleFailure::Internal)?;
        *found = SearchResult { begun: self.n_begun, field, answer };
        Ok(answer)
    }
}

impl Facts {
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

/// Encodes a result; `None` means that the value or the list is missing.
pub(super) const fn answer(holds: Option<bool>) -> i32 {
    match holds {
        None => test::MISSING,
        Some(false) => test::NO,
        Some(true) => test::YES,
    }
}
