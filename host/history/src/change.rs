//! A transaction that becomes another in place.

use std::sync::Arc;

use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

use crate::past::PastItem;
use crate::series::{KeyTable, Series};

/// What an update makes of a transaction that was accepted before. Event time and id stay.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusChange {
    /// The number of the transaction.
    pub target: Sequence,
    /// The transaction until now.
    pub before: Transaction,
    /// The transaction from now on.
    pub after: Transaction,
}

/// One step, held.
#[derive(Debug, Clone)]
pub(super) enum ChangeStep {
    Accepted(Arc<Transaction>),
    Updated(Arc<StatusChange>),
}

impl ChangeStep {
    /// A copy of one that is shown.
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

    /// As it is shown.
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

    /// Whether it makes the history longer.
    pub(super) const fn is_accepted(&self) -> bool {
        matches!(self, ChangeStep::Accepted(_))
    }
}

impl PastItem<'_> {
    /// Lets it take its effect on a series.
    pub(super) fn apply(self, series: &Series) {
        match self {
            PastItem::Accepted { sequence, transaction } => series.insert(sequence, transaction),
            PastItem::Updated { target, before, after, .. } => {
                series.replace_transaction(target, before, after);
            }
        }
    }

    /// Lets it take its effect on what is to be a series.
    pub(super) fn put_on(self, key_table: &mut KeyTable) {
        match self {
            PastItem::Accepted { sequence, transaction } => key_table.insert(sequence, transaction),
            PastItem::Updated { target, before, after, .. } => {
                key_table.replace_transaction(target, before, after);
            }
        }
    }

    /// Undoes its effect on a series; that of all after it is undone already.
    pub(super) fn undo(self, series: &Series) {
        match self {
            PastItem::Accepted { sequence, transaction } => series.remove(sequence, transaction),
            PastItem::Updated { target, before, after, .. } => {
                series.replace_transaction(target, after, before);
            }
        }
    }
}
