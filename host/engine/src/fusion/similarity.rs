//! Sorts rules by similarity, for fusion.

use std::cmp::Ordering;

use tollgate_compiler::emit::Selection;
use tollgate_guest_abi::FieldPath;

use crate::registry::BoundRule;

/// Sort key that places rules with the same queries next to each other, expensive queries first, so that a body has few
/// distinct queries. Rules with the same selection are adjacent too, so one check can skip their body.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SimilarityKey {
    /// History queries as JSON.
    lookups: Vec<String>,
    patterns: Vec<String>,
    /// Fields that must equal one of these texts.
    texts: Vec<(FieldPath, Vec<String>)>,
    fields: Vec<String>,
    /// Fields with a lower bound.
    lows: Vec<(FieldPath, OrderedBound)>,
}

/// A bound in numerical order.
#[derive(Debug, Clone, Copy)]
struct OrderedBound(f64);

impl SimilarityKey {
    pub(super) fn of_rule(rule: &BoundRule) -> Self {
        let checked = rule.instruction.checked.as_deref();
        let Selection { texts, ranges } =
            checked.map(|rule| Selection::of_condition(&rule.when)).unwrap_or_default();
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
