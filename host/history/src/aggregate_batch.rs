//! Questions about one key that are answered with one look at it.

use std::sync::Arc;

use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::aggregate::AggregateQuery;
use crate::exact::AggregateValue;
use crate::key::OnlyText;

/// Aggregates that differ in their windows and functions alone, all of which figures tell.
#[derive(Debug)]
pub struct AggregateBatch {
    first: Arc<AggregateQuery>,
    others: Vec<Arc<AggregateQuery>>,
}

impl AggregateBatch {
    /// Most of them: the series is locked while they are answered.
    pub const AGGREGATES_MAX: usize = 8;

    /// One alone, so far; `None` of one that has to be asked for alone.
    #[must_use]
    pub fn of(first: Arc<AggregateQuery>) -> Option<Self> {
        first.shares_scope_with(&first).then(|| Self { first, others: Vec::new() })
    }

    /// Adds another; gives it back when it is none of them, or when they are enough.
    ///
    /// # Errors
    /// It.
    pub fn add(&mut self, other: Arc<AggregateQuery>) -> Result<(), Arc<AggregateQuery>> {
        if self.others.len() + 1 >= Self::AGGREGATES_MAX || !self.first.shares_scope_with(&other) {
            return Err(other);
        }
        self.others.push(other);
        Ok(())
    }

    /// Tells answers, each with its place among them: those that [`AggregateQuery::answer`] would give, where no row is looked at.
    /// What is not told is to be asked for alone: the key is more than one text, something has to be read back, or was let go.
    pub fn answer(
        &self,
        current: &Transaction,
        as_of: Sequence,
        mut tell: impl FnMut(usize, AggregateValue),
    ) {
        let Some(text) = self.first.scope().only_text(current).and_then(OnlyText::of) else { return };
        self.first.scope().series().look(&text, |entries| {
            for (n, one) in std::iter::once(&self.first).chain(&self.others).enumerate() {
                if let Some(answer) = one.of_entries(entries, &one.scope().stretch(current, as_of)) {
                    tell(n, answer);
                }
            }
        });
    }
}
