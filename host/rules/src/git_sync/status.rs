//! Status of the Git sync.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tollgate_git::{Changes, CommitId, Distance, LocalClone, RepositoryAddress};

use crate::git_sync::{GitSync, GitSyncError, GitSyncInner, Unwritten, off_the_executor};
use crate::intake::{FailedScript, TreeReport};
use tollgate_telemetry::logs::ErrorChain;

/// How long a status waits for changes over the API to be written by the task that writes them.
const EDITS_WAIT: Duration = Duration::from_secs(1);

/// State known without contacting the remote.
#[derive(Debug, Clone, Default)]
pub(super) struct StatusSnapshot {
    /// Address without credentials, once there is a repository to follow.
    pub(super) url: Option<RepositoryAddress>,
    /// Address and branch of the clone in place.
    pub(super) followed: Option<(RepositoryAddress, String)>,
    pub(super) remote_commit: Option<CommitId>,
    pub(super) is_rewritten: bool,
    /// Commit whose rules this run put into force.
    commit: Option<CommitId>,
    /// Version of the rule set that this commit produced.
    version: u64,
    failed: Vec<FailedScript>,
    /// Locally changed files that prevent the work tree from following.
    pub(super) in_the_way: Vec<String>,
    last_sync: Option<DateTime<Utc>>,
    last_error: Option<LastError>,
}

/// Last error, until an operation succeeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    /// Code, identical to that of an API response.
    pub code: &'static str,
    /// Message, for people.
    pub message: String,
    /// Time of the error.
    pub at: DateTime<Utc>,
}

/// Relation between the rules in force and their repository.
#[derive(Debug)]
pub struct GitStatus {
    /// Address without credentials; `None` if no repository is configured.
    pub url: Option<RepositoryAddress>,
    /// Branch that is followed.
    pub branch: Option<String>,
    /// Path of the work tree.
    pub local_path: PathBuf,
    /// Commit whose rules are in force.
    pub current_commit: Option<CommitId>,
    /// Head of the remote branch as last fetched.
    pub remote_commit: Option<CommitId>,
    /// Distance between local and remote branch.
    pub distance: Distance,
    /// Differences between work tree and local branch.
    pub changes: Changes,
    /// Whether the remote branch does not contain the commit in force.
    pub is_rewritten: bool,
    /// Time of the last successful operation.
    pub last_sync: Option<DateTime<Utc>>,
    /// Error since then.
    pub last_error: Option<LastError>,
    /// Files of the commit whose content is not in force.
    pub failed: Vec<FailedScript>,
    /// Paths of files changed both locally and remotely, which prevent the work tree from following.
    pub in_the_way: Vec<String>,
    /// Changes over the API that are not in the work tree.
    pub unwritten: Vec<Unwritten>,
}

impl StatusSnapshot {
    pub(super) const fn commit(&self) -> Option<CommitId> {
        self.commit
    }

    /// Returns whether taking a commit again would change nothing. A refused file may be accepted once the rule set
    /// changes.
    pub(super) fn is_taken(&self, commit: CommitId, version: u64) -> bool {
        self.commit == Some(commit) && (self.failed.is_empty() || self.version == version)
    }

    /// Records that a commit is held back; the previous one stays in force.
    pub(super) fn held_back(&mut self, failed: &[FailedScript]) {
        self.failed = failed.to_vec();
    }

    pub(super) fn taken(&mut self, commit: CommitId, report: &TreeReport) {
        self.commit = Some(commit);
        self.version = report.version;
        self.is_rewritten = false;
        self.failed.clone_from(&report.failed);
    }
}

impl GitSyncInner {
    /// Records the result of an operation.
    pub(super) fn note<T>(&self, result: Result<T, GitSyncError>) -> Result<T, GitSyncError> {
        let now = self.deps.clock.now();
        self.deps.metrics.git_operation(result.is_ok(), now);
        let mut shown = self.shown.lock();
        match &result {
            Ok(_) => {
                if shown.last_error.take().is_some() {
                    tracing::info!("the repository is followed again");
                }
                shown.last_sync = Some(now);
            }
            // The remote was not contacted.
            Err(GitSyncError::NotConfigured | GitSyncError::Dirty(_)) => {}
            Err(error) => {
                let error_now = LastError { code: error.code(), message: error.to_string(), at: now };
                // Repeated failures with the same message are logged once, not once per poll.
                let is_new = shown.last_error.as_ref().is_none_or(|last| last.message != error_now.message);
                if is_new {
                    tracing::error!(code = error.code(), error = %ErrorChain(error), "a git operation failed; the last good rules stay in force");
                }
                shown.last_error = Some(error_now);
            }
        }
        result
    }

    fn status(&self) -> Result<GitStatus, GitSyncError> {
        let shown = self.shown.lock().clone();
        let clone = {
            let _writing = self.writing.lock();
            self.directory.open()?
        };
        let current_commit = clone.as_ref().and_then(LocalClone::in_force).or(shown.commit);
        let remote_commit = clone.as_ref().and_then(LocalClone::remote_head).or(shown.remote_commit);
        let (changes, distance) = match &clone {
            Some(clone) => {
                let distance = match (clone.head(), remote_commit) {
                    (Some(ours), Some(theirs)) => clone.distance(ours, theirs)?,
                    _ => Distance::default(),
                };
                (clone.changes()?, distance)
            }
            None => (Changes::default(), Distance::default()),
        };
        Ok(GitStatus {
            branch: clone.as_ref().and_then(LocalClone::branch).or_else(|| self.deps.settings.branch.clone()),
            url: shown.url,
            local_path: self.directory.rules(),
            current_commit,
            remote_commit,
            distance,
            changes,
            is_rewritten: shown.is_rewritten,
            last_sync: shown.last_sync,
            last_error: shown.last_error,
            failed: shown.failed,
            in_the_way: shown.in_the_way,
            unwritten: match &clone {
                Some(_) => self.deps.edits.unwritten(),
                None => self.deps.edits.without_a_clone(),
            },
        })
    }
}

impl GitSync {
    /// Returns the status, without waiting for a running operation or contacting the remote.
    ///
    /// # Errors
    /// Fails if the clone cannot be read.
    pub async fn status(&self) -> Result<GitStatus, GitSyncError> {
        self.inner.deps.edits.attempted(EDITS_WAIT).await;
        let inner = Arc::clone(&self.inner);
        off_the_executor(move || inner.status()).await
    }
}
