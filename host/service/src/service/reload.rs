//! Reloads rule sources while the service runs.

use tollgate_rules::git_sync::{GitSync, GitSyncError};
use tollgate_rules::intake::Recheck;
use tollgate_telemetry::logs::ErrorChain;

/// Rechecks the sources of rules: the rules directory, and the repository if there is one.
pub(super) struct Reload {
    directory: Recheck,
    git: GitSync,
}

impl Reload {
    pub(super) const fn new(directory: Recheck, git: GitSync) -> Self {
        Self { directory, git }
    }

    /// Rereads every file of the directory, even if it looks unchanged, and fetches the repository, even after a recent
    /// failure. Valid changes come into force soon after; errors are logged, and the previous version stays in force.
    pub(super) async fn reload(&self) {
        self.directory.ask();
        match self.git.sync(false).await {
            Ok(synced) => tracing::info!(commit = %synced.after, "the repository was synced"),
            Err(GitSyncError::NotConfigured) => {}
            Err(error) => tracing::warn!(error = %ErrorChain(&error), "the repository could not be synced"),
        }
    }
}
