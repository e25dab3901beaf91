//! What is kept for good somewhere else, as something to read again.

use std::fmt;

use tollgate_model::sequence::Sequence;
use tollgate_model::transaction::Transaction;

/// One step of what happened, with its place in the order of acceptance. Every step with a lower number came before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PastItem<'a> {
    /// A transaction was accepted.
    Accepted {
        /// Its number.
        sequence: Sequence,
        /// As it was accepted.
        transaction: &'a Transaction,
    },
    /// A transaction became another in place: its entries keep its number and its time.
    Updated {
        /// The number of the update.
        sequence: Sequence,
        /// The number of the transaction.
        target: Sequence,
        /// The transaction until then, whole.
        before: &'a Transaction,
        /// The transaction from then on, whole.
        after: &'a Transaction,
    },
}

impl PastItem<'_> {
    /// Its place.
    #[must_use]
    pub const fn sequence(&self) -> Sequence {
        match self {
            PastItem::Accepted { sequence, .. } | PastItem::Updated { sequence, .. } => *sequence,
        }
    }
}

/// Where a new series finds what was accepted before it. It blocks: it is asked from threads that may wait.
pub trait Past: fmt::Debug + Send + Sync {
    /// Shows everything kept with a number higher than `after` and not higher than `through`, in order.
    ///
    /// # Errors
    /// When something of it cannot be read. What comes before that was shown.
    fn each_after(
        &self,
        after: Sequence,
        through: Sequence,
        show: &mut dyn FnMut(PastItem<'_>),
    ) -> Result<(), PastError>;

    /// What the past says of itself up to a number: the same as long as nothing up to there was changed, and hardly ever
    /// the same when it was. `None`: nothing that could be trusted later.
    ///
    /// # Errors
    /// When it cannot be read.
    fn testimony(&self, through: Sequence) -> Result<Option<PastSummary>, PastError> {
        let _ = through;
        Ok(None)
    }
}

/// What a past says of itself, to be compared with what it said at another time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastSummary {
    /// Which store it is, by a random name.
    pub store: [u8; 16],
    /// The highest number it keeps, at most the one it was asked about.
    pub last: Sequence,
    /// A digest of the last row and of a sample of those before.
    pub rows: [u8; 32],
}

/// Why the past cannot be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the stored transactions cannot be read: {reason}")]
pub struct PastError {
    /// What whoever keeps them says.
    pub reason: String,
}

/// Nothing was kept before.
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
