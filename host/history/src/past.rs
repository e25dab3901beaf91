//! The durable store, from which past transactions can be read again.

use std::fmt;

use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

/// One accepted step. Every step with a lower sequence number came before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PastItem<'a> {
    /// An accepted transaction.
    Accepted {
        /// Sequence number of the transaction.
        sequence: Sequence,
        /// The transaction as accepted.
        transaction: &'a Transaction,
    },
    /// An update in place; the entries keep the number and the time of the transaction.
    Updated {
        /// Sequence number of the update.
        sequence: Sequence,
        /// Sequence number of the transaction.
        target: Sequence,
        /// The complete transaction before the update.
        before: &'a Transaction,
        /// The complete transaction after the update.
        after: &'a Transaction,
    },
}

impl PastItem<'_> {
    /// Returns the event time of the transaction, in microseconds since 1970 UTC.
    pub(crate) fn event_micros(&self) -> i64 {
        match self {
            PastItem::Accepted { transaction, .. } => transaction.timestamp.micros(),
            PastItem::Updated { after, .. } => after.timestamp.micros(),
        }
    }

    /// Returns the sequence number of the step.
    #[must_use]
    pub const fn sequence(&self) -> Sequence {
        match self {
            PastItem::Accepted { sequence, .. } | PastItem::Updated { sequence, .. } => *sequence,
        }
    }
}

/// A store from which a new series reads earlier transactions. It blocks, so it is called only from threads that may
/// wait.
pub trait Past: fmt::Debug + Send + Sync {
    /// Passes every stored step with a number above `after` and up to `through` to `show`, in order.
    ///
    /// # Errors
    /// When a step cannot be read. The steps before it were passed.
    fn each_after(
        &self,
        after: Sequence,
        through: Sequence,
        show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError>;

    /// Passes the transactions with these numbers to `show`, as they were accepted, with their stored size in bytes,
    /// until it returns `false`. Numbers of other steps are skipped.
    ///
    /// # Errors
    /// When a transaction cannot be read.
    fn each_of(
        &self,
        numbers: &[Sequence],
        show: &mut dyn FnMut(Sequence, &Transaction, usize) -> bool,
    ) -> Result<(), PastError> {
        for number in numbers {
            let mut goes_on = true;
            self.each_after(Sequence(number.0.saturating_sub(1)), *number, &mut |item| {
                if let PastItem::Accepted { sequence, transaction } = item {
                    goes_on = show(sequence, transaction, 0);
                }
            })?;
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// Returns a summary of the store up to a number. It stays the same while nothing up to there changes, and almost
    /// certainly differs otherwise. Returns `None` when the store has no reliable summary.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn testimony(&self, through: Sequence) -> Result<Option<PastSummary>, PastError> {
        let _ = through;
        Ok(None)
    }
}

/// A summary of a store, to be compared with a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastSummary {
    /// Random identifier of the store.
    pub store: [u8; 16],
    /// Highest number stored, up to the requested one.
    pub last: Sequence,
    /// Digest of the last row and of a sample of earlier rows.
    pub rows: [u8; 32],
}

/// The reason the store cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the stored transactions cannot be read: {reason}")]
pub struct PastError {
    /// Message of the store.
    pub reason: String,
}

#[derive(Debug)]
pub(super) struct NoPast;

impl Past for NoPast {
    fn each_after(
        &self,
        _after: Sequence,
        _through: Sequence,
        _show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError> {
        Ok(())
    }
}
