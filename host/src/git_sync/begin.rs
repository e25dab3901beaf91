//! The beginning of a run, and the polling from then on.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::git::{CloneDirectory, GitError, Worker};
use crate::git_sync::refresh::rule_tree;
use crate::git_sync::remotes::Configured;
use crate::git_sync::status::Shown;
use crate::git_sync::{GitSync, Inner, Manner, Means, SyncError, off_the_executor};
use crate::telemetry::logs::Causes;

/// How long a start waits for the remote; it goes on without it, with the last good rules.
const FIRST_SYNC_PATIENCE: Duration = Duration::from_secs(5);
/// After refused credentials the remote is asked this many times more rarely: accounts are locked for less.
const POLLS_SKIPPED_WHEN_REFUSED: u32 = 10;

/// Ends the polling when dropped.
#[derive(Debug)]
pub struct Polling(Vec<JoinHandle<()>>);

impl Drop for Polling {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

impl GitSync {
    /// Brings the rules of the last known commit into force, asks the remote, and keeps asking.
    ///
    /// # Errors
    /// When the settings name something that is no address.
    pub async fn begin(means: Means) -> Result<(Self, Polling), SyncError> {
        let inner = Arc::new(Inner {
            directory: CloneDirectory::at(
                means.directory.clone(),
                Worker::of_this_program(means.settings.timeout),
            ),
            means,
            gate: Arc::default(),
            shown: Mutex::new(Shown::default()),
            writing: Mutex::default(),
        });
        let configured = inner.configured()?;
        let sync = Self { inner: Arc::clone(&inner) };
        let followed = inner.begin_from_clone(configured).await;
        let is_followed = followed.is_some();
        inner.shown.lock().url = followed.as_ref().map(|followed| followed.remote.address.clone());
        *inner.gate.lock().await = followed;
        if is_followed {
            // On a task of its own: what is not done when the patience ends goes on.
            let first = sync.clone();
            let first = tokio::spawn(async move { first.refresh(Manner::Sync).await.map(drop) });
            if timeout(FIRST_SYNC_PATIENCE, first).await.is_err() {
                tracing::warn!("the repository takes long; the service starts with the last good rules");
            }
        }
        let polling =
            Polling(vec![tokio::spawn(sync.clone().poll()), tokio::spawn(Arc::clone(&inner).write_edits())]);
        Ok((sync, polling))
    }

    async fn poll(self) {
        let interval = self.inner.means.settings.poll_interval;
        let mut pause = interval;
        loop {
            tokio::time::sleep(pause).await;
            pause = match self.refresh(Manner::Poll).await {
                Err(SyncError::Git(GitError::Refused)) => interval * POLLS_SKIPPED_WHEN_REFUSED,
                _ => interval,
            };
        }
    }
}

impl Inner {
    /// What the clone of an earlier run holds is in force before anybody asks the remote.
    async fn begin_from_clone(self: &Arc<Self>, configured: Option<Configured>) -> Option<Configured> {
        let inner = Arc::clone(self);
        let found = off_the_executor(move || {
            let Some(clone) = inner.directory.open()? else { return Ok((configured, None)) };
            inner.shown.lock().followed = clone.address().zip(clone.branch());
            let followed = configured.or_else(|| inner.configured_by_clone(&clone));
            let is_of = followed.as_ref().is_some_and(|followed| followed.is_of(&clone));
            let commit = clone.in_force().filter(|_| is_of && clone.is_whole());
            let tree =
                commit.map(|commit| Ok::<_, GitError>((commit, rule_tree(clone.rules_of(commit)?, commit))));
            Ok((followed, tree.transpose()?))
        })
        .await;
        let (followed, tree) = match found {
            Ok(found) => found,
            Err(error) => {
                tracing::error!(error = %Causes(&error), "the clone cannot be read; its rules stay as they are");
                return self.configured().ok().flatten();
            }
        };
        if let Some((commit, tree)) = tree {
            match self.means.intake.take_tree(tree).await {
                Ok(report) => self.shown.lock().taken(commit, &report),
                Err(error) => {
                    tracing::error!(error = %Causes(&error), "the rules of the clone are not in force")
                }
            }
            self.means.edits.begin(&self.means.intake);
        }
        followed
    }

    /// Changes over the API reach the work tree soon, even if nobody asks.
    async fn write_edits(self: Arc<Self>) {
        loop {
            self.means.edits.came.notified().await;
            let inner = Arc::clone(&self);
            let written = off_the_executor(move || {
                let _writing = inner.writing.lock();
                let clone = inner.open()?;
                inner.means.edits.write(&clone);
                Ok(())
            });
            if let Err(error) = written.await {
                tracing::error!(error = %Causes(&error), "changes over the API are not in the work tree yet");
            }
        }
    }
}
