//! Assigns slots to the needs of a module; equal needs share a slot.

use std::collections::HashMap;

use serde::Serialize;
use tollgate_guest_abi::{AggregateSpec, FieldPath, ListSource, Needs, Operand, PreviousSpec, TimeSpec};

#[derive(Debug, Default)]
pub(super) struct SlotTable {
    fields: SlotInterner<FieldPath>,
    texts: SlotInterner<String>,
    lists: SlotInterner<ListSource>,
    patterns: SlotInterner<String>,
    aggregates: SlotInterner<AggregateSpec>,
    previous: SlotInterner<PreviousSpec>,
    times: SlotInterner<TimeSpec>,
    /// Computed numbers that are arguments of host calls. They have slots but are not needs.
    computed: SlotInterner<Operand>,
}

impl SlotTable {
    pub(super) fn field(&mut self, path: &FieldPath) -> i32 {
        self.fields.slot(path)
    }

    pub(super) fn text(&mut self, text: &str) -> i32 {
        self.texts.slot(&text.to_owned())
    }

    pub(super) fn list(&mut self, list: &ListSource) -> i32 {
        self.lists.slot(list)
    }

    pub(super) fn pattern(&mut self, pattern: &str) -> i32 {
        self.patterns.slot(&pattern.to_owned())
    }

    pub(super) fn aggregate(&mut self, spec: &AggregateSpec) -> i32 {
        self.aggregates.slot(spec)
    }

    pub(super) fn previous(&mut self, spec: &PreviousSpec) -> i32 {
        self.previous.slot(spec)
    }

    pub(super) fn time(&mut self, spec: &TimeSpec) -> i32 {
        self.times.slot(spec)
    }

    pub(super) fn computed(&mut self, number: &Operand) -> i32 {
        self.computed.slot(number)
    }

    /// Returns the number of distinct history lookups; each is answered once per transaction.
    pub(super) fn n_history_lookups(&self) -> usize {
        self.aggregates.items.len() + self.previous.items.len()
    }

    pub(super) fn into_needs(self) -> Needs {
        Needs {
            fields: self.fields.items,
            texts: self.texts.items,
            lists: self.lists.items,
            patterns: self.patterns.items,
            aggregates: self.aggregates.items,
            previous: self.previous.items,
            times: self.times.items,
        }
    }
}

#[derive(Debug)]
struct SlotInterner<T> {
    items: Vec<T>,
    /// Slots by the item's JSON: specs do not implement `Hash`, and a linear search would be quadratic overall.
    by_json: HashMap<String, i32>,
}

impl<T> Default for SlotInterner<T> {
    fn default() -> Self {
        Self { items: Vec::new(), by_json: HashMap::new() }
    }
}

impl<T: Clone + Serialize> SlotInterner<T> {
    fn slot(&mut self, item: &T) -> i32 {
        // Serialization cannot fail: needs consist of strings and finite numbers.
        let json = serde_json::to_string(item).unwrap_or_default();
        *self.by_json.entry(json).or_insert_with(|| {
            self.items.push(item.clone());
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_possible_wrap,
                reason = "a slot per node"
            )]
            let slot = (self.items.len() - 1) as i32;
            slot
        })
    }
}
