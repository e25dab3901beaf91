//! Refunds of a ledger that pass through its queue without a reference that names the refunded payment.
//!
//! The queued entry has the refunded one as its parent, and its copy has the queued entry. The first report of the refund is
//! stored with that parent. So whichever of the two arrives later finds what the other one said.

use std::sync::Arc;

use tollgate_model::transaction::{Json, Transaction};
use tollgate_store::TransactionOrigin;

use super::child_entry::{ChildEntry, Result};
use super::{MonitorError, PaymentState, PaymentsInner, QueuedRefund};

/// Statuses of a payment that moved money.
const MOVED: [&str; 2] = ["APPLIED", "REVERSED"];
/// The field that names the parent of an entry.
const PARENT: &str = "parent_transaction";

impl PaymentsInner {
    /// Applies a refund that was posted through a queue to the payment that it refunds, or stores it as waiting for that.
    pub(super) async fn refund_from_queue(&self, child: &ChildEntry<'_>) -> Result<()> {
        let Some(refund) = &child.entry.queued_refund else { return Ok(()) };
        let store = &self.deps.store;
        let Some(known) = store.current(&child.entry.report.transaction().transaction_id).await? else {
            return Ok(());
        };
        let first = Transaction::from_stored(&known.record.body).map_err(|_| MonitorError::Unavailable)?;
        let status = known.status.as_deref().or(first.status.as_deref()).unwrap_or_default();
        let has_moved = MOVED.iter().any(|moved| status.eq_ignore_ascii_case(moved));
        // A refund is never held, and a caller can write any parent.
        let is_held = store
            .ledger_entry(&child.entry.id)
            .await?
            .is_some_and(|entry| matches!(entry.standing, PaymentState::Held(_)));
        if !has_moved || is_held || known.record.origin != TransactionOrigin::Ledger {
            return Ok(());
        }
        let original = match refund {
            QueuedRefund::Queued { original } => Some(Arc::clone(original)),
            QueuedRefund::Posted { queued } => parent_of(&first).filter(|parent| parent != queued),
        };
        match original {
            Some(original) => self.join_or_wait(child, &original).await.map(drop),
            None => Ok(()),
        }
    }
}

/// Returns the parent of the entry that reported a payment first.
fn parent_of(first: &Transaction) -> Option<Arc<str>> {
    let (_, parent) = first.unnamed.iter().find(|(name, _)| **name == *PARENT)?;
    match parent {
        Json::Text(parent) if !parent.is_empty() => Some((**parent).into()),
        _ => None,
    }
}
