//! Holding of new transactions: a transaction waits for a version of the rule set with the present reasons.

use std::sync::Arc;

use crate::monitor::{MonitorError, TransactionPipeline};

impl TransactionPipeline {
    /// Waits until the rule set in force holds transactions for the present reasons.
    pub(super) async fn settle_holds(&self) -> Result<(), MonitorError> {
        if !self.has_clock_fallen() && self.deps.holds.are_settled() {
            return Ok(());
        }
        // On the heap, so that the future of each transaction has no room for it.
        Box::pin(async {
            self.follow_clock().await?;
            self.deps.holds.settle().await.map_err(|_| MonitorError::Unavailable)
        })
        .await
    }

    /// Refuses an injected transaction if the operator wants that while the service is not ready.
    pub(super) fn check_ready_to_judge(&self) -> Result<(), MonitorError> {
        self.deps.holds.refusal().map_or(Ok(()), |checks| Err(MonitorError::NotReady(Arc::from(checks))))
    }
}
