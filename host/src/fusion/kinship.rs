//! Which rules gain by being together.

use crate::registry::Rule;

/// Rules that ask for the same stand next to each other: a body asks each question once, so the fewer different ones its rules
/// have, the less it takes. What is dear counts first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kinship {
    /// Questions to the history, as JSON.
    lookups: Vec<String>,
    patterns: Vec<String>,
    fields: Vec<String>,
}

impl Kinship {
    pub(super) fn of(rule: &Rule) -> Self {
        let needs = &rule.bound.module.manifest.needs;
        let aggregates = needs.aggregates.iter().filter_map(|spec| serde_json::to_string(spec).ok());
        let previous = needs.previous.iter().filter_map(|spec| serde_json::to_string(spec).ok());
        Self {
            lookups: sorted(aggregates.chain(previous)),
            patterns: sorted(needs.patterns.iter().cloned()),
            fields: sorted(needs.fields.iter().map(ToString::to_string)),
        }
    }
}

fn sorted(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = words.collect();
    words.sort();
    words
}
