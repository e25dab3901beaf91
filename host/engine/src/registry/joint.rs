//! What several rules ask that is answered with one look. Answers are the same without it.

use std::sync::{Arc, OnceLock};

use tollgate_history::{AggregateBatch, AggregateQuery};
use tollgate_model::pattern::PatternSet;

/// Aggregates about one key that a body asks for whatever the transaction is.
#[derive(Debug)]
pub struct JointQuestion {
    /// The slots of the aggregates, in their order there.
    pub slots: Vec<u32>,
    /// The aggregates.
    pub batch: AggregateBatch,
}

impl JointQuestion {
    /// Of an aggregate and its slot; `None` of one that has to be asked for alone.
    #[must_use]
    pub fn of(slot: u32, aggregate: Arc<AggregateQuery>) -> Option<Self> {
        Some(Self { slots: vec![slot], batch: AggregateBatch::of(aggregate)? })
    }

    /// Adds another aggregate.
    ///
    /// # Errors
    /// When it is about another key, which gives it back.
    pub fn add(&mut self, slot: u32, aggregate: Arc<AggregateQuery>) -> Result<(), Arc<AggregateQuery>> {
        self.batch.add(aggregate)?;
        self.slots.push(slot);
        Ok(())
    }
}

/// Patterns that a body searches in one of its fields.
#[derive(Debug)]
pub struct JointSearch {
    /// The slot of the field.
    field: u32,
    /// The slots of the patterns.
    pub patterns: Vec<u32>,
    /// Compiled when nobody waits; until then patterns are searched one by one. `None` where they stay so.
    set: OnceLock<Option<PatternSet>>,
}

impl JointSearch {
    /// Of these patterns, by slot, in this field; at most [`PatternSet::PATTERNS_MAX`].
    #[must_use]
    pub fn new(field: u32, patterns: Vec<u32>) -> Self {
        Self { field, patterns, set: OnceLock::new() }
    }

    /// Compiles it. Takes some milliseconds at most, once.
    pub(super) fn compile(&self, patterns: &[String]) {
        self.set.get_or_init(|| {
            let own = self.patterns.iter().map(|&slot| patterns.get(slot as usize).map(String::as_str));
            PatternSet::compile(&own.collect::<Option<Vec<_>>>()?)
        });
    }

    /// Whether it searches this field for this pattern.
    #[must_use]
    pub fn has(&self, field: u32, pattern: u32) -> bool {
        self.field == field && self.patterns.contains(&pattern)
    }

    /// Which of the patterns are found in a text, a bit for each; `None` where they are to be searched one by one.
    #[must_use]
    pub fn search(&self, text: &str) -> Option<u64> {
        self.set.get()?.as_ref()?.search(text)
    }
}
