//! Git sync: the rules of a repository, brought into force as they change there, and shared from here.
//!
//! ```text
//!  remote ──fetch──▶ clone ──rule files of the commit──▶ intake: one swap ──▶ work tree follows
//!  saved over the API ──▶ edits ──▶ work tree ──push──▶ remote
//! ```
//!
//! One operation at a time. What is in force is what a commit of the remote says, never what lies in the work tree; and
//! whatever goes wrong, the last good rules stay in force.

mod begin;
mod check;
mod choice;
mod edits;
mod publish;
mod refresh;
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
use tollgate_git::git::{CloneDirectory, CommitId, GitError, RepositoryAddressError, Worker};
use tollgate_model::background::in_background;
use tollgate_model::clock::Clock;
use tollgate_model::secret::Secret;

use crate::config::GitSettings;
use crate::intake::{FailedScript, Intake, IntakeError};
use crate::readiness::ReadinessChecks;
use crate::telemetry::metrics::Metrics;
use check::GitCheck;
use remotes::Configured;
use status::StatusSnapshot;
pub use tollgate_git::git::OwnFileContent;

pub use begin::Polling;
pub use edits::{PendingEdits, Unwritten};
pub use publish::{MESSAGE_BYTES_MAX, Published};
pub use status::{GitStatus, LastError};

/// How long a request waits for an operation that is under way.
const PATIENCE: Duration = Duration::from_secs(2);

/// Keeps the rules in step with a repository. Cheap to clone.
#[derive(Clone)]
pub struct GitSync {
    inner: Arc<GitSyncInner>,
}

/// What a [`GitSync`] works with.
pub struct GitSyncDeps {
    /// Who brings rules into force.
    pub intake: Intake,
    /// Where the rule set in force is.
    pub registry: Arc<Registry>,
    /// The clock of the status.
    pub clock: Arc<dyn Clock>,
    /// Who counts.
    pub metrics: Arc<Metrics>,
    /// Where readiness is reported.
    pub checks: ReadinessChecks,
    /// What the operator decided.
    pub settings: GitSettings,
    /// Where clones are kept.
    pub directory: PathBuf,
    /// What the intake was given to tell of changes.
    pub edits: Arc<PendingEdits>,
    /// Who talks with remotes.
    pub worker: Worker,
    /// Whether the service may be ready without any rule of the repository.
    pub is_optional: bool,
}

struct GitSyncInner {
    deps: GitSyncDeps,
    directory: CloneDirectory,
    /// Held through an operation: the remote, once there is one.
    gate: Arc<tokio::sync::Mutex<Option<Configured>>>,
    shown: Mutex<StatusSnapshot>,
    check: GitCheck,
    /// Held while files of the work tree are written.
    writing: Mutex<()>,
}

/// A repository as a request names it.
#[derive(Debug)]
pub struct CloneRequest {
    /// Its address; may hold credentials.
    pub url: Secret,
    /// The branch to follow; the remote's own choice when none is named.
    pub branch: Option<String>,
    /// What the remote asks for.
    pub token: Option<Secret>,
}

/// What a clone came to.
#[derive(Debug)]
pub struct Cloned {
    /// The local rules directory.
    pub path: PathBuf,
    /// The branch that is followed.
    pub branch: String,
    /// Files that are not in force as they lie there.
    pub n_failed: usize,
}

/// What a sync or a pull came to.
#[derive(Debug)]
pub struct Synced {
    /// Whose rules were in force.
    pub before: Option<CommitId>,
    /// Whose rules are in force.
    pub after: CommitId,
    /// The version of the rule set in force.
    pub version: u64,
    /// Paths of files that were not in force before.
    pub loaded: Vec<String>,
    /// Paths of files whose text or place changed.
    pub changed: Vec<String>,
    /// Paths of files that are gone.
    pub removed: Vec<String>,
    /// Files that are not in force as they lie there.
    pub failed: Vec<FailedScript>,
    /// The reference under which local commits are kept that the branch no longer has.
    pub replaced: Option<String>,
}

/// Why an operation did not take place. The rules in force are what they were.
#[derive(Debug, thiserror::Error)]
pub enum GitSyncError {
    /// Something about the remote or the clone.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The rules could not be brought into force.
    #[error(transparent)]
    Intake(#[from] IntakeError),
    /// The text is no branch.
    #[error("this cannot be the name of a branch")]
    Branch,
    /// The text is no commit message.
    #[error("a message is a text of 1 to {MESSAGE_BYTES_MAX} bytes without control characters")]
    Message,
    /// Another operation is under way.
    #[error("another git operation is under way")]
    Busy,
    /// There is no repository.
    #[error("no repository is configured")]
    NotConfigured,
    /// The remote's branch does not follow what is in force.
    #[error(
        "the remote's history was rewritten: its branch does not follow the commit whose rules are in force"
    )]
    HistoryRewritten,
    /// The repository's own choice is another branch than before, and not the same one renamed.
    #[error(
        "the repository's own choice is the branch `{to}` now, and `{from}` is followed: {why}; name one of them with \
         WATCH_SCRIPT_GIT_BRANCH"
    )]
    BranchMoved {
        /// The branch that is followed.
        from: String,
        /// The repository's choice.
        to: String,
        /// Why that is not followed.
        why: &'static str,
    },
    /// The local branch has commits that the remote has not.
    #[error("the local branch and the remote's have diverged")]
    Diverged,
    /// The work tree has changes.
    #[error("the work tree has changes: {}", first_of(.0))]
    Dirty(Vec<String>),
    /// A task of ours died.
    #[error("the operation did not come to its end")]
    Broken,
}

impl GitSyncError {
    /// As the error object of a request has it; a test holds both together.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Git(error) => error.code(),
            Self::Intake(IntakeError::TooFewRules { .. }) => "too_few_rules",
            Self::Intake(IntakeError::ListsRefused(_)) => "lists_refused",
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

/// How a commit is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SyncMode {
    /// Whatever changed, and only if something did.
    Poll,
    /// Even if nothing changed: what failed may have been cured.
    Sync,
    /// And even if the history was rewritten.
    Force,
    /// Only if nothing here is changed.
    Pull,
}

impl GitSync {
    /// Clones a repository in the place of the one before; its rules are in force when this returns.
    ///
    /// # Errors
    /// See [`GitSyncError`]; nothing changes then.
    pub async fn clone_from(&self, request: CloneRequest) -> Result<Cloned, GitSyncError> {
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

    /// Fetches, and brings into force what changed. By `force` also where history was rewritten, or where a commit is held back
    /// since lists of it are refused.
    ///
    /// # Errors
    /// See [`GitSyncError`].
    pub async fn sync(&self, force: bool) -> Result<Synced, GitSyncError> {
        self.refresh(if force { SyncMode::Force } else { SyncMode::Sync }).await
    }

    /// The same, but only where the work tree has no changes and the local branch no commits of its own.
    ///
    /// # Errors
    /// See [`GitSyncError`].
    pub async fn pull(&self) -> Result<Synced, GitSyncError> {
        self.refresh(SyncMode::Pull).await
    }

    /// Commits the rule files that were changed here, and pushes.
    ///
    /// # Errors
    /// See [`GitSyncError`]; the files stay as they are then.
    pub async fn push(&self, message: &str) -> Result<Published, GitSyncError> {
        let message = publish::checked(message)?;
        self.exclusively(|inner, held| async move {
            let published = inner.publish(held.as_ref(), message).await;
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

    /// One operation at a time, on a task of its own: it goes through whole even when its caller leaves.
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

/// What blocks leaves the executor.
async fn off_the_executor<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GitSyncError> + Send + 'static,
) -> Result<T, GitSyncError> {
    in_background(work).await.unwrap_or(Err(GitSyncError::Broken))
}

/// A few names, and how many more there are.
fn first_of(paths: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = paths.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if let Some(more) = paths.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}
