//! Splitting of a filter: equalities that keys answer, conditions on rows alone, and the rest.

use tollgate_guest_abi::limits::PATTERN_HAYSTACK_BYTES_MAX;
use tollgate_guest_abi::prices;
use tollgate_guest_abi::{
    Comparison, Condition, FieldPath, FieldType, Item, ListSource, Number, Operand, Semantics,
};
use tollgate_model::pattern::CompiledPattern;
use tollgate_model::transaction::{FieldAccess, StatusWords};

use super::SelectionKind;
use crate::key::KEY_FIELDS_MAX;

/// The most that the selection of a series may cost for each accepted transaction, in fuel. The conditions beyond it
/// are tested when a rule asks, which then pays for them.
const SELECTION_FUEL_MAX: u64 = 10_000;

/// The conditions of a filter that must all hold, by kind.
#[derive(Debug, Default)]
pub(super) struct SplitFilter<'c> {
    /// Equalities, at most one per field.
    pub(super) key: Vec<Equality<'c>>,
    /// Conditions on rows alone, sorted and without duplicates.
    pub(super) selection: Vec<Condition>,
    pub(super) rest: Vec<&'c Condition>,
}

/// A condition that a key can answer.
#[derive(Debug)]
pub(super) struct Equality<'c> {
    pub(super) field: &'c FieldPath,
    pub(super) sought: KeyLiteral<'c>,
}

/// The value a field is looked up by.
#[derive(Debug)]
pub(super) enum KeyLiteral<'c> {
    Number(&'c Number),
    Text(&'c str),
    Boolean(bool),
    Current(&'c FieldPath),
}

impl<'c> SplitFilter<'c> {
    pub(super) fn of(filter: &'c Condition, selecting: SelectionKind, semantics: Semantics) -> Self {
        let mut split = Self::default();
        split.take(filter, semantics);
        let mut price = match selecting {
            SelectionKind::RowByRow => return split,
            SelectionKind::InSeries => None,
            SelectionKind::CheapInSeries => Some(0),
        };
        let (alone, rest) = split.rest.into_iter().partition(|condition| {
            reads_rows_alone(condition) && price.as_mut().is_none_or(|price| is_affordable(condition, price))
        });
        split.rest = rest;
        split.selection = in_order(alone);
        split
    }

    fn take(&mut self, condition: &'c Condition, semantics: Semantics) {
        if let Condition::All(conditions) = condition {
            conditions.iter().for_each(|condition| self.take(condition, semantics));
            return;
        }
        let is_new = |equality: &Equality<'_>| self.key.iter().all(|known| known.field != equality.field);
        match Equality::of(condition, semantics).filter(is_new) {
            Some(equality) if self.key.len() < KEY_FIELDS_MAX => self.key.push(equality),
            _ => self.rest.push(condition),
        }
    }
}

impl<'c> Equality<'c> {
    /// Returns `None` unless a key answers the condition exactly. Date-times are excluded: they equal texts by instant,
    /// which no key represents. A caseless value compared with a case-sensitive field is excluded too.
    fn of(condition: &'c Condition, semantics: Semantics) -> Option<Self> {
        let Condition::Compare { left, operator: Comparison::Equal, right } = condition else { return None };
        let (field, other) = match (left, right) {
            (Operand::Field(field), other) | (other, Operand::Field(field)) => (field, other),
            _ => return None,
        };
        let words = StatusWords::built_in();
        let is_caseless = |path: &FieldPath| FieldAccess::bind(path, semantics, &words).is_caseless();
        let has_keys = |path: &FieldPath| has_keys(path) && (semantics.has_stage() || !path.is_stage());
        let sought = match other {
            Operand::Number(number) => KeyLiteral::Number(number),
            Operand::Text(text) => KeyLiteral::Text(text),
            Operand::Boolean(boolean) => KeyLiteral::Boolean(*boolean),
            Operand::Current(path) if has_keys(path) && (is_caseless(field) || !is_caseless(path)) => {
                KeyLiteral::Current(path)
            }
            Operand::Current(_)
            | Operand::Field(_)
            | Operand::Aggregate(_)
            | Operand::Time(_)
            | Operand::Arithmetic { .. }
            | Operand::Negate(_) => return None,
        };
        has_keys(field).then_some(Self { field, sought })
    }
}

const fn is_keyed(field_type: FieldType) -> bool {
    match field_type {
        FieldType::Number | FieldType::Text | FieldType::Boolean | FieldType::Dynamic => true,
        FieldType::Time | FieldType::Unknown => false,
    }
}

fn has_keys(field: &FieldPath) -> bool {
    is_keyed(field.field_type())
}

/// Sorts and deduplicates conditions, so that their order in the script does not matter.
fn in_order(conditions: Vec<&Condition>) -> Vec<Condition> {
    let mut spelled: Vec<(String, &Condition)> = conditions
        .into_iter()
        .map(|condition| (serde_json::to_string(condition).unwrap_or_default(), condition))
        .collect();
    spelled.sort_by(|(one, _), (other, _)| one.cmp(other));
    spelled.dedup_by(|(one, _), (other, _)| one == other);
    spelled.into_iter().map(|(_, condition)| condition.clone()).collect()
}

/// Adds the price of testing a condition on each accepted transaction. Returns whether the sum is small enough.
fn is_affordable(condition: &Condition, sum: &mut u64) -> bool {
    let more = sum.saturating_add(price_of(condition));
    let is_affordable = more <= SELECTION_FUEL_MAX;
    if is_affordable {
        *sum = more;
    }
    is_affordable
}

/// Returns the most that testing a condition on one transaction can cost, in fuel.
fn price_of(condition: &Condition) -> u64 {
    match condition {
        Condition::All(conditions) | Condition::Any(conditions) => {
            conditions.iter().fold(0, |sum: u64, condition| sum.saturating_add(price_of(condition)))
        }
        Condition::Not(condition) => price_of(condition),
        Condition::Compare { left, right, .. } => {
            prices::ROW_TEST + price_of_operand(left) + price_of_operand(right)
        }
        Condition::In { value, .. } => 3 * prices::ROW_TEST + price_of_operand(value),
        // An invalid pattern is reported where the rest is bound.
        Condition::Matches { value, pattern, .. } => {
            let per_byte = CompiledPattern::compile(pattern).map_or(u64::MAX, |one| one.price_per_byte());
            let of_bytes = per_byte.saturating_mul(PATTERN_HAYSTACK_BYTES_MAX as u64);
            of_bytes.saturating_add(prices::SEARCH + price_of_operand(value))
        }
        Condition::Previous(_) => u64::MAX,
    }
}

fn price_of_operand(operand: &Operand) -> u64 {
    match operand {
        Operand::Time(_) => prices::ROW_TIME,
        Operand::Arithmetic { left, right, .. } => {
            prices::ROW_TEST + price_of_operand(left) + price_of_operand(right)
        }
        Operand::Negate(operand) => prices::ROW_TEST + price_of_operand(operand),
        Operand::Number(_)
        | Operand::Text(_)
        | Operand::Boolean(_)
        | Operand::Field(_)
        | Operand::Current(_)
        | Operand::Aggregate(_) => 0,
    }
}

/// Returns whether the row alone decides, without the current transaction or a list that may change.
fn reads_rows_alone(condition: &Condition) -> bool {
    match condition {
        Condition::All(conditions) | Condition::Any(conditions) => conditions.iter().all(reads_rows_alone),
        Condition::Not(condition) => reads_rows_alone(condition),
        Condition::Compare { left, right, .. } => is_of_row(left) && is_of_row(right),
        Condition::In { value, list, .. } => is_of_row(value) && is_written(list),
        Condition::Matches { value, .. } => is_of_row(value),
        Condition::Previous(_) => false,
    }
}

fn is_of_row(operand: &Operand) -> bool {
    match operand {
        Operand::Number(_) | Operand::Text(_) | Operand::Boolean(_) | Operand::Field(_) => true,
        Operand::Time(spec) => !spec.current,
        Operand::Arithmetic { left, right, .. } => is_of_row(left) && is_of_row(right),
        Operand::Negate(operand) => is_of_row(operand),
        Operand::Current(_) | Operand::Aggregate(_) => false,
    }
}

/// Returns whether the complete list is written in the script.
fn is_written(list: &ListSource) -> bool {
    match list {
        ListSource::Items(items) => items.iter().all(|item| !matches!(item, Item::Current(_))),
        ListSource::Current(_) | ListSource::Named(_) => false,
    }
}
