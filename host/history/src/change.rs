//! In-place changes of accepted transactions.

use std::sync::Arc;

use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::past::PastItem;
use crate::series::Series;

/// An update of an accepted transaction. Event time and id stay the same.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusChange {
    /// Sequence number of the transaction.
    pub target: Sequence,
    /// The transaction before the update.
    pub before: Transaction,
    /// The transaction after the update.
    pub after: Transaction,
}

#[derive(Debug, Clone)]
pub(super) enum ChangeStep {
    Accepted(Arc<Transaction>),
    Updated(Arc<StatusChange>),
}

impl ChangeStep {
    pub(super) fn of(item: PastItem<'_>) -> Self {
        match item {
            PastItem::Accepted { transaction, .. } => ChangeStep::Accepted(Arc::new(transaction.clone())),
            PastItem::Updated { target, before, after, .. } => ChangeStep::Updated(Arc::new(StatusChange {
                target,
                before: before.clone(),
                after: after.clone(),
            })),
        }
    }

    pub(super) fn shown(&self, sequence: Sequence) -> PastItem<'_> {
        match self {
            ChangeStep::Accepted(transaction) => PastItem::Accepted { sequence, transaction },
            ChangeStep::Updated(change) => PastItem::Updated {
                sequence,
                target: change.target,
                before: &change.before,
                after: &change.after,
            },
        }
    }

    /// Returns the transaction as it is before and after the step.
    pub(super) fn transactions(&self) -> impl Iterator<Item = &Transaction> {
        let (first, second) = match self {
            ChangeStep::Accepted(transaction) => (&**transaction, None),
            ChangeStep::Updated(change) => (&change.before, Some(&change.after)),
        };
        [first].into_iter().chain(second)
    }

    pub(super) const fn is_accepted(&self) -> bool {
        matches!(self, ChangeStep::Accepted(_))
    }
}

impl PastItem<'_> {
    pub(super) fn apply(self, series: &Series) {
        match self {
            PastItem::Accepted { sequence, transaction } => series.insert(sequence, transaction),
            PastItem::Updated { target, before, after, .. } => {
                series.replace_transaction(target, before, after);
            }
        }
    }

    /// Undoes the step on a series. All later steps must be undone already.
    pub(super) fn undo(self, series: &Series) {
        match self {
            PastItem::Accepted { sequence, transaction } => series.remove(sequence, transaction),
            PastItem::Updated { target, before, after, .. } => {
                series.replace_transaction(target, after, before);
            }
        }
    }
}
