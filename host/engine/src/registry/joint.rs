//! Queries of several rules that are answered together. The answers are the same as one by one.

use std::sync::{Arc, OnceLock};

use tollgate_history::{AggregateBatch, AggregateQuery};
use tollgate_model::pattern::PatternSet;

/// Aggregates about one key that a body evaluates for every transaction.
#[derive(Debug)]
pub struct JointQuestion {
    /// The slots of the aggregates, in batch order.
    pub slots: Vec<u32>,
    /// The aggregates.
    pub batch: AggregateBatch,
}

impl JointQuestion {
    /// Starts a batch with an aggregate; `None` if it cannot be answered in a batch.
    #[must_use]
    pub fn new(slot: u32, aggregate: Arc<AggregateQuery>) -> Option<Self> {
        Some(Self { slots: vec![slot], batch: AggregateBatch::of(aggregate)? })
    }

    /// Adds another aggregate.
    ///
    /// # Errors
    /// Returns the aggregate if it has another key.
    pub fn add(&mut self, slot: u32, aggregate: Arc<AggregateQuery>) -> Result<(), Arc<AggregateQuery>> {
        self.batch.add(aggregate)?;
        self.slots.push(slot);
        Ok(())
    }
}

/// Patterns that a body searches in one field.
#[derive(Debug)]
pub struct JointSearch {
    field: u32,
    /// The slots of the patterns.
    pub patterns: Vec<u32>,
    /// Compiled in the background; patterns are searched one by one before that, and always if it is `None`.
    set: OnceLock<Option<PatternSet>>,
}

impl JointSearch {
    /// Creates a joint search of these pattern slots, at most [`PatternSet::PATTERNS_MAX`].
    #[must_use]
    pub fn new(field: u32, patterns: Vec<u32>) -> Self {
        Self { field, patterns, set: OnceLock::new() }
    }

    /// Compiles the set once, which takes up to some milliseconds.
    pub(super) fn compile(&self, patterns: &[String]) {
        self.set.get_or_init(|| {
            let own = self.patterns.iter().map(|&slot| patterns.get(slot as usize).map(String::as_str));
            PatternSet::compile(&own.collect::<Option<Vec<_>>>()?)
        });
    }

    /// Whether the set searches this field for this pattern.
    #[must_use]
    pub fn has(&self, field: u32, pattern: u32) -> bool {
        self.field == field && self.patterns.contains(&pattern)
    }

    /// Returns one bit per pattern found in `text`; `None` if they must be searched one by one.
    #[must_use]
    pub fn search(&self, text: &str) -> Option<u64> {
        self.set.get()?.as_ref()?.search(text)
    }
}
