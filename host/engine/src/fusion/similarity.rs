//! Which rules gain by being together.

use std::cmp::Ordering;

use tollgate_compiler::emit::Selection;
use tollgate_guest_abi::FieldPath;

use crate::registry::BoundRule;

/// Rules that ask for the same stand next to each other: a body asks each question once, so the fewer different ones its rules
/// have, the less it takes. What is dear counts first. Rules that need the same of a transaction stand together too, so that a body of
/// them can be spared by one look.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SimilarityKey {
    /// Questions to the history, as JSON.
    lookups: Vec<String>,
    patterns: Vec<String>,
    /// Fields that have to be one of these texts.
    texts: Vec<(FieldPath, Vec<String>)>,
    fields: Vec<String>,
    /// Fields that have to be so large.
    lows: Vec<(FieldPath, OrderedBound)>,
}

/// In the order of numbers.
#[derive(Debug, Clone, Copy)]
struct OrderedBound(f64);

impl SimilarityKey {
    pub(super) fn of(rule: &BoundRule) -> Self {
        let checked = rule.checked.as_deref();
        let Selection { texts, ranges } = checked.map(|rule| Selection::of(&rule.when)).unwrap_or_default();
        let needs = &rule.bound.module.manifest.needs;
        let aggregates = needs.aggregates.iter().filter_map(|spec| serde_json::to_string(spec).ok());
        let previous = needs.previous.iter().filter_map(|spec| serde_json::to_string(spec).ok());
        Self {
            lookups: sorted(aggregates.chain(previous)),
            patterns: sorted(needs.patterns.iter().cloned()),
            texts: texts.into_iter().collect(),
            fields: sorted(needs.fields.iter().map(ToString::to_string)),
            lows: ranges.into_iter().map(|(path, range)| (path, OrderedBound(range.low))).collect(),
        }
    }
}

impl Ord for OrderedBound {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for OrderedBound {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OrderedBound {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for OrderedBound {}

fn sorted(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = words.collect();
    words.sort();
    words
}
