//! The transactions that are kept for good somewhere else, as something to read again.

use std::fmt;

use crate::sequence::Sequence;
use crate::transaction::Transaction;

/// Where a new series finds what was accepted before it. It blocks: it is asked from threads that may wait.
pub trait Past: fmt::Debug + Send + Sync {
    /// Shows every transaction kept with a number higher than `after` and not higher than `through`, in order.
    ///
    /// # Errors
    /// When one of them cannot be read. Those before it were shown.
    fn each_after(
        &self,
        after: Sequence,
        through: Sequence,
        show: &mut dyn FnMut(Sequence, &Transaction),
    ) -> Result<(), PastError>;
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
        _show: &mut dyn FnMut(Sequence, &Transaction),
    ) -> Result<(), PastError> {
        Ok(())
    }
}
