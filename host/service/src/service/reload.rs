//! What an operator can have looked at anew while the service runs.

use crate::git_sync::{GitSync, GitSyncError};
use crate::intake::Recheck;
use crate::telemetry::logs::ErrorChain;

/// Has the sources of rules looked at anew: the rules directory, and the repository if there is one.
pub(super) struct Reload {
    directory: Recheck,
    git: GitSync,
}

impl Reload {
    pub(super) const fn new(directory: Recheck, git: GitSync) -> Self {
        Self { directory, git }
    }

    /// Has every file of the directory read, whatever it looks like, and asks the repository, also where it was just asked in vain.
    /// What changed is in force soon after; what is wrong stays as it was, and is logged.
    pub(super) async fn reload(&self) {
        self.directory.ask();
        match self.git.sync(false).await {
            Ok(synced) => tracing::info!(commit = %synced.after, "the repository was asked"),
            Err(GitSyncError::NotConfigured) => {}
            Err(error) => tracing::warn!(error = %ErrorChain(&error), "the repository could not be asked"),
        }
    }
}
