//! Reasons to hold every new transaction become part of the rule set, in a version of their own.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::intake::change::{self, RuleChange};
use crate::intake::{Intake, IntakeError, RulePipeline, run_detached};

/// Pause after a version that could not be stored.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

impl Intake {
    /// Brings the present reasons into force, if the version in force has others.
    ///
    /// # Errors
    /// [`IntakeError::Unavailable`]; new transactions are refused until it succeeds.
    pub async fn settle_holds(&self) -> Result<(), IntakeError> {
        run_detached(Arc::clone(&self.pipeline).settle_holds()).await
    }

    /// Notes whether the repository was named over the API, so that it never makes the service unready. Returns whether the
    /// one before was.
    pub(crate) fn set_git_of_the_api(&self, is_of_the_api: bool) -> bool {
        self.pipeline.deps.sources.set_git_of_the_api(is_of_the_api)
    }

    /// Brings every change of the reasons into force. Ends with the returned task.
    pub fn keep_holds(&self) -> JoinHandle<()> {
        let intake = self.clone();
        tokio::spawn(async move {
            let holds = &intake.pipeline.deps.holds;
            let mut changes = holds.changes();
            loop {
                if let Err(error) = intake.settle_holds().await {
                    tracing::error!(error = %error, "the reasons to hold payments could not be brought into force");
                    sleep(PAUSE_AFTER_FAILURE).await;
                } else if holds.are_settled() {
                    changes.next().await;
                }
            }
        })
    }
}

impl RulePipeline {
    async fn settle_holds(self: Arc<Self>) -> Result<(), IntakeError> {
        let _state = self.state.lock().await;
        if self.deps.holds.are_settled() {
            return Ok(());
        }
        let version = change::bring_into_force(&self.deps, RuleChange::default()).await?;
        let names: Vec<&str> =
            self.deps.registry.current().holds.reasons.iter().map(|reason| reason.check()).collect();
        if names.is_empty() {
            tracing::info!(version, "payments are no longer held for review");
        } else {
            tracing::warn!(version, checks = names.join(", "), "every new payment is held for review");
        }
        Ok(())
    }
}
