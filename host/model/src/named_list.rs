//! Named lists: stored with the rules, replaced together with them, and tested with `in $name`.

pub mod format;
pub mod oddities;
pub mod table;
pub mod text;

use std::collections::HashMap;
use std::hash::BuildHasher;

use tollgate_guest_abi::Semantics;

use crate::transaction::{Transaction, Value};
use crate::value_set::ValueSet;

/// Maximum size of a list, in bytes.
pub const LIST_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The entries of a list, looked up by hash.
#[derive(Debug, Clone, Default)]
pub struct NamedList {
    entries: ValueSet,
    n_entries: usize,
}

impl NamedList {
    /// Returns whether an entry equals the value under the equality rules of the language. Texts match exactly, or
    /// ignoring case for a caseless text. A number matches a plain decimal of the same value, a boolean its word, and a
    /// date-time its instant.
    #[must_use]
    pub fn contains(&self, value: Value<'_>, semantics: Semantics) -> bool {
        self.entries.contains(value, semantics)
    }

    /// As [`NamedList::contains`], for a value that may be a text of this transaction.
    #[must_use]
    pub fn contains_in(&self, transaction: &Transaction, value: Value<'_>, semantics: Semantics) -> bool {
        self.entries.contains_in(transaction, value, semantics)
    }

    /// Returns whether an entry equals a computed number. NaN is in no list.
    #[must_use]
    pub fn contains_number(&self, number: f64) -> bool {
        self.entries.contains_number(number)
    }

    /// Returns the number of entries from which the list was built.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.n_entries
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.n_entries == 0
    }
}

impl<T: AsRef<str>> FromIterator<T> for NamedList {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        let mut list = Self::default();
        for entry in entries {
            list.entries.insert(Value::Text(entry.as_ref()));
            list.n_entries += 1;
        }
        list
    }
}

/// A provider of the lists in force.
pub trait NamedLists {
    /// Returns the list of this name, or `None` if it is not set.
    fn list(&self, name: &str) -> Option<&NamedList>;
}

impl<S: BuildHasher> NamedLists for HashMap<String, NamedList, S> {
    fn list(&self, name: &str) -> Option<&NamedList> {
        self.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::Decimal;

    #[test]
    fn entries_are_texts_and_are_found_by_what_equals_them() {
        let list: NamedList = ["NG", "0042", "true"].into_iter().collect();
        let number = |text| Value::Number(Decimal::from_json(text).unwrap());
        let has = |value| list.contains(value, Semantics::CURRENT);
        assert_eq!(list.len(), 3);
        assert!(has(Value::Text("NG")));
        assert!(!has(Value::Text("ng")));
        assert!(has(number("42")));
        assert!(!has(Value::Text("42")));
        assert!(has(Value::Boolean(true)));
        assert!(!has(Value::Boolean(false)));
        assert!(list.contains_number(42.0));
        assert!(!has(Value::Missing));
    }

    #[test]
    fn a_list_nobody_set_is_not_there() {
        let lists = HashMap::from([("empty".to_owned(), NamedList::default())]);
        assert!(lists.list("empty").is_some_and(NamedList::is_empty));
        assert!(lists.list("unknown").is_none());
    }
}
