//! What `in` looks into, prepared once per rule.

use tollgate_guest_abi::{FieldPath, Item, List};

use crate::named_list::NamedLists;
use crate::registry::Lists;
use crate::transaction::{Transaction, Value, relate};
use crate::value_set::ValueSet;

/// A list of a rule, ready to be asked.
#[derive(Debug)]
pub enum Membership {
    /// Written in the script.
    Items {
        /// Its literals.
        literals: Box<ValueSet>,
        /// Its fields of the transaction under evaluation.
        fields: Vec<FieldPath>,
    },
    /// A field of the transaction under evaluation: the elements of an array, or a single value as a list of one.
    Field(FieldPath),
    /// A named list, by name.
    Named(String),
}

/// Values of the transaction under evaluation that a look into a list compares with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compared {
    /// How many values.
    pub n_elements: usize,
    /// How many paths lead to them.
    pub n_paths: usize,
}

impl Membership {
    /// Prepares a list.
    #[must_use]
    pub fn bind(list: &List) -> Self {
        match list {
            List::Named(name) => Membership::Named(name.clone()),
            List::Current(path) => Membership::Field(path.clone()),
            List::Items(items) => {
                let mut literals = Box::<ValueSet>::default();
                let mut fields = Vec::new();
                for item in items {
                    match item {
                        Item::Number(number) => literals.insert_number(*number),
                        Item::Text(text) => literals.insert(Value::Text(text)),
                        Item::Boolean(boolean) => literals.insert(Value::Boolean(*boolean)),
                        Item::Current(path) => fields.push(path.clone()),
                    }
                }
                Membership::Items { literals, fields }
            }
        }
    }

    /// Whether a value is in it; `None` when the value or the list is missing.
    #[must_use]
    pub fn of_value(&self, value: Value<'_>, current: &Transaction, lists: &Lists) -> Option<bool> {
        if value.is_missing() {
            return None;
        }
        self.ask(
            current,
            |set| set.contains(value),
            |named| lists.list(named).map(|list| list.contains(value)),
            |element| relate(value, element).equal(),
        )
    }

    /// The same for a computed number; NaN is missing.
    #[must_use]
    pub fn of_number(&self, number: f64, current: &Transaction, lists: &Lists) -> Option<bool> {
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

    /// With what a look compares, one after the other.
    #[must_use]
    pub fn compared(&self, current: &Transaction) -> Compared {
        match self {
            Membership::Items { fields, .. } => Compared { n_elements: fields.len(), n_paths: fields.len() },
            Membership::Named(_) => Compared { n_elements: 0, n_paths: 0 },
            Membership::Field(path) => {
                let n_elements = match current.value(path) {
                    Value::List(elements) => elements.len(),
                    _ => 1,
                };
                Compared { n_elements, n_paths: 1 }
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
        match self {
            Membership::Items { literals, fields } => {
                Some(in_set(literals) || fields.iter().any(|path| equals(current.value(path))))
            }
            Membership::Named(name) => in_named(name),
            Membership::Field(path) => match current.value(path) {
                Value::Missing => None,
                Value::List(elements) => {
                    Some(elements.iter().any(|element| equals(Value::of_json(Some(element)))))
                }
                single => Some(equals(single)),
            },
        }
    }
}
