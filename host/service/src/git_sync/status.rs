//! How the rules stand to their repository.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tollgate_git::git::{Changes, CommitId, Distance, LocalClone, RepositoryAddress};

use crate::git_sync::{GitSync, GitSyncError, GitSyncInner, Unwritten, off_the_executor};
use crate::intake::{FailedScript, TreeReport};
use crate::telemetry::logs::ErrorChain;

/// How long a status waits for changes over the API to be written by the task that writes them.
const EDITS_WAIT: Duration = Duration::from_secs(1);

/// What is known without asking anybody.
#[derive(Debug, Clone, Default)]
pub(super) struct StatusSnapshot {
    /// Without credentials; set as soon as there is something to follow.
    pub(super) url: Option<RepositoryAddress>,
    /// What the clone in place follows.
    pub(super) followed: Option<(RepositoryAddress, String)>,
    pub(super) remote_commit: Option<CommitId>,
    pub(super) is_rewritten: bool,
    /// The commit whose rules this run brought into force.
    commit: Option<CommitId>,
    /// The version of the rule set since then.
    version: u64,
    failed: Vec<FailedScript>,
    /// Files that were changed here and keep the work tree where it is.
    pub(super) in_the_way: Vec<String>,
    last_sync: Option<DateTime<Utc>>,
    last_error: Option<LastError>,
}

/// What went wrong last, until something goes right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    /// As a request would be answered.
    pub code: &'static str,
    /// For people.
    pub message: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// How the rules stand to their repository.
#[derive(Debug)]
pub struct GitStatus {
    /// Without credentials; `None` where no repository is configured.
    pub url: Option<RepositoryAddress>,
    /// The branch that is followed.
    pub branch: Option<String>,
    /// The work tree.
    pub local_path: PathBuf,
    /// The commit whose rules are in force.
    pub current_commit: Option<CommitId>,
    /// The remote's branch when it was last seen.
    pub remote_commit: Option<CommitId>,
    /// How far the local branch is from the remote one.
    pub distance: Distance,
    /// How the work tree differs from the local branch.
    pub changes: Changes,
    /// Whether the remote's branch does not follow what is in force.
    pub is_rewritten: bool,
    /// When the remote was last asked with success.
    pub last_sync: Option<DateTime<Utc>>,
    /// What went wrong since.
    pub last_error: Option<LastError>,
    /// Files that are not in force as they lie in the commit.
    pub failed: Vec<FailedScript>,
    /// Files that were changed here and there, and keep the work tree from following; paths.
    pub in_the_way: Vec<String>,
    /// What was changed over the API and is not in the work tree.
    pub unwritten: Vec<Unwritten>,
}

impl StatusSnapshot {
    /// The commit whose rules this run brought into force.
    pub(super) const fn commit(&self) -> Option<CommitId> {
        self.commit
    }

    /// Whether there is nothing to be had from a commit by taking it again. A file that was refused may have its turn once
    /// the rule set is another.
    pub(super) fn is_taken(&self, commit: CommitId, version: u64) -> bool {
        self.commit == Some(commit) && (self.failed.is_empty() || self.version == version)
    }

    /// A commit is held back whole; the one before stays in force.
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
    /// Remembers how an operation ended.
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
            // Nothing was asked of the remote.
            Err(GitSyncError::NotConfigured | GitSyncError::Dirty(_)) => {}
            Err(error) => {
                let error_now = LastError { code: error.code(), message: error.to_string(), at: now };
                // A remote that is down for hours is one line, not one per poll.
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
    /// Returns the state of the clone. It writes nothing, waits for no operation and asks no remote; changes that were saved
    /// over the API get up to [`EDITS_WAIT`] to reach the work tree.
    ///
    /// # Errors
    /// When the clone cannot be read.
    pub async fn status(&self) -> Result<GitStatus, GitSyncError> {
        self.inner.deps.edits.attempt(EDITS_WAIT).await;
        let inner = Arc::clone(&self.inner);
        off_the_executor(move || inner.status()).await
    }
}
