//! Entries of a list that may not be what their author meant.
//!
//! A text is read in the format of a list file. Entries of a JSON array are taken as they are: each that a list file would
//! read otherwise, or that looks like a row of a table, gets a warning.

use std::borrow::Cow;

use tollgate_model::named_list::oddities::{self, ListWarning};
use tollgate_model::named_list::text::{self, Oddity, ReadLine};

/// Warnings that are listed.
const WARNINGS_MAX: usize = 100;

/// An entry that may not be what its author meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryWarning {
    /// Its number from 1: the line of a text, the position in an array.
    pub position: usize,
    /// The entry as it is in force.
    pub entry: String,
    /// The reason why it is odd.
    pub message: String,
}

/// The warnings about a list: at most 100 about entries, and a few about the list as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryWarnings {
    /// The first warnings about entries, then those about the list.
    pub listed: Vec<EntryWarning>,
    /// How many more there are.
    pub n_more: usize,
}

impl EntryWarnings {
    /// Returns the warnings about the entries of an array, which are in force as they are.
    pub(super) fn of_entries(entries: &[Box<str>]) -> Self {
        let is_table = text::is_table(entries.iter().map(|entry| &**entry));
        let warnings = entries.iter().zip(1..).filter_map(|(entry, position)| {
            Some((position, entry.to_string(), text::oddity_of_entry(entry, is_table)?))
        });
        let mut found = Self::first_of(warnings);
        let entry_at =
            |position: usize| entries.get(position.saturating_sub(1)).map(|entry| entry.to_string());
        found.add(oddities::of_array(entries.iter().map(|entry| &**entry)), entry_at);
        found
    }

    /// Returns the warnings about the lines of a text.
    pub(super) fn of_text(list: &str) -> Self {
        let is_table = text::separator_of_columns(list).is_some();
        let warnings = text::read_lines(list).filter_map(|ReadLine { number, entry, .. }| {
            let entry = entry?;
            let oddity = text::oddity_of_line(&entry, is_table)?;
            Some((number, entry.into_owned(), oddity))
        });
        let mut found = Self::first_of(warnings);
        let entry_at = |number: usize| {
            text::read_lines(list).find(|line| line.number == number)?.entry.map(Cow::into_owned)
        };
        found.add(oddities::of_text(list), entry_at);
        found
    }

    /// Adds warnings about the list as a whole, each with the first entry concerned.
    fn add(&mut self, warnings: Vec<ListWarning>, entry_at: impl Fn(usize) -> Option<String>) {
        for ListWarning { line, message } in warnings {
            let entry = entry_at(line).unwrap_or_default();
            self.listed.push(EntryWarning { position: line, entry, message });
        }
    }

    fn first_of(warnings: impl Iterator<Item = (usize, String, Oddity)>) -> Self {
        let mut found = Self::default();
        for (position, entry, oddity) in warnings {
            if found.listed.len() < WARNINGS_MAX {
                found.listed.push(EntryWarning { position, entry, message: oddity.to_string() });
            } else {
                found.n_more += 1;
            }
        }
        found
    }
}
