//! Start of the Git sync, and polling.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tollgate_git::{CloneDirectory, CommitId, GitError, LocalClone};

use crate::git_sync::another_instance::InstanceWatch;
use crate::git_sync::check::GitCheck;
use crate::git_sync::refresh::rule_tree;
use crate::git_sync::remotes::Configured;
use crate::git_sync::status::StatusSnapshot;
use crate::git_sync::{GitSync, GitSyncDeps, GitSyncError, GitSyncInner, SyncMode, off_the_executor};
use crate::intake::RuleTree;
use tollgate_telemetry::logs::ErrorChain;

/// Time that a start waits for the remote; afterwards it proceeds with the last good rules.
const FIRST_SYNC_PATIENCE: Duration = Duration::from_secs(5);
/// Factor by which polling slows down after refused credentials, because repeated failures may lock an account.
const POLLS_SKIPPED_WHEN_REFUSED: u32 = 10;
/// Interval for retrying changes over the API that could not be written to the work tree.
const EDITS_EVERY: Duration = Duration::from_secs(5);

/// Background tasks of the sync; dropping this stops them.
#[derive(Debug)]
pub struct Polling(Vec<JoinHandle<()>>);

impl Drop for Polling {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

impl GitSync {
    /// Brings the rules of the last known commit into force, syncs with the remote, and starts polling.
    ///
    /// # Errors
    /// Fails if the configured address is invalid.
    pub async fn begin(deps: GitSyncDeps) -> Result<(Self, Polling), GitSyncError> {
        let inner = Arc::new(GitSyncInner {
            directory: CloneDirectory::at(deps.directory.clone(), deps.worker.clone()),
            check: GitCheck::new(deps.checks.clone(), deps.is_optional),
            instances: InstanceWatch::new(deps.instance.clone()),
            deps,
            gate: Arc::default(),
            shown: Mutex::new(StatusSnapshot::default()),
            writing: Mutex::default(),
        });
        let configured = inner.configured()?;
        let sync = Self { inner: Arc::clone(&inner) };
        // Any other repository was named over the API in an earlier run.
        inner.note_origin(configured.is_none());
        let followed = inner.begin_from_clone(configured).await;
        let is_followed = followed.is_some();
        inner.shown.lock().url = followed.as_ref().map(|followed| followed.remote.address.clone());
        *inner.gate.lock().await = followed;
        if is_followed {
            inner.report_unasked();
            // A separate task, so that the sync continues after the timeout.
            let first = sync.clone();
            let first = tokio::spawn(async move { first.refresh(SyncMode::Sync).await.map(drop) });
            if timeout(FIRST_SYNC_PATIENCE, first).await.is_err() {
                tracing::warn!(
                    "the first sync of the repository takes long; the service starts with the last good rules"
                );
            }
        }
        let polling =
            Polling(vec![tokio::spawn(sync.clone().poll()), tokio::spawn(Arc::clone(&inner).write_edits())]);
        Ok((sync, polling))
    }

    async fn poll(self) {
        let interval = self.inner.deps.settings.poll_interval;
        let mut pause = interval;
        loop {
            tokio::time::sleep(pause).await;
            pause = match self.refresh(SyncMode::Poll).await {
                Err(GitSyncError::Git(GitError::Refused)) => interval * POLLS_SKIPPED_WHEN_REFUSED,
                _ => interval,
            };
        }
    }
}

/// State left by an earlier run.
#[derive(Default)]
struct EarlierClone {
    followed: Option<Configured>,
    tree: Option<(CommitId, RuleTree)>,
}

impl GitSyncInner {
    /// Brings the rules of an earlier run's clone into force, before the remote is contacted.
    async fn begin_from_clone(self: &Arc<Self>, configured: Option<Configured>) -> Option<Configured> {
        let inner = Arc::clone(self);
        let by_environment = configured.clone();
        self.shown.lock().followed = self.remembered().map(|known| (known.address, known.branch));
        let left = off_the_executor(move || inner.left_behind(configured)).await.unwrap_or_else(|error| {
            tracing::error!(error = %ErrorChain(&error), "the clone cannot be read; its rules stay as they are");
            EarlierClone { followed: by_environment.or_else(|| self.configured_by_memory()), tree: None }
        });
        if let Some((commit, tree)) = left.tree {
            match self.deps.intake.take_tree(tree).await {
                Ok(report) => self.shown.lock().taken(commit, &report),
                Err(error) => {
                    tracing::error!(error = %ErrorChain(&error), "the rules of the clone could not be brought into force")
                }
            }
        }
        if left.followed.is_some() {
            self.deps.edits.begin(&self.deps.intake);
        }
        left.followed
    }

    /// Reads the clone, if it is of the repository to follow.
    fn left_behind(&self, configured: Option<Configured>) -> Result<EarlierClone, GitSyncError> {
        self.directory.break_locks()?;
        let Some(clone) = self.directory.open()? else {
            return Ok(EarlierClone {
                followed: configured.or_else(|| self.configured_by_memory()),
                tree: None,
            });
        };
        if let Some(followed) = clone.address().zip(clone.branch()) {
            self.shown.lock().followed = Some(followed);
        }
        let by_clone = || self.configured_by_clone(&clone).or_else(|| self.configured_by_memory());
        let followed = configured.or_else(by_clone);
        if !followed.as_ref().is_some_and(|followed| followed.is_of(&clone)) || !clone.is_whole() {
            return Ok(EarlierClone { followed, tree: None });
        }
        let Some(commit) = self.last_in_force(&clone) else {
            return Ok(EarlierClone { followed, tree: None });
        };
        clone.set_in_force(commit)?;
        let tree = rule_tree(clone.rules_of(commit)?, commit);
        Ok(EarlierClone { followed, tree: Some((commit, tree)) })
    }

    /// Returns the commit that was last in force. The clone records it only after the swap, so a crash in between
    /// leaves a rule set that names the commit recorded by `set_taking`.
    fn last_in_force(&self, clone: &LocalClone) -> Option<CommitId> {
        let named = self.named_by_the_rules();
        named.filter(|named| clone.taking() == Some(*named)).or_else(|| clone.in_force())
    }

    /// Writes changes over the API to the work tree soon after they arrive, and retries failed ones.
    async fn write_edits(self: Arc<Self>) {
        let mut said = None;
        loop {
            // The timeout matters even with an empty queue: a request may put changes back without a notification.
            let _ = timeout(EDITS_EVERY, self.deps.edits.came.notified()).await;
            let n_added = self.deps.edits.n_added();
            if !self.deps.edits.are_waiting() {
                self.deps.edits.mark_attempted(n_added);
                continue;
            }
            let inner = Arc::clone(&self);
            let written = off_the_executor(move || {
                let _writing = inner.writing.lock();
                // Without a clone, the changes stay in the queue.
                if let Some(clone) = inner.directory.open()? {
                    inner.deps.edits.write(&clone);
                }
                Ok(())
            });
            let error = written.await.err().map(|error| ErrorChain(&error).to_string());
            self.deps.edits.mark_attempted(n_added);
            if let Some(error) = error.as_ref().filter(|error| said.as_ref() != Some(*error)) {
                tracing::error!(error, "changes over the API are not in the work tree yet");
            }
            said = error;
        }
    }
}
