//! Pushes local changes to the remote.

use std::sync::Arc;

use tollgate_git::{Author, CommitId, GitError, LocalClone};

use crate::git_sync::refresh::tree_to_take;
use crate::git_sync::remotes::Configured;
use crate::git_sync::{GitSyncError, GitSyncInner, off_the_executor};

/// Longest commit message, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 4096;

/// Result of a push.
#[derive(Debug)]
pub struct Published {
    /// Head of the local and the remote branch.
    pub commit: CommitId,
    /// Branch.
    pub branch: String,
    /// Paths of the changed files; empty if there was nothing to push.
    pub files: Vec<String>,
}

/// Validates a commit message and trims it.
pub(super) fn checked(message: &str) -> Result<String, GitSyncError> {
    let is_odd = |character: char| character.is_control() && !"\n\t".contains(character);
    let message = message.trim();
    if message.is_empty() || message.len() > MESSAGE_BYTES_MAX || message.contains(is_odd) {
        return Err(GitSyncError::Message);
    }
    Ok(message.to_owned())
}

impl GitSyncInner {
    pub(super) async fn publish(
        self: &Arc<Self>,
        held: Option<&Configured>,
        message: String,
    ) -> Result<Published, GitSyncError> {
        let configured = held.cloned().ok_or(GitSyncError::NotConfigured)?;
        let inner = Arc::clone(self);
        let (published, tree) = off_the_executor(move || {
            let published = inner.push(&configured, &message)?;
            let tree = tree_to_take(&inner.open()?, published.commit)?;
            Ok((published, tree))
        })
        .await?;
        let report = self.deps.intake.take_tree(tree).await?;
        self.deps.edits.compare(&self.deps.intake);
        let (inner, commit) = (Arc::clone(self), published.commit);
        off_the_executor(move || Ok(inner.open()?.set_in_force(commit)?)).await?;
        let mut shown = self.shown.lock();
        shown.remote_commit = Some(published.commit);
        shown.taken(published.commit, &report);
        Ok(published)
    }

    /// Pushes the changes. The branch moves only once the remote has the commit, so a failed push changes nothing. It
    /// fetches first: if the remote was reset, a push would restore what was removed there.
    fn push(&self, configured: &Configured, message: &str) -> Result<Published, GitSyncError> {
        let clone = self
            .directory
            .open()?
            .filter(|clone| configured.is_of(clone))
            .ok_or(GitSyncError::NotConfigured)?;
        let branch = clone.branch().ok_or(GitSyncError::NotConfigured)?;
        let (name, email) = self.deps.settings.author.clone();
        let outgoing = {
            let _writing = self.writing.lock();
            self.deps.edits.write(&clone);
            clone
                .prepare(&Author { name, email }, &self.instances.sign(message))?
                .ok_or(GitSyncError::NotConfigured)?
        };
        let commit = outgoing.commit;
        if !(outgoing.files.is_empty() && clone.remote_head() == Some(commit)) {
            // The service must be able to read back the commit that it pushes.
            clone.rules_of(commit)?;
            let theirs = configured.remote.fetch(&clone, Some(&branch))?.commit;
            self.instances.examine(&clone.note_of(theirs)?);
            self.refuse_to_undo(&clone, theirs, commit)?;
            let files = clone.files_between(theirs, commit)?;
            configured.remote.push(&clone, commit, &branch)?;
            clone.was_pushed(&branch, commit)?;
            tracing::info!(commit = %commit, branch, files = files.len(), "pushed");
            return Ok(Published { commit, branch, files });
        }
        Ok(Published { commit, branch, files: Vec::new() })
    }

    /// Refuses a push unless it adds to the current remote branch, and that branch contains the commit in force.
    fn refuse_to_undo(
        &self,
        clone: &LocalClone,
        theirs: CommitId,
        ours: CommitId,
    ) -> Result<(), GitSyncError> {
        let is_rewritten = match clone.in_force() {
            Some(in_force) => !clone.follows(theirs, in_force)?,
            None => false,
        };
        let mut shown = self.shown.lock();
        shown.remote_commit = Some(theirs);
        shown.is_rewritten = is_rewritten;
        drop(shown);
        if is_rewritten {
            return Err(GitSyncError::HistoryRewritten);
        }
        if clone.follows(ours, theirs)? { Ok(()) } else { Err(GitError::PushRefused.into()) }
    }
}
