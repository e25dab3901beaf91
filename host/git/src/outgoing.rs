//! A commit of the changes in the work tree, kept separate until the remote has accepted it.

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Signature};

use super::local_clone::{CommitId, LocalClone};
use super::rule_path::kind_of;
use super::work_tree::Changes;
use super::{GitError, tree};

/// Author of commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Name.
    pub name: String,
    /// E-mail address.
    pub email: String,
}

/// A commit that no local branch contains yet.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// Id of the commit.
    pub commit: CommitId,
    /// Paths of the files that it changes.
    pub files: Vec<String>,
}

/// Message and time of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitNote {
    /// The message; bytes that are not UTF-8 are replaced.
    pub message: String,
    /// When it was committed, in seconds since 1970 UTC.
    pub committed_seconds: i64,
}

impl LocalClone {
    /// Returns message and time of a commit.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn note_of(&self, commit: CommitId) -> Result<CommitNote, GitError> {
        let commit = self.repository().find_commit(commit.0).map_err(GitError::Damaged)?;
        let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
        Ok(CommitNote { message, committed_seconds: commit.time().seconds() })
    }

    /// Commits the changed rule files on top of the local branch, without moving the branch. Without changes it returns
    /// the commit of the branch; `None` if there is neither branch nor change.
    ///
    /// # Errors
    /// [`GitError::Disk`], [`GitError::Damaged`] and [`GitError::OverLimit`].
    pub fn prepare(&self, author: &Author, message: &str) -> Result<Option<Outgoing>, GitError> {
        let head = self.head();
        let changes = self.changes()?;
        if changes.is_empty() {
            return Ok(head.map(|commit| Outgoing { commit, files: Vec::new() }));
        }
        let commit = self.commit(head, &changes, author, message).map_err(GitError::Damaged)?;
        self.set_reference(OUTGOING, commit)?;
        Ok(Some(Outgoing { commit, files: changes.paths() }))
    }

    fn commit(
        &self,
        head: Option<CommitId>,
        changes: &Changes,
        author: &Author,
        message: &str,
    ) -> Result<CommitId, git2::Error> {
        let repository = self.repository();
        let mut update = TreeUpdateBuilder::new();
        for path in changes.modified.iter().chain(&changes.untracked) {
            // An unreadable file is left out of the commit.
            let bytes = self.work_tree().read(path, kind_of(path.as_bytes())).ok().flatten();
            if let Some(bytes) = bytes {
                update.upsert(path.as_str(), repository.blob(&bytes)?, FileMode::Blob);
            }
        }
        for path in &changes.deleted {
            update.remove(path.as_str());
        }
        let parent = head.map(|head| repository.find_commit(head.0)).transpose()?;
        let base = match &parent {
            Some(parent) => parent.tree()?,
            None => repository.find_tree(repository.treebuilder(None)?.write()?)?,
        };
        let tree = repository.find_tree(update.create_updated(repository, &base)?)?;
        let signature = Signature::now(&author.name, &author.email)?;
        let parents: Vec<_> = parent.iter().collect();
        Ok(CommitId(repository.commit(None, &signature, &signature, message, &tree, &parents)?))
    }

    /// Returns the paths of the rule files in which two commits differ.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn files_between(&self, one: CommitId, other: CommitId) -> Result<Vec<String>, GitError> {
        let leaves = tree::leaves(self.repository(), other.0)?.fit;
        let contents = leaves.into_iter().map(|(path, leaf)| (path, Some(leaf.id))).collect();
        Ok(Changes::between(&tree::leaves(self.repository(), one.0)?.fit, &contents).paths())
    }

    /// Moves the local branch and its remote-tracking branch to a commit that the remote has accepted. The work tree
    /// already has its files.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn was_pushed(&self, branch: &str, commit: CommitId) -> Result<(), GitError> {
        tree::leaves(self.repository(), commit.0)?;
        self.set_reference(&format!("refs/heads/{branch}"), commit)?;
        self.set_reference(&format!("refs/remotes/origin/{branch}"), commit)
    }
}

/// Reference of a commit that is waiting to be pushed.
pub(super) const OUTGOING: &str = "refs/tollgate/outgoing";
