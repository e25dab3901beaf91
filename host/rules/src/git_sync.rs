//! Git sync: keeps the rules in force in step with a remote repository, and pushes local changes to it.
//!
//! ```text
//!  remote ──fetch──▶ clone ──rule files of the commit──▶ intake: one swap ──▶ work tree follows
//!  saved over the API ──▶ edits ──▶ work tree ──push──▶ remote
//! ```
//!
//! One operation runs at a time. The rules in force come from a commit of the remote, never from the work tree. After
//! any error, the last good rules stay in force.

mod another_instance;
mod begin;
mod check;
mod choice;
mod edits;
mod publish;
mod refresh;
mod released;
mod remotes;
mod status;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;
use tollgate_engine::registry::Registry;
use tollgate_git::{CloneDirectory, CommitId, GitError, RepositoryAddressError, Worker};
use tollgate_model::background::in_background;
use tollgate_model::clock::Clock;
use tollgate_model::secret::Secret;

use crate::intake::{FailedScript, Intake, IntakeError};
use another_instance::InstanceWatch;
use check::GitCheck;
use remotes::Configured;
use status::StatusSnapshot;
pub use tollgate_git::OwnFileContent;
use tollgate_telemetry::config::GitSettings;
use tollgate_telemetry::metrics::Metrics;
use tollgate_telemetry::readiness::ReadinessChecks;

pub use begin::Polling;
pub use edits::{PendingEdits, Unwritten};
pub use publish::{MESSAGE_BYTES_MAX, Published};
pub use status::{GitStatus, LastError};

/// Time a request waits for a running operation.
const PATIENCE: Duration = Duration::from_secs(2);

/// Keeps the rules in step with a repository. Cheap to clone.
#[derive(Clone)]
pub struct GitSync {
    inner: Arc<GitSyncInner>,
}

/// The dependencies of a [`GitSync`].
pub struct GitSyncDeps {
    /// Intake that brings rules into force.
    pub intake: Intake,
    /// Registry of the rule set in force.
    pub registry: Arc<Registry>,
    /// Clock for the status.
    pub clock: Arc<dyn Clock>,
    /// Metrics registry.
    pub metrics: Arc<Metrics>,
    /// Readiness checks of the service.
    pub checks: ReadinessChecks,
    /// Settings from the operator.
    pub settings: GitSettings,
    /// Directory of the clones.
    pub directory: PathBuf,
    /// Queue of changes made over the API; the intake fills it.
    pub edits: Arc<PendingEdits>,
    /// Worker for operations with remotes.
    pub worker: Worker,
    /// Whether the service may be ready without rules of the repository.
    pub is_optional: bool,
    /// Id of this instance, which commits name.
    pub instance: String,
}

struct GitSyncInner {
    deps: GitSyncDeps,
    directory: CloneDirectory,
    /// Held during an operation; contains the followed repository, if any.
    gate: Arc<tokio::sync::Mutex<Option<Configured>>>,
    shown: Mutex<StatusSnapshot>,
    check: GitCheck,
    instances: InstanceWatch,
    /// Held while files of the work tree are written.
    writing: Mutex<()>,
}

/// A request to clone a repository.
#[derive(Debug)]
pub struct CloneRequest {
    /// Address; may contain credentials.
    pub url: Secret,
    /// Branch to follow; if absent, the default branch.
    pub branch: Option<String>,
    /// Token for the remote.
    pub token: Option<Secret>,
}

/// Result of a clone.
#[derive(Debug)]
pub struct Cloned {
    /// Local rules directory.
    pub path: PathBuf,
    /// Branch that is followed.
    pub branch: String,
    /// Number of files whose present content is not in force.
    pub n_failed: usize,
}

/// Result of a sync or a pull.
#[derive(Debug)]
pub struct Synced {
    /// Commit whose rules were in force before.
    pub before: Option<CommitId>,
    /// Commit whose rules are in force.
    pub after: CommitId,
    /// Version of the rule set in force.
    pub version: u64,
    /// Paths of files that are newly in force.
    pub loaded: Vec<String>,
    /// Paths of files whose text or path changed.
    pub changed: Vec<String>,
    /// Paths of removed files.
    pub removed: Vec<String>,
    /// Files whose present content is not in force.
    pub failed: Vec<FailedScript>,
    /// Reference that keeps local commits which are no longer on the branch.
    pub replaced: Option<String>,
}

/// Reason why an operation did not take place. The rules in force are unchanged.
#[derive(Debug, thiserror::Error)]
pub enum GitSyncError {
    /// An error of the remote or the clone.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The intake could not bring the rules into force.
    #[error(transparent)]
    Intake(#[from] IntakeError),
    /// The text is not a valid branch name.
    #[error("this is not a valid branch name")]
    Branch,
    /// The text is not a valid commit message.
    #[error("a message is a text of 1 to {MESSAGE_BYTES_MAX} bytes without control characters")]
    Message,
    /// Another operation is running.
    #[error("another git operation is under way")]
    Busy,
    /// No repository is configured.
    #[error("no repository is configured")]
    NotConfigured,
    /// The remote's branch does not contain the commit in force.
    #[error(
        "the remote's history was rewritten: its branch does not contain the commit whose rules are in force"
    )]
    HistoryRewritten,
    /// The default branch changed to one that is not the renamed previous branch.
    #[error(
        "the default branch of the repository is now `{to}`, but `{from}` is followed: {why}; name one of them with \
         WATCH_SCRIPT_GIT_BRANCH"
    )]
    BranchMoved {
        /// Branch that is followed.
        from: String,
        /// New default branch.
        to: String,
        /// Reason why it is not followed.
        why: &'static str,
    },
    /// Local and remote branch have diverged.
    #[error("the local branch and the remote's have diverged")]
    Diverged,
    /// The work tree has changes.
    #[error("the work tree has changes: {}", first_of(.0))]
    Dirty(Vec<String>),
    /// The task of the operation panicked.
    #[error("the operation was aborted by an internal error")]
    Broken,
}

impl GitSyncError {
    /// Returns the code for the error object of the HTTP API; a test compares it with the API's own mapping.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Git(error) => error.code(),
            Self::Intake(IntakeError::TooFewRules { .. }) => "too_few_rules",
            Self::Intake(IntakeError::ListsRefused(_)) => "lists_refused",
            Self::Intake(IntakeError::NotGranted(_)) => "policy_denied",
            Self::Intake(IntakeError::NameTaken { .. }) => "name_taken",
            Self::Intake(IntakeError::NotFound(_) | IntakeError::StillRefused { .. }) => {
                "instruction_not_found"
            }
            Self::Intake(_) => "unavailable",
            Self::Branch | Self::Message => "invalid_field",
            Self::Busy => "git_busy",
            Self::NotConfigured => "git_not_configured",
            Self::HistoryRewritten => "git_history_rewritten",
            Self::BranchMoved { .. } => "git_branch_moved",
            Self::Diverged => "git_diverged",
            Self::Dirty(_) => "git_dirty",
            Self::Broken => "internal_error",
        }
    }
}

impl From<RepositoryAddressError> for GitSyncError {
    fn from(error: RepositoryAddressError) -> Self {
        Self::Git(error.into())
    }
}

/// Conditions under which a commit is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SyncMode {
    /// Takes the commit only if something changed.
    Poll,
    /// Takes the commit even if nothing changed, because the cause of a failure may be gone.
    Sync,
    /// Like `Sync`, even if history was rewritten.
    Force,
    /// Takes the commit only without local changes.
    Pull,
}

impl GitSync {
    /// Replaces the followed repository by a clone of another. When this returns, its rules are in force.
    ///
    /// # Errors
    /// See [`GitSyncError`]; nothing changes in that case.
    pub async fn clone_from(&self, request: CloneRequest) -> Result<Cloned, GitSyncError> {
        self.inner.deps.intake.check_change_of_repository()?;
        let remote = self.inner.configured_by(&request)?;
        self.exclusively(|inner, mut held| async move {
            let cloned = inner.clone_from(remote, &mut held).await;
            if cloned.is_ok() {
                inner.report(&cloned);
            }
            inner.note(cloned)
        })
        .await
    }

    /// Fetches, and brings changes into force. With `force`, it accepts a rewritten history, and a commit that is held
    /// back because of refused lists.
    ///
    /// # Errors
    /// See [`GitSyncError`].
    pub async fn sync(&self, force: bool) -> Result<Synced, GitSyncError> {
        if !force {
            return self.refresh(SyncMode::Sync).await;
        }
        self.inner.deps.intake.check_change_of_repository()?;
        self.refresh(SyncMode::Force).await
    }

    /// Like [`GitSync::sync`], but only if the work tree has no changes and the branches have not diverged.
    ///
    /// # Errors
    /// See [`GitSyncError`].
    pub async fn pull(&self) -> Result<Synced, GitSyncError> {
        self.refresh(SyncMode::Pull).await
    }

    /// Commits the locally changed rule files and pushes them.
    ///
    /// # Errors
    /// See [`GitSyncError`]; the files stay unchanged in that case.
    pub async fn push(&self, message: &str) -> Result<Published, GitSyncError> {
        self.inner.deps.intake.check_push()?;
        let message = publish::checked(message)?;
        self.exclusively(|inner, held| async move {
            let published = inner.publish(held.as_ref(), message).await;
            inner.report_push(&published);
            inner.note(published)
        })
        .await
    }

    async fn refresh(&self, manner: SyncMode) -> Result<Synced, GitSyncError> {
        self.exclusively(move |inner, mut held| async move {
            let synced = inner.refresh(&mut held, manner).await;
            inner.report(&synced);
            inner.note(synced)
        })
        .await
    }

    /// Runs one operation at a time, in a separate task: it completes even if its caller is cancelled.
    async fn exclusively<T, F>(
        &self,
        operation: impl FnOnce(Arc<GitSyncInner>, OwnedMutexGuard<Option<Configured>>) -> F,
    ) -> Result<T, GitSyncError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, GitSyncError>> + Send + 'static,
    {
        let gate = Arc::clone(&self.inner.gate);
        let held = timeout(PATIENCE, gate.lock_owned()).await.map_err(|_| GitSyncError::Busy)?;
        tokio::spawn(operation(Arc::clone(&self.inner), held)).await.unwrap_or(Err(GitSyncError::Broken))
    }
}

/// Runs blocking work outside the executor.
async fn off_the_executor<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GitSyncError> + Send + 'static,
) -> Result<T, GitSyncError> {
    in_background(work).await.unwrap_or(Err(GitSyncError::Broken))
}

/// Lists the first paths and the number of others.
fn first_of(paths: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = paths.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if let Some(more) = paths.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}
