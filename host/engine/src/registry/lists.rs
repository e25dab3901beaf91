//! The named lists of a rule set.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_guest_abi::Semantics;

use tollgate_model::instruction::{ContentDigest, InstructionSource};
use tollgate_model::named_list::{NamedList, NamedLists, text};

/// Most bytes of all lists together.
pub const ALL_LISTS_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Most lists in force at once.
pub const LISTS_MAX: usize = 1_000;

/// Named lists, immutable; they are swapped together with the rules.
#[derive(Debug, Clone, Default)]
pub struct Lists {
    by_name: BTreeMap<String, ListInForce>,
}

/// One list, cheap to clone.
#[derive(Debug, Clone)]
pub struct ListInForce {
    /// As written: one entry a line, with comments; of a table, what it says in that form.
    pub text: Arc<str>,
    /// Of the text.
    pub digest: ContentDigest,
    /// What is looked into.
    pub members: Arc<NamedList>,
    /// Where it comes from.
    pub source: InstructionSource,
    /// How the text is read.
    pub semantics: Semantics,
}

impl ListInForce {
    /// The list of a text.
    #[must_use]
    pub fn new(text: &str, source: InstructionSource) -> Self {
        Self::read(text, source, Semantics::CURRENT)
    }

    /// The list of a text, as a meaning of the language reads it.
    #[must_use]
    pub fn read(text: &str, source: InstructionSource, semantics: Semantics) -> Self {
        Self {
            text: text.into(),
            digest: ContentDigest::of(text.as_bytes()),
            members: Arc::new(text::entries(text, semantics).collect()),
            source,
            semantics,
        }
    }

    /// The entries as written, in order.
    pub fn entries(&self) -> impl Iterator<Item = Cow<'_, str>> {
        text::entries(&self.text, self.semantics)
    }

    /// Whether another has the same text and comes from the same place.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (self.digest, &self.source) == (other.digest, &other.source)
    }
}

impl Lists {
    /// Sets a list; the one of this name before is gone.
    pub fn insert(&mut self, name: &str, list: ListInForce) {
        self.by_name.insert(name.to_owned(), list);
    }

    /// Takes a list away.
    pub fn remove(&mut self, name: &str) -> Option<ListInForce> {
        self.by_name.remove(name)
    }

    /// The list of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ListInForce> {
        self.by_name.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ListInForce)> {
        self.by_name.iter().map(|(name, list)| (name.as_str(), list))
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Whether a list of this many bytes may be set under this name beside the others.
    #[must_use]
    pub fn has_room_for(&self, name: &str, n_bytes: usize) -> bool {
        let others = || self.iter().filter(|(known, _)| *known != name);
        let n_bytes_of_others: usize = others().map(|(_, list)| list.text.len()).sum();
        others().count() < LISTS_MAX && (n_bytes_of_others + n_bytes) as u64 <= ALL_LISTS_BYTES_MAX
    }

    /// Whether both hold the same texts from the same places.
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
