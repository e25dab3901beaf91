//! The named lists of a rule set.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::instruction::ContentDigest;
use crate::named_list::{NamedList, NamedLists};

/// Most bytes of one list.
pub const LIST_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Named lists, immutable; they are swapped together with the rules.
#[derive(Debug, Clone, Default)]
pub struct Lists {
    by_name: BTreeMap<String, StoredList>,
}

#[derive(Debug, Clone)]
struct StoredList {
    text: Arc<str>,
    digest: ContentDigest,
    entries: Arc<NamedList>,
}

impl Lists {
    /// Adds a list out of its text: one entry a line, blanks around it dropped, `#` begins a comment.
    pub fn insert(&mut self, name: &str, text: &str) {
        let entries = text
            .trim_start_matches('\u{feff}')
            .lines()
            .map(|line| line.split_once('#').map_or(line, |(before, _)| before).trim())
            .filter(|entry| !entry.is_empty());
        let list = StoredList {
            text: text.into(),
            digest: ContentDigest::of(text.as_bytes()),
            entries: Arc::new(entries.collect()),
        };
        self.by_name.insert(name.to_owned(), list);
    }

    /// Names, texts and digests, by name.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &Arc<str>, ContentDigest)> {
        self.by_name.iter().map(|(name, list)| (name.as_str(), &list.text, list.digest))
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }
}

impl NamedLists for Lists {
    fn list(&self, name: &str) -> Option<&NamedList> {
        self.by_name.get(name).map(|list| &*list.entries)
    }
}
