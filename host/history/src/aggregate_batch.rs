//! Aggregates of one key that are answered with one lookup.
//!
//! ```text
//!  count, 1 h  ┐
//!  sum, 24 h   ├─ same series and key ──▶ Series::look, locked once ──▶ one answer each
//!  avg, 7 d    ┘                                                   └─▶ none: AggregateQuery::answer_within
//! ```

use std::sync::Arc;

use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::aggregate::{AggregateQuery, answer_plain};
use crate::exact::AggregateValue;

/// Aggregates that differ only in window and function, and that precomputed sums answer.
#[derive(Debug)]
pub struct AggregateBatch {
    first: Arc<AggregateQuery>,
    others: Vec<Arc<AggregateQuery>>,
}

impl AggregateBatch {
    /// Maximum number of aggregates: the series stays locked while they are answered.
    pub const AGGREGATES_MAX: usize = 8;

    /// Creates a batch of one aggregate; `None` when it cannot be batched.
    #[must_use]
    pub fn of(first: Arc<AggregateQuery>) -> Option<Self> {
        first.shares_scope_with(&first).then(|| Self { first, others: Vec::new() })
    }

    /// Adds an aggregate.
    ///
    /// # Errors
    /// Returns the aggregate when it does not fit the batch or the batch is full.
    pub fn add(&mut self, other: Arc<AggregateQuery>) -> Result<(), Arc<AggregateQuery>> {
        if self.others.len() + 1 >= Self::AGGREGATES_MAX || !self.first.shares_scope_with(&other) {
            return Err(other);
        }
        self.others.push(other);
        Ok(())
    }

    /// Passes each answer to `tell`, with the index of its aggregate in the batch. An answer equals that of
    /// [`AggregateQuery::answer`], and costs no fuel. The caller must query each aggregate without an answer
    /// separately: its key is not one text, or a chunk must be read back or was discarded.
    pub fn answer(&self, current: &Transaction, as_of: Sequence, tell: impl FnMut(usize, AggregateValue)) {
        let others = self.others.iter().map(|other| &**other);
        answer_plain(&self.first, others, current, as_of, tell);
    }
}
