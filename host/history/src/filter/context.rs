//! Values that a filter needs besides the row, from the current transaction and named lists; read once per query.

use tollgate_guest_abi::prices::ELEMENT;
use tollgate_model::named_list::{NamedList, NamedLists};
use tollgate_model::transaction::{FieldAccess, Transaction, Value};
use tollgate_model::value_set::ValueSet;

/// Values a filter context must provide, by slot.
#[derive(Debug, Default)]
pub(crate) struct ContextDemand {
    /// Fields of the current transaction; all must be present.
    pub(super) currents: Vec<FieldAccess>,
    /// Slots in `currents` whose elements are searched.
    pub(super) arrays: Vec<usize>,
    /// Names of lists; a test against an undefined list never holds.
    pub(super) lists: Vec<String>,
}

/// The values a filter is evaluated with, besides those of the row.
#[derive(Debug, Default)]
pub(crate) struct FilterContext<'a> {
    currents: Vec<Value<'a>>,
    arrays: Vec<ValueSet>,
    lists: Vec<Option<&'a NamedList>>,
    /// The current transaction.
    transaction: Option<&'a Transaction>,
}

/// The context of a filter that needs no values.
pub(crate) static NOTHING: FilterContext<'static> =
    FilterContext { currents: Vec::new(), arrays: Vec::new(), lists: Vec::new(), transaction: None };

impl ContextDemand {
    /// Returns whether no value is needed. This is so for most queries: their only value is the key.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.currents.is_empty() && self.lists.is_empty()
    }

    /// Returns the price of reading the values, in fuel: the keys on their paths, and the elements of arrays.
    pub(crate) fn price(&self, current: &Transaction) -> u64 {
        let read: Vec<(Value<'_>, usize)> =
            self.currents.iter().map(|field| field.read_counted(current)).collect();
        let n_keys: usize = read.iter().map(|(_, n_keys)| n_keys).sum();
        let n_elements = |slot: &usize| match read.get(*slot) {
            Some((Value::List(items), _)) => items.len(),
            _ => 1,
        };
        let n_elements: usize = self.arrays.iter().map(n_elements).sum();
        n_keys as u64 + n_elements as u64 * ELEMENT
    }

    /// Reads the required values; `None` when the transaction lacks one, and then nothing matches.
    pub(crate) fn meet<'a>(
        &self,
        current: &'a Transaction,
        lists: &'a dyn NamedLists,
    ) -> Option<FilterContext<'a>> {
        let present = |field: &FieldAccess| Some(field.read(current)).filter(|value| !value.is_missing());
        let currents: Vec<Value<'a>> = self.currents.iter().map(present).collect::<Option<_>>()?;
        let elements =
            |slot: &usize| currents.get(*slot).copied().map_or_else(ValueSet::default, elements_of);
        let arrays = self.arrays.iter().map(elements).collect();
        let lists = self.lists.iter().map(|name| lists.list(name)).collect();
        Some(FilterContext { currents, arrays, lists, transaction: Some(current) })
    }
}

/// Returns the elements of an array; any other value is a list of one.
fn elements_of(value: Value<'_>) -> ValueSet {
    match value {
        Value::List(items) => items.iter().map(|item| Value::of_json(Some(item))).collect(),
        value => [value].into_iter().collect(),
    }
}

impl<'a> FilterContext<'a> {
    pub(crate) fn current(&self, slot: usize) -> Value<'a> {
        self.currents.get(slot).copied().unwrap_or(Value::Missing)
    }

    /// Returns the transaction whose values it holds.
    pub(super) const fn transaction(&self) -> Option<&'a Transaction> {
        self.transaction
    }

    pub(super) fn array(&self, slot: usize) -> Option<&ValueSet> {
        self.arrays.get(slot)
    }

    pub(super) fn list(&self, slot: usize) -> Option<&'a NamedList> {
        self.lists.get(slot).copied().flatten()
    }
}
