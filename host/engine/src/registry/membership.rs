//! Lists for the `in` operator, prepared once per rule.

use std::sync::Arc;

use tollgate_guest_abi::{Item, ListSource, Semantics};
use tollgate_model::named_list::NamedLists;
use tollgate_model::transaction::{FieldAccess, StatusWords, Transaction, Value, relate_in};
use tollgate_model::value_set::ValueSet;

use crate::registry::Lists;

/// Cost of one array element, in bytes.
pub(crate) const ELEMENT_BYTES: usize = 16;

/// A prepared list of a rule.
#[derive(Debug)]
pub struct ListMembership {
    /// Equal exactly for lists with the same notation and semantics.
    pub key: Arc<str>,
    source: MembershipSource,
    semantics: Semantics,
}

#[derive(Debug)]
enum MembershipSource {
    /// Items in the script.
    Items {
        /// Literal items.
        literals: Box<ValueSet>,
        /// Items that are fields of the current transaction.
        fields: Vec<FieldAccess>,
    },
    /// A field of the current transaction: the elements of an array, or a single value as a list of one.
    Field(FieldAccess),
    Named(String),
}

/// Values of the current transaction that a membership test compares with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparedValues {
    /// Number of values.
    pub n_elements: usize,
    /// Number of paths to resolve.
    pub n_paths: usize,
    /// Number of keys of the objects on these paths.
    pub n_keys: usize,
}

impl ListMembership {
    /// Prepares a list.
    #[must_use]
    pub fn bind(list: &ListSource, semantics: Semantics, words: &Arc<StatusWords>) -> Self {
        let written = serde_json::to_string(list).unwrap_or_default();
        let key = format!("{} {written}", semantics.number()).into();
        let source = match list {
            ListSource::Named(name) => MembershipSource::Named(name.clone()),
            ListSource::Current(path) => MembershipSource::Field(FieldAccess::bind(path, semantics, words)),
            ListSource::Items(items) => {
                let mut literals = Box::<ValueSet>::default();
                let mut fields = Vec::new();
                for item in items {
                    match item {
                        Item::Number(number) => literals.insert_number(number),
                        Item::Text(text) => literals.insert(Value::Text(text)),
                        Item::Boolean(boolean) => literals.insert(Value::Boolean(*boolean)),
                        Item::Current(path) => fields.push(FieldAccess::bind(path, semantics, words)),
                    }
                }
                MembershipSource::Items { literals, fields }
            }
        };
        Self { key, source, semantics }
    }

    /// Whether the list contains a value; `None` when the value or the list is missing.
    #[must_use]
    pub(crate) fn of_value(&self, value: Value<'_>, current: &Transaction, lists: &Lists) -> Option<bool> {
        if value.is_missing() {
            return None;
        }
        self.ask(
            current,
            |set| set.contains_in(current, value, self.semantics),
            |named| lists.list(named).map(|list| list.contains_in(current, value, self.semantics)),
            |element| relate_in(current, value, element, self.semantics).equal(),
        )
    }

    /// As [`Self::of_value`], for a computed number; NaN is missing.
    #[must_use]
    pub(crate) fn of_number(&self, number: f64, current: &Transaction, lists: &Lists) -> Option<bool> {
        if number.is_nan() {
            return None;
        }
        self.ask(
            current,
            |set| set.contains_number(number),
            |named| lists.list(named).map(|list| list.contains_number(number)),
            |element| element.as_f64() == number,
        )
    }

    /// Counts the values that a membership test compares one by one.
    #[must_use]
    pub fn compared(&self, current: &Transaction) -> ComparedValues {
        match &self.source {
            MembershipSource::Items { fields, .. } => ComparedValues {
                n_elements: fields.len(),
                n_paths: fields.len(),
                n_keys: fields.iter().map(|field| field.read_counted(current).1).sum(),
            },
            MembershipSource::Named(_) => ComparedValues { n_elements: 0, n_paths: 0, n_keys: 0 },
            MembershipSource::Field(field) => {
                let (value, n_keys) = field.read_counted(current);
                let n_elements = match value {
                    Value::List(elements) => elements.len(),
                    _ => 1,
                };
                ComparedValues { n_elements, n_paths: 1, n_keys }
            }
        }
    }

    fn ask(
        &self,
        current: &Transaction,
        in_set: impl Fn(&ValueSet) -> bool,
        in_named: impl Fn(&str) -> Option<bool>,
        equals: impl Fn(Value<'_>) -> bool,
    ) -> Option<bool> {
        match &self.source {
            MembershipSource::Items { literals, fields } => {
                Some(in_set(literals) || fields.iter().any(|field| equals(field.read(current))))
            }
            MembershipSource::Named(name) => in_named(name),
            MembershipSource::Field(field) => match field.read(current) {
                Value::Missing => None,
                Value::List(elements) => {
                    Some(elements.iter().any(|element| equals(Value::of_json(Some(element)))))
                }
                single => Some(equals(single)),
            },
        }
    }
}
