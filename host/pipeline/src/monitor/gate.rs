//! Mutual exclusion between evaluations and status updates; evaluations run concurrently.
//!
//! An update changes entries in place and is visible to every evaluation at once, whatever its sequence number. A
//! verdict must see exactly the updates with lower numbers. An update therefore waits for the evaluations admitted
//! before it, and blocks new ones until it is done. The lock is fair, so neither side starves.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

#[derive(Debug, Default)]
pub(super) struct UpdateGate {
    lock: Arc<RwLock<()>>,
}

/// Held from before the number is assigned until the evaluation ends.
#[derive(Debug)]
pub(super) struct EvaluationGuard {
    _shared: OwnedRwLockReadGuard<()>,
}

/// Held while updates get their numbers and take effect.
#[derive(Debug)]
pub(super) struct UpdateGuard {
    _exclusive: OwnedRwLockWriteGuard<()>,
}

impl UpdateGate {
    pub(super) async fn evaluate(&self) -> EvaluationGuard {
        EvaluationGuard { _shared: Arc::clone(&self.lock).read_owned().await }
    }

    pub(super) async fn update(&self) -> UpdateGuard {
        UpdateGuard { _exclusive: Arc::clone(&self.lock).write_owned().await }
    }

    /// Returns whether an update runs or waits.
    #[cfg(test)]
    pub(super) fn is_wanted(&self) -> bool {
        self.lock.try_read().is_err()
    }
}
