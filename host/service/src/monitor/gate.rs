//! Evaluations go on together, status updates alone.
//!
//! An update changes entries in place, where every evaluation sees it at once, whatever its number. So that a verdict
//! has seen exactly the updates with lower numbers, whoever updates waits until the evaluations admitted before are
//! over, and lets nobody in until it is done. Waiting is fair: neither side can keep the other out.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// The gate of one river.
#[derive(Debug, Default)]
pub(super) struct UpdateGate {
    lock: Arc<RwLock<()>>,
}

/// Held from before the number is taken until the evaluation is over.
#[derive(Debug)]
pub(super) struct EvaluationGuard {
    _shared: OwnedRwLockReadGuard<()>,
}

/// Held while updates take their numbers and their effect.
#[derive(Debug)]
pub(super) struct UpdateGuard {
    _exclusive: OwnedRwLockWriteGuard<()>,
}

impl UpdateGate {
    /// Waits while somebody updates.
    pub(super) async fn evaluate(&self) -> EvaluationGuard {
        EvaluationGuard { _shared: Arc::clone(&self.lock).read_owned().await }
    }

    /// Waits until everybody who evaluates is done.
    pub(super) async fn update(&self) -> UpdateGuard {
        UpdateGuard { _exclusive: Arc::clone(&self.lock).write_owned().await }
    }

    /// Whether somebody waits, or is there, to update.
    #[cfg(test)]
    pub(super) fn is_wanted(&self) -> bool {
        self.lock.try_read().is_err()
    }
}
