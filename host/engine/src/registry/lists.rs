//! The named lists of a rule set.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_guest_abi::Semantics;

use tollgate_model::instruction::{ContentDigest, InstructionSource};
use tollgate_model::named_list::{NamedList, NamedLists, text};

/// Upper bound of all lists together, in bytes.
pub const ALL_LISTS_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The largest number of lists in force.
pub const LISTS_MAX: usize = 1_000;

/// Named lists; immutable, and swapped together with the rules.
#[derive(Debug, Clone, Default)]
pub struct Lists {
    by_name: BTreeMap<String, ListInForce>,
}

/// One list, cheap to clone.
#[derive(Debug, Clone)]
pub struct ListInForce {
    /// The text as written: one entry per line, with comments. Tables are converted to this form.
    pub text: Arc<str>,
    /// Digest of the text.
    pub digest: ContentDigest,
    /// The parsed entries.
    pub members: Arc<NamedList>,
    /// Source of the list.
    pub source: InstructionSource,
    /// Language semantics used to read the text.
    pub semantics: Semantics,
}

impl ListInForce {
    /// Parses a list with the current semantics.
    #[must_use]
    pub fn new(text: &str, source: InstructionSource) -> Self {
        Self::read(text, source, Semantics::CURRENT)
    }

    /// Parses a list with the given semantics.
    #[must_use]
    pub fn read(text: &str, source: InstructionSource, semantics: Semantics) -> Self {
        Self {
            text: text.into(),
            digest: ContentDigest::of_bytes(text.as_bytes()),
            members: Arc::new(text::entries(text, semantics).collect()),
            source,
            semantics,
        }
    }

    /// Returns the entries as written, in order.
    pub fn entries(&self) -> impl Iterator<Item = Cow<'_, str>> {
        text::entries(&self.text, self.semantics)
    }

    /// Whether both lists have the same text and source.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (self.digest, &self.source) == (other.digest, &other.source)
    }
}

impl Lists {
    /// Adds a list, or replaces the list of this name.
    pub fn insert(&mut self, name: &str, list: ListInForce) {
        self.by_name.insert(name.to_owned(), list);
    }

    /// Removes a list.
    pub fn remove(&mut self, name: &str) -> Option<ListInForce> {
        self.by_name.remove(name)
    }

    /// Returns the list of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ListInForce> {
        self.by_name.get(name)
    }

    /// Iterates over all lists by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ListInForce)> {
        self.by_name.iter().map(|(name, list)| (name.as_str(), list))
    }

    /// Iterates over the names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Whether a list of this size may be set under this name, within the limits.
    #[must_use]
    pub fn has_room_for(&self, name: &str, n_bytes: usize) -> bool {
        let others = || self.iter().filter(|(known, _)| *known != name);
        let n_bytes_of_others: usize = others().map(|(_, list)| list.text.len()).sum();
        others().count() < LISTS_MAX && (n_bytes_of_others + n_bytes) as u64 <= ALL_LISTS_BYTES_MAX
    }

    /// Whether both contain the same texts from the same sources.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.by_name.len() == other.by_name.len()
            && self.iter().zip(other.iter()).all(|(own, other)| own.0 == other.0 && own.1.is_same(other.1))
    }
}

impl NamedLists for Lists {
    fn list(&self, name: &str) -> Option<&NamedList> {
        self.by_name.get(name).map(|list| &*list.members)
    }
}
