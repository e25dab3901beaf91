//! The mark of a payment that a ledger reported with more than a transaction may hold.

use crate::transaction::json::ObjectText;
use crate::transaction::{Json, Transaction};

/// Wire name of the metadata, of which single values may be left out.
pub const METADATA: &str = "meta_data";
/// Member with the names of what was left out, in answers, in stored transactions, and in reports that wait.
const LEFT_OUT: &str = "left_out";
/// The stored member if the operator has such payments judged like others.
const LEFT_OUT_JUDGED: &str = "left_out_judged";
/// Maximum number of names; a last one says how many more there are.
const NAMES_MAX: usize = 32;

/// The fields that were left out of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutFields {
    names: Vec<Box<str>>,
    is_judged: bool,
}

impl LeftOutFields {
    /// Creates the mark, or returns `None` if nothing was left out.
    #[must_use]
    pub fn new(mut names: Vec<Box<str>>) -> Option<Self> {
        if names.len() > NAMES_MAX {
            let n_more = names.len() - NAMES_MAX;
            names.truncate(NAMES_MAX);
            names.push(format!("and {n_more} more").into());
        }
        (!names.is_empty()).then_some(Self { names, is_judged: false })
    }

    /// Returns the mark of a transaction that is judged as if nothing had been left out.
    #[must_use]
    pub fn judged(self) -> Self {
        Self { is_judged: true, ..self }
    }

    /// Returns the names, such as `description` and `meta_data.note`.
    #[must_use]
    pub fn names(&self) -> &[Box<str>] {
        &self.names
    }

    /// Returns whether the verdict is at least `review`.
    #[must_use]
    pub const fn is_reviewed(&self) -> bool {
        !self.is_judged
    }

    /// Takes the mark from the first member of an object. The service writes it there, before any member of a caller.
    pub(super) fn take(entries: &mut Vec<(Box<str>, Json)>) -> Option<Self> {
        let is_judged = match entries.first()? {
            (name, Json::Array(_)) if **name == *LEFT_OUT => false,
            (name, Json::Array(_)) if **name == *LEFT_OUT_JUDGED => true,
            _ => return None,
        };
        let (_, Json::Array(items)) = entries.remove(0) else { return None };
        let text = |item| if let Json::Text(text) = item { Some(text) } else { None };
        let names: Vec<_> = items.into_iter().filter_map(text).collect();
        Some(Self { names, is_judged })
    }

    /// Writes the mark as the first member of a stored transaction.
    pub(super) fn write_stored(&self, object: &mut ObjectText) {
        object.json(if self.is_judged { LEFT_OUT_JUDGED } else { LEFT_OUT }, &self.to_json());
    }

    /// Writes the mark for callers.
    pub(super) fn write(&self, object: &mut ObjectText) {
        object.json(LEFT_OUT, &self.to_json());
    }

    fn to_json(&self) -> Json {
        Json::Array(self.names.iter().map(|name| Json::Text(name.clone())).collect())
    }
}

impl Transaction {
    /// Returns the transaction with this mark, which replaces a member of the caller with that name.
    #[must_use]
    pub fn with_left_out(mut self, left_out: Option<LeftOutFields>) -> Self {
        if left_out.is_some() {
            self.unnamed.retain(|(name, _)| ![LEFT_OUT, LEFT_OUT_JUDGED].contains(&&**name));
        }
        self.left_out = left_out.map(Box::new);
        self
    }
}

/// Returns the paths of these keys of the metadata.
#[must_use]
pub fn metadata_paths(keys: Vec<Box<str>>) -> Vec<Box<str>> {
    keys.into_iter().map(|key| format!("{METADATA}.{key}").into()).collect()
}

/// Marks the data of a report with what was left out when it was read.
pub fn mark_left_out(data: &mut Json, names: Vec<Box<str>>) {
    if let (Json::Object(entries), Some(left_out)) = (data, LeftOutFields::new(names)) {
        entries.retain(|(name, _)| **name != *LEFT_OUT);
        entries.insert(0, (LEFT_OUT.into(), left_out.to_json()));
    }
}

/// Takes the mark of a report from its members.
pub fn take_left_out(entries: &mut Vec<(Box<str>, Json)>) -> Vec<Box<str>> {
    LeftOutFields::take(entries).map(|left_out| left_out.names).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn transaction(members: &str) -> Transaction {
        let body = format!(r#"{{"amount": 1, "currency": "EUR", "reference": "r"{members}}}"#);
        Transaction::parse(body.as_bytes(), DateTime::UNIX_EPOCH).unwrap().0
    }

    #[test]
    fn the_mark_is_stored_and_shown_and_no_caller_can_set_it() {
        let names = || vec!["description".into(), "meta_data.note".into()];
        for marked in [LeftOutFields::new(names()), LeftOutFields::new(names()).map(LeftOutFields::judged)] {
            let with = transaction(r#", "left_out": ["x"]"#).with_left_out(marked.clone());
            let read = Transaction::from_stored(&with.to_stored()).unwrap();
            assert_eq!(read, with);
            assert_eq!(read.left_out.as_deref(), marked.as_ref());
            assert!(with.to_wire().contains(r#""left_out":["description","meta_data.note"]"#));
        }
        for members in [r#", "left_out": ["x"]"#, r#", "left_out_judged": ["x"]"#] {
            let without = transaction(members);
            let read = Transaction::from_stored(&without.to_stored()).unwrap();
            assert_eq!(read.left_out, None);
            assert_eq!(read, without);
        }
    }

    #[test]
    fn the_names_are_bounded() {
        let names = |n: usize| LeftOutFields::new((0..n).map(|n| format!("{n}").into()).collect());
        assert_eq!(names(0), None);
        assert_eq!(names(NAMES_MAX).unwrap().names().len(), NAMES_MAX);
        assert_eq!(names(NAMES_MAX + 5).unwrap().names().last().map(|name| &**name), Some("and 5 more"));
    }
}
