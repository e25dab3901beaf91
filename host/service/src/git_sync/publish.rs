//! Share what was changed here.

use std::sync::Arc;

use tollgate_git::git::{Author, CommitId, GitError, LocalClone};

use crate::git_sync::refresh::tree_to_take;
use crate::git_sync::remotes::Configured;
use crate::git_sync::{GitSyncError, GitSyncInner, off_the_executor};

/// Longest commit message, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 4096;

/// What a push came to.
#[derive(Debug)]
pub struct Published {
    /// Where the branch stands, here and there.
    pub commit: CommitId,
    /// Which branch.
    pub branch: String,
    /// The files that changed, by path; none when there was nothing to push.
    pub files: Vec<String>,
}

/// A message that is one.
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

    /// The commit is the branch's only when the remote has it: a push that fails leaves everything as it was. The remote is
    /// asked first: where it was set back, a push on top of what it had would bring back what somebody took away there.
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
            clone.prepare(&Author { name, email }, message)?.ok_or(GitSyncError::NotConfigured)?
        };
        let commit = outgoing.commit;
        if !(outgoing.files.is_empty() && clone.remote_head() == Some(commit)) {
            // What is about to be shared must be something this service would take back.
            clone.rules_of(commit)?;
            let theirs = configured.remote.fetch(&clone, Some(&branch))?.commit;
            self.refuse_to_undo(&clone, theirs, commit)?;
            let files = clone.files_between(theirs, commit)?;
            configured.remote.push(&clone, commit, &branch)?;
            clone.was_pushed(&branch, commit)?;
            tracing::info!(commit = %commit, branch, files = files.len(), "pushed");
            return Ok(Published { commit, branch, files });
        }
        Ok(Published { commit, branch, files: Vec::new() })
    }

    /// Only what adds to the remote's branch as it is now, and only while that follows what is in force.
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
